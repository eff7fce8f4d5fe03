#include "report/test_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.h"
#include "base/units.h"
#include "device/open_device.h"
#include "health/test.h"

namespace gpuready {
namespace {

const Gpu* gpu_with_uuid(const Machine& machine, const std::optional<std::string>& uuid) {
  return uuid ? machine.find_gpu_by_uuid(*uuid) : nullptr;
}

// By what the driver told where it told it; the subject's text is the last resort.
std::optional<int> gpu_of(const Machine& machine, const Verdict& verdict) {
  if (verdict.pci_address)
    if (const auto address = parse_pci_address(*verdict.pci_address))
      if (const Gpu* gpu = machine.find_gpu(*address)) return gpu->index;
  if (const Gpu* gpu = gpu_with_uuid(machine, verdict.uuid)) return gpu->index;
  if (verdict.pci_address || verdict.uuid) return std::nullopt;
  if (const auto number = after_prefix(verdict.subject, "GPU "))
    if (const auto index = parse_int(number->substr(0, number->find(' '))))
      for (const Gpu& gpu : machine.gpus)
        if (gpu.index == *index) return gpu.index;
  return std::nullopt;
}

std::optional<double> fraction(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return std::nullopt;
  return static_cast<double>(part) / static_cast<double>(whole);
}

// What the test's own table entry says of its figures.
Shown shown_of(const Verdict& verdict) {
  const HealthTest* test = find_health_test(verdict.test);
  return test != nullptr ? test->shown : Shown{};
}

bool is_rate(const Metric& metric) { return metric.unit.ends_with("/s"); }

std::string first_word(const std::string& text) { return text.substr(0, text.find(' ')); }

// Passes of one kind ("write address", "write complement") stand together by their slowest.
std::vector<Figure> slowest_of_each_kind(const std::vector<Figure>& rates) {
  std::vector<Figure> out;
  for (const Figure& rate : rates) {
    const auto same = std::find_if(out.begin(), out.end(), [&](const Figure& each) {
      return each.name == first_word(rate.name);
    });
    if (same == out.end()) {
      out.push_back(rate);
      out.back().name = first_word(rate.name);
      continue;
    }
    const bool below = same->below_threshold || rate.below_threshold;
    if (rate.value < same->value) {
      *same = rate;
      same->name = first_word(rate.name);
    }
    same->below_threshold = below;
  }
  return out;
}

Figure figure_of(const Metric& metric) {
  Figure figure;
  figure.name = metric_title(metric.name);
  figure.value = metric.value;
  figure.unit = metric.unit;
  figure.threshold = metric.threshold;
  figure.below_threshold = metric.threshold && metric.value < *metric.threshold;
  return figure;
}

// What is below its threshold tells most, then what has one.
const Figure* main_rate(const TestSummary& test) {
  const auto& rates = test.slowest_rates;
  if (rates.empty()) return nullptr;
  const Shown shown = shown_of(*test.verdict);
  if (shown.kinds)
    return &*std::min_element(rates.begin(), rates.end(),
                              [](const Figure& a, const Figure& b) { return a.value < b.value; });
  for (const Figure& rate : rates)
    if (rate.below_threshold) return &rate;
  for (const Figure& rate : rates)
    if (rate.threshold) return &rate;
  for (const Figure& rate : rates)
    if (rate.name == shown.rate) return &rate;
  return &rates.front();
}

std::string main_figure(const TestSummary& test) {
  const Verdict& verdict = *test.verdict;
  const auto units = [&] {
    return fmt::format("{} {}s", verdict.units->tested, executor_unit(verdict.executor));
  };
  if (verdict.units && shown_of(verdict).units) return units();
  if (const Figure* rate = main_rate(test)) return quantity_text(rate->value, rate->unit);
  if (verdict.units) return units();
  return verdict.duration_ms > 0 ? format_duration_ms(verdict.duration_ms) : "";
}

// What a line has room for; a table of all metrics has the rest.
std::vector<std::string> figures(const TestSummary& test) {
  std::vector<std::string> out;
  const Verdict& verdict = *test.verdict;
  const Shown shown = shown_of(verdict);
  const auto add = [&](const Figure& figure) {
    out.push_back(figure.name + " " + figure_text(figure));
  };
  for (const Figure& rate : test.slowest_rates)
    if (rate.below_threshold) add(rate);
  if (verdict.coverage && shown.kinds)
    out.push_back(test.tested_of_total ? format_percent(*test.tested_of_total) + " of " +
                                             format_bytes(verdict.coverage->total_bytes)
                                       : coverage_text(*verdict.coverage));
  if (verdict.units) out.push_back(units_text(*verdict.units, verdict.executor));
  const Figure* first = main_rate(test);
  const bool lead = first && !first->below_threshold && !shown.kinds;
  if (lead) add(*first);
  for (const Figure& rate : test.slowest_rates)
    if (!rate.below_threshold && !(lead && rate.name == first->name)) add(rate);
  for (const Metric* metric : test.others)
    if (metric->name != "coverage" &&
        (metric->threshold || metric->unit == "ms" || metric->unit == "W"))
      add(figure_of(*metric));
  return out;
}

// Every status of a row's cell, the one that stands for it first.
constexpr VerdictStatus kWorstFirst[] = {VerdictStatus::failed,        VerdictStatus::timed_out,
                                         VerdictStatus::inconclusive,  VerdictStatus::not_tested,
                                         VerdictStatus::not_supported, VerdictStatus::passed};

}  // namespace

std::string metric_title(std::string_view name) {
  std::string out(name.ends_with("_rate") ? name.substr(0, name.size() - 5) : name);
  std::replace(out.begin(), out.end(), '_', ' ');
  return out;
}

std::string quantity_text(double value, std::string_view unit) {
  if (unit == "B/s") return format_rate(value);
  if (unit == "B" && value >= 0 && value < 1e19)
    return format_bytes(static_cast<std::uint64_t>(value));
  if (unit == "ms") return format_duration_ms(value);
  if (unit == "1" && value == std::floor(value) && std::fabs(value) < 1e15)
    return fmt::format("{:.0f}", value);  // a count
  if (unit == "1") return fmt::format("{:.6g}", value);
  if (!unit.ends_with("/s")) return fmt::format("{:.4g} {}", value, unit);
  constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T", "P"};
  std::size_t prefix = 0;
  for (; value >= 1000 && prefix + 1 < std::size(kPrefixes); ++prefix) value /= 1000;
  // Above a hundred no exponent: 1000 from 999.9 would read 1e+03.
  const std::string number =
      value >= 99.95 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
  return fmt::format("{} {}{}", number, kPrefixes[prefix], unit);
}

std::string figure_text(const Figure& figure) {
  std::string text = quantity_text(figure.value, figure.unit);
  if (figure.of_copy_rate) text += " " + format_percent(*figure.of_copy_rate, 0);
  return text;
}

std::string unit_name(unsigned unit, std::string_view executor) {
  return fmt::format("{} {}", executor_unit(executor), unit);
}

std::string mismatch_text(const Mismatch& mismatch, std::string_view executor, bool with_bits) {
  std::string text = mismatch.unit ? unit_name(*mismatch.unit, executor) + ", " : "";
  text += fmt::format("{}, result {}: expected {}, got {}", mismatch.what, mismatch.index,
                      format_hex(mismatch.expected), format_hex(mismatch.actual));
  if (with_bits) text += fmt::format(" (bits {})", format_hex(mismatch.expected ^ mismatch.actual));
  return text;
}

std::string units_text(const UnitCoverage& units, std::string_view executor) {
  return fmt::format("{} of {} {}s", units.tested, units.total, executor_unit(executor));
}

TestSummary summarize_test(const Machine& machine, const Verdict& verdict) {
  TestSummary test;
  test.verdict = &verdict;
  test.gpu = gpu_of(machine, verdict);
  if (const Gpu* peer = gpu_with_uuid(machine, verdict.peer_uuid)) test.peer = peer->index;
  test.tone = tone_of(verdict.status);
  if (verdict.coverage) {
    test.tested_of_total = fraction(verdict.coverage->tested_bytes, verdict.coverage->total_bytes);
    test.tested_of_free = fraction(verdict.coverage->tested_bytes, verdict.coverage->free_bytes);
  }
  for (const Metric& metric : verdict.metrics)
    if (metric.name == "copy_rate" && metric.unit == "B/s" && metric.value > 0)
      test.copy_bytes_per_second = metric.value;
  for (const Metric& metric : verdict.metrics) {
    if (!number(metric.value)) continue;
    if (!is_rate(metric)) {
      test.others.push_back(&metric);
      continue;
    }
    if (metric.name.starts_with("copy_rate") && test.copy_bytes_per_second) continue;
    Figure rate = figure_of(metric);
    if (test.copy_bytes_per_second && metric.unit == "B/s")
      rate.of_copy_rate = metric.value / *test.copy_bytes_per_second;
    test.rates.push_back(std::move(rate));
  }
  test.slowest_rates = shown_of(verdict).kinds ? slowest_of_each_kind(test.rates) : test.rates;
  test.main_figure = main_figure(test);
  test.figures = figures(test);
  return test;
}

void add_rows(Summary& summary) {
  std::set<std::string> faults;
  const auto row_named = [&](const std::string& subject) -> TestRow& {
    for (TestRow& row : summary.test_rows)
      if (row.subject == subject) return row;
    return summary.test_rows.emplace_back(TestRow{subject, {}});
  };
  for (std::size_t i = 0; i < summary.tests.size(); ++i) {
    const TestSummary& test = summary.tests[i];
    const Verdict& verdict = *test.verdict;
    if (std::find(summary.test_names.begin(), summary.test_names.end(), verdict.test) ==
        summary.test_names.end())
      summary.test_names.push_back(verdict.test);
    if (verdict.injected_fault) faults.insert(*verdict.injected_fault);
    if (test.gpu && test.peer) {
      row_named(fmt::format("GPU {}", *test.gpu)).tests.push_back(i);
      row_named(fmt::format("GPU {}", *test.peer)).tests.push_back(i);
    } else {
      row_named(verdict.subject).tests.push_back(i);
    }
  }
  // "GPU 2" before "GPU 10".
  std::sort(summary.test_rows.begin(), summary.test_rows.end(),
            [](const TestRow& a, const TestRow& b) {
              const auto key = [](const std::string& subject) {
                const auto number = after_prefix(subject, "GPU ");
                const auto index =
                    number ? parse_int(number->substr(0, number->find(' '))) : std::nullopt;
                return std::tuple(index.value_or(INT64_MAX), subject);
              };
              return key(a.subject) < key(b.subject);
            });
  if (!faults.empty())
    summary.injected =
        fmt::format("FAULT INJECTED ON PURPOSE ({}): this run says nothing about the devices.",
                    fmt::join(faults, ", "));
}

std::optional<TestCell> test_cell(const Summary& summary, const TestRow& row,
                                  std::string_view test) {
  std::vector<const TestSummary*> found;
  for (const std::size_t index : row.tests)
    if (summary.tests[index].verdict->test == test) found.push_back(&summary.tests[index]);
  if (found.empty()) return std::nullopt;
  const auto count = [&](VerdictStatus status) {
    return std::count_if(found.begin(), found.end(),
                         [&](const TestSummary* each) { return each->verdict->status == status; });
  };
  TestCell cell;
  for (const VerdictStatus status : kWorstFirst)
    if (count(status) > 0) {
      cell.status = status;
      break;
    }
  cell.tone = tone_of(cell.status);
  const bool pairs = found.front()->peer.has_value();
  const auto passed = count(VerdictStatus::passed), total = std::ssize(found);
  if (total == 1 && cell.status == VerdictStatus::passed && !pairs)
    cell.text = found.front()->main_figure;
  else if (passed == total)
    cell.text = fmt::format("{} {}{}", total, pairs ? "pair" : "test", total == 1 ? "" : "s");
  else if (passed == 0)
    cell.text = words_of(cell.status);
  else
    cell.text = fmt::format("{} of {}", passed, total);
  // A pass with a fault inside proves nothing, and must not look as if it did.
  if (cell.tone == Tone::good && std::any_of(found.begin(), found.end(), [](const auto* each) {
        return each->verdict->injected_fault.has_value();
      }))
    cell.tone = Tone::warn;
  return cell;
}

}  // namespace gpuready
