#include "health/verdict_json.h"

#include <fmt/format.h>

#include <array>

#include "base/text.h"
#include "base/units.h"

namespace gpuready {
namespace {

constexpr std::size_t kMaxListed = 4096;  // more entries than any verdict has: hostile input

Json word_json(const BadWord& word) {
  Json doc = {{"offset_bytes", format_hex(word.offset_bytes)},
              {"expected", format_hex(word.expected, 16)},
              {"actual", format_hex(word.actual, 16)},
              {"bits", format_hex(word.bits(), 16)},
              {"phase", word.phase}};
  put(doc, "repeats", word.repeats);
  return doc;
}

Json mismatch_json(const Mismatch& mismatch) {
  Json doc = {{"what", mismatch.what}};
  put(doc, "unit", mismatch.unit);
  doc["index"] = mismatch.index;
  doc["expected"] = format_hex(mismatch.expected, 16);
  doc["actual"] = format_hex(mismatch.actual, 16);
  return doc;
}

Json metric_json(const Metric& metric) {
  Json doc = {{"name", metric.name}};
  put(doc, "value", number(metric.value));
  doc["unit"] = metric.unit;
  put(doc, "threshold", metric.threshold ? number(*metric.threshold) : std::nullopt);
  put(doc, "threshold_source", metric.threshold_source);
  return doc;
}

std::optional<VerdictStatus> status_from(std::string_view text) {
  using enum VerdictStatus;
  for (VerdictStatus status :
       {passed, failed, not_tested, not_supported, timed_out, inconclusive}) {
    if (to_string(status) == text) return status;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> hex_member(const Json& doc, std::string_view key) {
  const auto text = get_string(doc, key);
  return text ? parse_hex(*text) : std::nullopt;
}

const Json* list_member(const Json& doc, std::string_view key) {
  const Json& list = member(doc, key);
  return list.is_array() && list.size() <= kMaxListed ? &list : nullptr;
}

}  // namespace

Json to_json(const Verdict& verdict) {
  Json doc = {{"test", verdict.test}, {"subject", verdict.subject}};
  put(doc, "uuid", verdict.uuid);
  put(doc, "pci_address", verdict.pci_address);
  put(doc, "peer_uuid", verdict.peer_uuid);
  put(doc, "executor", verdict.executor);
  doc["status"] = std::string(to_string(verdict.status));
  doc["reason"] = verdict.reason;
  put(doc, "error_code", verdict.error_code);
  if (verdict.coverage) {
    Json coverage = {{"tested_bytes", verdict.coverage->tested_bytes},
                     {"free_bytes", verdict.coverage->free_bytes},
                     {"total_bytes", verdict.coverage->total_bytes}};
    put(coverage, "reserved_bytes", verdict.coverage->reserved_bytes);
    doc["coverage"] = std::move(coverage);
  }
  if (verdict.units)
    doc["units"] = {{"tested", verdict.units->tested}, {"total", verdict.units->total}};
  doc["metrics"] = Json::array();
  for (const Metric& metric : verdict.metrics) doc["metrics"].push_back(metric_json(metric));
  doc["bad_words_total"] = verdict.bad_words_total;
  doc["bad_words"] = Json::array();
  for (const BadWord& word : verdict.bad_words) doc["bad_words"].push_back(word_json(word));
  doc["mismatches_total"] = verdict.mismatches_total;
  doc["mismatches"] = Json::array();
  for (const Mismatch& mismatch : verdict.mismatches)
    doc["mismatches"].push_back(mismatch_json(mismatch));
  doc["digests"] = Json::array();
  for (const Digest& digest : verdict.digests)
    doc["digests"].push_back({{"name", digest.name}, {"value", format_hex(digest.value, 16)}});
  if (verdict.started_ms) put(doc, "started_ms", number(*verdict.started_ms));
  put(doc, "duration_ms", number(verdict.duration_ms));
  put(doc, "injected_fault", verdict.injected_fault);
  return doc;
}

Result<Verdict> verdict_from_json(const Json& doc, std::string_view name) {
  const auto bad = [name](std::string_view what) {
    return fail(ErrorKind::bad_input, fmt::format("{}: not a verdict: {}", name, what));
  };
  const auto test = get_string(doc, "test"), status_text = get_string(doc, "status");
  if (!test) return bad("\"test\" is missing");
  if (!status_text) return bad("\"status\" is missing");
  const auto status = status_from(*status_text);
  if (!status) return bad("unknown \"status\"");

  Verdict verdict;
  verdict.test = *test;
  verdict.status = *status;
  verdict.subject = get_string(doc, "subject").value_or("");
  verdict.uuid = get_string(doc, "uuid");
  verdict.pci_address = get_string(doc, "pci_address");
  verdict.peer_uuid = get_string(doc, "peer_uuid");
  verdict.executor = get_string(doc, "executor").value_or("");
  verdict.reason = get_string(doc, "reason").value_or("");
  if (const auto code = get_int(doc, "error_code")) verdict.error_code = static_cast<int>(*code);
  verdict.bad_words_total = get_uint(doc, "bad_words_total").value_or(0);
  verdict.duration_ms = get_double(doc, "duration_ms").value_or(0);
  verdict.started_ms = get_double(doc, "started_ms");
  verdict.mismatches_total = get_uint(doc, "mismatches_total").value_or(0);
  verdict.injected_fault = get_string(doc, "injected_fault");

  if (const Json& coverage = member(doc, "coverage"); coverage.is_object()) {
    const auto tested = get_uint(coverage, "tested_bytes"), free = get_uint(coverage, "free_bytes"),
               total = get_uint(coverage, "total_bytes");
    if (!tested || !free || !total) return bad("\"coverage\" is incomplete");
    verdict.coverage = Coverage{*tested, *free, *total, get_uint(coverage, "reserved_bytes")};
  }
  if (const Json& units = member(doc, "units"); units.is_object()) {
    const auto tested = get_uint(units, "tested"), total = get_uint(units, "total");
    if (!tested || !total) return bad("\"units\" is incomplete");
    verdict.units = UnitCoverage{static_cast<unsigned>(*tested), static_cast<unsigned>(*total)};
  }
  if (const Json* metrics = list_member(doc, "metrics")) {
    for (const Json& item : *metrics) {
      const auto metric_name = get_string(item, "name"), unit = get_string(item, "unit");
      const auto value = get_double(item, "value");
      if (!metric_name || !unit || !value) return bad("a metric is incomplete");
      verdict.metrics.push_back({*metric_name, *value, *unit, get_double(item, "threshold"),
                                 get_string(item, "threshold_source")});
    }
  }
  if (const Json* words = list_member(doc, "bad_words")) {
    for (const Json& item : *words) {
      const auto offset = hex_member(item, "offset_bytes"), expected = hex_member(item, "expected"),
                 actual = hex_member(item, "actual");
      if (!offset || !expected || !actual) return bad("a bad word is incomplete");
      verdict.bad_words.push_back({*offset, *expected, *actual,
                                   get_string(item, "phase").value_or(""),
                                   get_bool(item, "repeats")});
    }
  }
  if (const Json* mismatches = list_member(doc, "mismatches")) {
    for (const Json& item : *mismatches) {
      const auto expected = hex_member(item, "expected"), actual = hex_member(item, "actual");
      if (!expected || !actual) return bad("a mismatch is incomplete");
      const auto unit = get_uint(item, "unit");
      verdict.mismatches.push_back(
          {get_string(item, "what").value_or(""),
           unit ? std::optional(static_cast<unsigned>(*unit)) : std::nullopt,
           get_uint(item, "index").value_or(0), *expected, *actual});
    }
  }
  if (const Json* digests = list_member(doc, "digests")) {
    for (const Json& item : *digests) {
      const auto digest_name = get_string(item, "name");
      const auto value = hex_member(item, "value");
      if (!digest_name || !value) return bad("a digest is incomplete");
      verdict.digests.push_back({*digest_name, *value});
    }
  }
  return verdict;
}

}  // namespace gpuready
