#include <fmt/format.h>

#include <chrono>
#include <cmath>

#include "base/clock.h"
#include "base/text.h"
#include "bench/exchange/import_formats.h"

namespace gpuready::bench {

// nvbench writes numbers as text, since JSON readers lose the digits of 64 bits.
std::optional<double> number_in(const Json& value) {
  if (value.is_string()) return parse_double(value.get_ref<const std::string&>());
  if (value.is_number()) return number(value.get<double>());
  return std::nullopt;
}

std::optional<double> positive(std::optional<double> value, double scale) {
  if (!value || !(*value > 0) || !std::isfinite(*value * scale)) return std::nullopt;
  return *value * scale;
}

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.is_null() ? "" : value.dump();
}

std::string utc_of(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00T00:00:00";
  if (text.size() < kForm.size()) return {};
  const auto digits = [&](std::size_t at, std::size_t count) {
    return parse_uint(text.substr(at, count)).value_or(0);
  };
  for (std::size_t i = 0; i < kForm.size(); ++i)
    if ((kForm[i] == '0') != (text[i] >= '0' && text[i] <= '9')) return {};
  const std::chrono::year_month_day day{std::chrono::year(static_cast<int>(digits(0, 4))),
                                        std::chrono::month(static_cast<unsigned>(digits(5, 2))),
                                        std::chrono::day(static_cast<unsigned>(digits(8, 2)))};
  if (!day.ok() || digits(11, 2) > 23 || digits(14, 2) > 59 || digits(17, 2) > 60) return {};
  auto seconds = std::chrono::sys_days(day).time_since_epoch() +
                 std::chrono::seconds(digits(11, 2) * 3600 + digits(14, 2) * 60 + digits(17, 2));
  auto zone = text.substr(kForm.size());
  if (zone.starts_with('.'))
    zone.remove_prefix(std::min(zone.find_first_not_of("0123456789", 1), zone.size()));
  if (zone.size() == 6 && (zone[0] == '+' || zone[0] == '-')) {
    const auto offset = std::chrono::seconds(parse_uint(zone.substr(1, 2)).value_or(0) * 3600 +
                                             parse_uint(zone.substr(4, 2)).value_or(0) * 60);
    seconds += zone[0] == '+' ? -offset : offset;
  }
  return format_utc(std::chrono::duration_cast<std::chrono::seconds>(seconds).count());
}

StackResult& stack_of(RunRecord& run, const std::string& id) {
  for (auto& stack : run.stacks)
    if (stack.id == id) return stack;
  run.stacks.emplace_back().id = id;
  return run.stacks.back();
}

void add_only_repeat(RunRecord& run, const std::string& id, Repeat repeat) {
  StackResult& stack = stack_of(run, id);
  stack.repeats.push_back(std::move(repeat));
  if (stack.repeats.size() == 2)
    run.notes.push_back(
        fmt::format("Several results of the file are of the test \"{}\" and indistinguishable: "
                    "they count as its repeats.",
                    printable(id)));
}

void fail_repeat(Repeat& repeat, std::string reason, StackStatus status) {
  repeat.status = status;
  repeat.reason = std::move(reason);
}

}  // namespace gpuready::bench
