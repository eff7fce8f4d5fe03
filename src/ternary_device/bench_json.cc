#include <cmath>

#include "ternary_device/bench.h"

namespace gpuready::ternary {
namespace {

constexpr CheckStatus kStatuses[] = {CheckStatus::passed, CheckStatus::failed,
                                     CheckStatus::not_tested, CheckStatus::not_supported,
                                     CheckStatus::timed_out};

}  // namespace

Json to_json(std::span<const BenchRow> rows, unsigned threads, int exit_code,
             const DocumentLabels& labels) {
  Json doc = {{"schema", "gpuready.ternary-bench"}, {"schema_version", 1}};
  doc["tool"] = Json{{"name", "gpuready"}};
  put(doc["tool"], "version", labels.tool_version);
  put(doc, "created_utc", labels.created_utc);
  if (threads > 0) doc["threads"] = threads;
  doc["exit_code"] = exit_code;
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

}  // namespace gpuready::ternary
