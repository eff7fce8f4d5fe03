// One function a program whose results are read (import.h), and what these share.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "bench/record/run_record.h"

namespace gpuready::bench {

bool is_google_benchmark(const Json& doc);
Result<RunRecord> from_google_benchmark(const Json& doc, std::string_view name);

bool is_llama_bench(const Json& doc);
Result<RunRecord> from_llama_bench(const Json& doc, std::string_view name);

bool is_asv(const Json& doc);
Result<RunRecord> from_asv(const Json& doc, std::string_view name);

bool is_hyperfine(const Json& doc);
Result<RunRecord> from_hyperfine(const Json& doc, std::string_view name);

bool is_pyc_suite(const Json& doc);
Result<RunRecord> from_pyc_suite(const Json& doc, std::string_view name);

// A number, or text that is one; nothing for what is none.
std::optional<double> number_in(const Json& value);
std::optional<double> positive(std::optional<double> value, double scale = 1);
std::string text_of(const Json& value);

// "2024-05-01T14:00:00+02:00" in UTC; empty when it is no time.
std::string utc_of(std::string_view text);

// The stack of this id, which is made where it is not there.
StackResult& stack_of(RunRecord& run, const std::string& id);
// Of a program that runs each test once: a second one of an id counts as a repeat, which is
// reported.
void add_only_repeat(RunRecord& run, const std::string& id, Repeat repeat);

void fail_repeat(Repeat& repeat, std::string reason, StackStatus status = StackStatus::error);

}  // namespace gpuready::bench
