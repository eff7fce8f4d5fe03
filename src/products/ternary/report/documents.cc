// The documents of `ternary`, and what is read of those that a child wrote.
#include "ternary/report/fields.h"

namespace gpuready {
namespace {

template <class T>
std::optional<T> read_own(const Json& document) {
  if (!value::is_document(document, kForm<T>)) return std::nullopt;
  auto found = value::read_document<T>(document, "");
  return found ? std::optional(std::move(*found)) : std::nullopt;
}

}  // namespace

std::optional<ternary::VerifyReport> read_verify_report(const Json& document) {
  auto report = read_own<ternary::VerifyReport>(document);
  if (report) report->duration_ms = get_double(document, "duration_ms").value_or(0);
  return report;
}

std::optional<std::vector<ternary::BenchRow>> read_bench_rows(const Json& document) {
  auto times = read_own<TernaryTimes>(document);
  const auto timeless = [](const ternary::BenchRow& row) {
    return row.status == ternary::CheckStatus::passed && row.least_us <= 0;
  };
  if (!times || std::ranges::any_of(times->rows, timeless)) return std::nullopt;
  return std::move(times->rows);
}

template Json to_json(const ternary::VerifyReport&, const Envelope&);
template Json to_json(const TernaryTimes&, const Envelope&);
template Json to_json(const ConvertOutcome&, const Envelope&);
template Json to_json(const InspectReport&, const Envelope&);

}  // namespace gpuready
