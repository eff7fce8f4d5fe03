#include "report/ternary/bench_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/terminal_text.h"

namespace gpuready {
namespace {

using namespace ternary;

constexpr CheckStatus kStatuses[] = {CheckStatus::passed, CheckStatus::failed,
                                     CheckStatus::not_tested, CheckStatus::not_supported,
                                     CheckStatus::timed_out};

std::string time_text(double us) {
  return us < 1000 ? fmt::format("{:.1f} us", us) : fmt::format("{:.2f} ms", us * 1e-3);
}

std::string operations_text(double per_s) {
  return per_s < 1e12 ? fmt::format("{:.0f} G", per_s * 1e-9)
                      : fmt::format("{:.1f} T", per_s * 1e-12);
}

bool timed(const BenchRow& row) { return row.status == CheckStatus::passed; }

bool was_interrupted(const BenchRow& row) { return row.reason == kInterrupted; }

std::string shape_text(const BenchShape& shape) {
  return fmt::format("M {}, N {}, K {}", shape.m, shape.n, shape.k);
}

// "M 1, N 2560, K 2560 in part; M 512, N 2560, K 2560; the GPUs": what an interrupt left untimed.
std::string left_out(std::span<const BenchRow> rows, std::span<const BenchShape> shapes) {
  std::vector<std::string> parts;
  for (const BenchShape& shape : shapes) {
    std::size_t all = 0, untimed = 0;
    for (const BenchRow& row : rows) {
      all += row.shape == shape;
      untimed += row.shape == shape && was_interrupted(row);
    }
    if (untimed > 0) parts.push_back(shape_text(shape) + (untimed < all ? " in part" : ""));
  }
  for (const BenchRow& row : rows)
    if (was_interrupted(row) && row.shape.n == 0)
      parts.push_back(row.subject == "gpu" ? "the GPUs" : row.subject);
  return join(parts, "; ");
}

}  // namespace

Json to_json(std::span<const BenchRow> rows, unsigned threads, const Envelope& envelope) {
  Json doc = begin_document("gpuready.ternary-bench", envelope);
  if (threads > 0) doc["threads"] = threads;
  doc["rows"] = Json::array();
  for (const BenchRow& row : rows) {
    Json item = {{"subject", row.subject}};
    put(item, "device", row.device);
    item["status"] = std::string(to_string(row.status));
    put(item, "reason", row.reason);
    put(item, "kernel", row.kernel);
    put(item, "form", row.form);
    if (row.shape.n > 0) {
      item["m"] = row.shape.m;
      item["n"] = row.shape.n;
      item["k"] = row.shape.k;
      item["timed"] = std::string(to_string(row.timed));
    }
    if (row.status == CheckStatus::passed) {
      item["samples"] = row.samples;
      put(item, "least_us", number(row.least_us));
      put(item, "median_us", number(row.median_us));
      item["weight_bytes"] = row.weight_bytes;
      put(item, "bytes_per_s", number(row.bytes_per_s()));
      put(item, "operations_per_s", number(row.operations_per_s()));
      put(item, "read_bytes_per_s", row.read_bytes_per_s);
      put(item, "read_share", row.read_share());
    }
    doc["rows"].push_back(std::move(item));
  }
  return doc;
}

std::optional<std::vector<BenchRow>> read_bench_rows(const Json& document) {
  if (get_string(document, "schema") != "gpuready.ternary-bench" ||
      get_int(document, "schema_version") != 1)
    return std::nullopt;
  std::vector<BenchRow> rows;
  for (const Json& item : member(document, "rows")) {
    BenchRow row;
    const auto status = get_string(item, "status");
    row.subject = get_string(item, "subject").value_or("");
    for (const CheckStatus known : kStatuses)
      if (status == to_string(known)) row.status = known;
    row.device = get_string(item, "device").value_or("");
    row.reason = get_string(item, "reason").value_or("");
    row.kernel = get_string(item, "kernel").value_or("");
    row.form = get_string(item, "form").value_or("");
    row.shape = {get_int(item, "m").value_or(1), get_int(item, "n").value_or(0),
                 get_int(item, "k").value_or(0)};
    const auto timed = get_string(item, "timed");
    for (const Timed known : {Timed::call, Timed::device, Timed::device_values})
      if (timed == to_string(known)) row.timed = known;
    row.least_us = get_double(item, "least_us").value_or(0);
    row.median_us = get_double(item, "median_us").value_or(0);
    row.samples = get_uint(item, "samples").value_or(0);
    row.weight_bytes = get_uint(item, "weight_bytes").value_or(0);
    row.read_bytes_per_s = get_double(item, "read_bytes_per_s");
    if (row.status == CheckStatus::passed && row.least_us <= 0) return std::nullopt;
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string render_terminal(std::span<const BenchRow> rows, const TerminalStyle& style) {
  TerminalText out(style);
  std::vector<BenchShape> shapes;
  for (const BenchRow& row : rows)
    if (row.shape.n > 0 && std::find(shapes.begin(), shapes.end(), row.shape) == shapes.end())
      shapes.push_back(row.shape);
  for (const BenchShape& shape : shapes) {
    Table table;
    table.columns = {{"Tier or kernel"},
                     {"Device", Align::left, false, 2},
                     {"Form"},
                     {"Of"},
                     {"Least", Align::right},
                     {"Median", Align::right, false, 1},
                     {"GB/s", Align::right},
                     {"Of reading", Align::right},
                     {"Op/s", Align::right}};
    for (const BenchRow& row : rows) {
      if (!(row.shape == shape) || row.status != CheckStatus::passed) continue;
      const auto share = row.read_share();
      const bool cpu = row.subject.starts_with("cpu/");
      table.rows.push_back(
          {{cpu ? row.subject : row.subject.substr(0, row.subject.find(':')) + " " + row.kernel},
           {cpu ? std::string() : row.device},
           {row.form},
           {std::string(to_string(row.timed))},
           {time_text(row.least_us)},
           {time_text(row.median_us)},
           {fmt::format("{:.1f}", row.bytes_per_s() * 1e-9)},
           {share ? fmt::format("{:.0f}%", *share * 100) : "-"},
           {operations_text(row.operations_per_s())}});
    }
    if (table.rows.empty()) continue;
    out.heading(shape_text(shape));
    out.table(2, table);
    out.blank();
  }
  for (const BenchRow& row : rows)
    if (row.status != CheckStatus::passed && !was_interrupted(row) &&
        (!style.quiet || row.status == CheckStatus::failed))
      out.paragraph(2, {out.mark(Tone::neutral) + " ", Ink::dim},
                    fmt::format("{}: {}", row.subject, row.reason));
  if (const std::string rest = left_out(rows, shapes); !rest.empty())
    out.paragraph(2, {out.mark(Tone::warn) + " ", Ink::warn}, "Interrupted; not timed: " + rest);
  if (!style.quiet && std::ranges::any_of(rows, timed))
    out.paragraph(2, {""},
                  "GB/s are of packed weights. Of reading: on a CPU, of only reading as many bytes "
                  "with the same threads and from where the weights are; on a GPU, of "
                  "reading 1 GiB of its memory. \"call\" is from and to host memory, \"device\" is "
                  "only on a GPU, with weights that its cache does not hold, \"device-values\" the "
                  "same from activations that are not quantised yet.",
                  Ink::dim);
  return out.take();
}

}  // namespace gpuready
