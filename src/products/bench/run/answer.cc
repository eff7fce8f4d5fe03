#include "bench/run/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/json.h"
#include "base/text.h"
#include "base/units.h"

namespace gpuready::bench {
namespace {

constexpr std::size_t kMostSamples = 1'000'000, kMostDigests = 64, kMostReason = 1000,
                      kMostTexts = 64;
constexpr std::size_t kMostTries = 64;  // at finding where the object begins

std::string short_text(std::string_view text) {
  std::string line = printable(trim(text));
  if (line.size() > kMostReason) line = "..." + line.substr(line.size() - kMostReason);
  return line;
}

void set(Answer& answer, StackStatus status, std::string reason) {
  answer.repeat.status = status;
  answer.repeat.reason = std::move(reason);
}

// The object that ends the text. It may take several lines, and anything may stand before it.
Result<Json> last_object(std::string_view out) {
  const std::string_view text = trim(out);
  if (text.empty()) return fail(ErrorKind::bad_input, "it wrote no answer");
  if (text.back() != '}')
    return fail(ErrorKind::bad_input,
                "its last output is not a JSON object: " +
                    short_text(text.substr(text.size() - std::min<std::size_t>(text.size(), 200))));
  // From the last line that begins with a brace backwards; at last the first brace of the last
  // line, which may follow an unfinished one.
  std::vector<std::size_t> starts;
  for (std::size_t at = text.size(); at != 0 && starts.size() < kMostTries;) {
    const auto line = text.rfind("\n{", at - 1);
    at = line == text.npos ? 0 : line;
    if (line != text.npos) starts.push_back(line + 1);
  }
  if (text.front() == '{') starts.push_back(0);
  const auto last_line = text.rfind('\n');
  starts.push_back(text.find('{', last_line == text.npos ? 0 : last_line));
  std::string why;
  for (const std::size_t start : starts) {
    if (start == text.npos) continue;
    auto doc = parse_json(text.substr(start), "its answer", 64u << 20);
    if (doc && doc->is_object()) return doc;
    if (why.empty()) why = doc ? "it is not an object" : doc.error().message;
  }
  return fail(ErrorKind::bad_input,
              why.empty() ? "its last output is not a JSON object" : short_text(why));
}

// Times in milliseconds as nanoseconds; nothing for what no time can be.
std::optional<double> time_ns(const Json& doc, std::string_view key) {
  const auto ms = get_double(doc, key);
  return ms && std::isfinite(*ms) && *ms > 0 ? std::optional(*ms * kNsPerMs) : std::nullopt;
}

// Why the list is none of positive, finite numbers.
std::optional<std::string> read_times(const Json& doc, const char* key, double scale,
                                      std::vector<double>& to) {
  const Json& list = member(doc, key);
  if (list.is_null()) return std::nullopt;
  if (!list.is_array() || list.size() > kMostSamples)
    return fmt::format("{} is not a list of at most {} numbers", key, kMostSamples);
  for (const Json& item : list) {
    if (!item.is_number() || !std::isfinite(item.get<double>()) || item.get<double>() <= 0)
      return fmt::format("{} contains an invalid time: {}", key,
                         short_text(dump_line(item)).substr(0, 60));
    to.push_back(item.get<double>() * scale);
  }
  return std::nullopt;
}

// y, activation, z, mean: in the order of reference_digests().
void read_digest(const Json& doc, std::vector<double>& to) {
  const auto add = [&](const Json& value) {
    if (value.is_number() && to.size() < kMostDigests) to.push_back(value.get<double>());
  };
  for (const char* key : {"y", "activation", "z", "mean"}) {
    const Json& value = member(doc, key);
    if (value.is_array())
      for (const Json& item : value) add(item);
    else
      add(value);
  }
}

// Fields that say what was computed, where they are there: another value is other work.
std::optional<std::string> other_subject(const Json& doc, const Request& request) {
  const auto differs = [](std::string_view what, const std::string& did,
                          const std::string& asked) -> std::optional<std::string> {
    if (did == asked) return std::nullopt;
    return fmt::format("it did {} {}; {} was asked for", what, short_text(did), asked);
  };
  if (const auto task = get_string(doc, "task"))
    if (auto other = differs("task", *task, std::string(to_string(request.task)))) return other;
  if (const auto dtype = get_string(doc, "dtype")) {
    const auto known = dtype_from(*dtype);
    const std::string did = known ? std::string(to_string(*known)) : *dtype;
    if (auto other = differs("dtype", did, std::string(to_string(request.dtype)))) return other;
  }
  if (const auto device = get_string(doc, "device"))
    if (auto other = differs("device", *device, request.device)) return other;
  const Workload work = workload_of(request);
  for (const Json* place : {&doc, &member(doc, "shape")})
    for (const auto& [name, size] : work.shape)
      if (const Json& value = member(*place, name); !value.is_null())
        if (auto other = differs(name, dump_line(value), std::to_string(size))) return other;
  if (const Json& flops = member(doc, "flops"); !flops.is_null()) {
    const auto did = get_double(doc, "flops");
    const auto asked = static_cast<double>(work.flops.value_or(0));
    if (!did || std::abs(*did - asked) > 1e-9 * asked)
      return fmt::format("it did {} FLOPs an iteration; the workload has {}",
                         short_text(dump_line(flops)), *work.flops);
  }
  return std::nullopt;
}

// Why the times are not times of one iteration in the steady state.
std::optional<std::string> read_latency(const Json& doc, Answer& answer) {
  Repeat& repeat = answer.repeat;
  if (auto wrong = read_times(doc, "samples_ms", kNsPerMs, repeat.samples_ns)) return wrong;
  if (auto wrong = read_times(doc, "cold_ms", kNsPerMs, repeat.cold_samples_ns)) return wrong;
  if (auto wrong = read_times(doc, "samples_at_ms", 1, answer.sampled_at_ms)) return wrong;
  if (answer.sampled_at_ms.size() != repeat.samples_ns.size()) answer.sampled_at_ms.clear();
  const Json& latency = member(doc, "latency_ms");
  if (!latency.is_object())
    return repeat.samples_ns.empty() ? std::optional<std::string>("latency_ms is missing")
                                     : std::nullopt;
  const char* const keys[] = {"min", "p50", "p95", "max", "mean"};
  std::optional<double> told[std::size(keys)];
  for (std::size_t i = 0; i < std::size(keys); ++i) {
    told[i] = time_ns(latency, keys[i]);
    if (!told[i])
      return fmt::format("latency_ms.{} is {}", keys[i],
                         member(latency, keys[i]).is_null() ? "missing" : "no time");
  }
  const auto [min, p50, p95, max, mean] = std::to_array(told);
  if (*min > *p50 || *p50 > *p95 || *p95 > *max || *mean < *min * (1 - 1e-9) ||
      *mean > *max * (1 + 1e-9))
    return "latency_ms contradicts itself: expected min <= p50 <= p95 <= max, and the mean between";
  if (repeat.samples_ns.empty()) {
    repeat.reported = {.mean_ns = mean, .p50_ns = p50, .p95_ns = p95, .min_ns = min, .max_ns = max};
    return std::nullopt;
  }
  const double sampled = std::accumulate(repeat.samples_ns.begin(), repeat.samples_ns.end(), 0.0) /
                         static_cast<double>(repeat.samples_ns.size());
  if (std::abs(sampled - *mean) > 0.01 * sampled)
    return fmt::format("the mean of its samples is {:.6g} ms, and it says {:.6g} ms",
                       sampled / kNsPerMs, *mean / kNsPerMs);
  return std::nullopt;
}

// Numbers and truth values as they stand there.
void read_texts(const Json& doc, std::map<std::string, std::string>& to) {
  if (!doc.is_object()) return;
  for (const auto& [name, value] : doc.items())
    if (value.is_primitive() && !value.is_null() && to.size() < kMostTexts)
      to[short_text(name)] =
          short_text(value.is_string() ? value.get<std::string>() : dump_line(value));
}

void read_facts(const Json& doc, Answer& answer) {
  const auto text = [&](const char* key) { return short_text(get_string(doc, key).value_or("")); };
  answer.mode = text("mode");
  answer.device_name = text("device_name");
  answer.timer = text("timer");
  answer.reference = member(doc, "reference") == Json(true);
  answer.stopped_by = text("stopped_by");
  read_texts(member(doc, "versions"), answer.versions);
  read_texts(member(doc, "settings"), answer.settings);
  if (const Json& notes = member(doc, "notes"); notes.is_array())
    for (const Json& note : notes)
      if (note.is_string() && answer.repeat.notes.size() < 16)
        answer.repeat.notes.push_back(short_text(note.get<std::string>()));
  answer.iterations_per_sample =
      std::max<std::uint64_t>(1, get_uint(doc, "iterations_per_sample").value_or(1));
  answer.iterations = get_uint(doc, "iters");
  Repeat& repeat = answer.repeat;
  repeat.flops_done = get_uint(doc, "flops");
  repeat.self_memory_peak_bytes = get_uint(doc, "peak_memory_bytes");
  const Json& startup = member(doc, "startup_ms");
  const auto time = [&](const char* key) {
    const auto ms = get_double(startup, key);
    return ms && *ms >= 0 ? ms : std::nullopt;
  };
  repeat.setup_ms = time("setup");
  repeat.compile_ms = time("compile");
  repeat.first_run_ms = time("first_step");
  read_digest(member(doc, "digest"), repeat.digest);
}

}  // namespace

Answer read_answer(std::string_view out, const Request& request) {
  Answer answer;
  const auto doc = last_object(out);
  if (!doc) {
    set(answer, StackStatus::error, doc.error().message);
    return answer;
  }
  read_facts(*doc, answer);
  const auto status = get_string(*doc, "status");
  const auto said = [&](const char* key, const char* otherwise) {
    const std::string text = short_text(get_string(*doc, key).value_or(""));
    return text.empty() ? std::string(otherwise) : text;
  };
  if (status == "unavailable") {
    set(answer, StackStatus::unavailable, said("reason", "it says so, without a reason"));
    answer.supported = get_bool(*doc, "supported").value_or(true);
  } else if (status == "error") {
    set(answer, StackStatus::error, said("error", "it says so, without more"));
  } else if (status != "ok") {
    set(answer, StackStatus::error,
        status ? "its status is neither ok, unavailable nor error: " + short_text(*status)
               : "its answer has no status");
  } else if (auto other = other_subject(*doc, request)) {
    set(answer, StackStatus::different_work, std::move(*other));
  } else if (auto wrong = read_latency(*doc, answer)) {
    answer.repeat.samples_ns.clear();
    answer.repeat.cold_samples_ns.clear();
    answer.sampled_at_ms.clear();
    set(answer, StackStatus::error, std::move(*wrong));
  }
  return answer;
}

Answer answer_of(const JobOutcome& outcome, const Request& request, const JobLimits& limits) {
  Answer none;
  const std::string said =
      outcome.err.empty()
          ? ""
          : "; its last words: " +
                short_text(outcome.err.substr(outcome.err.size() -
                                              std::min<std::size_t>(outcome.err.size(), 300)));
  const auto seconds = [](const std::optional<std::chrono::milliseconds>& limit) {
    return limit ? static_cast<double>(limit->count()) / 1000 : 0.0;
  };
  switch (outcome.end) {
    case JobEnd::exited:
      break;
    case JobEnd::signalled:
      set(none, StackStatus::error,
          fmt::format("it was ended by {}{}", strsignal(outcome.signal), said));
      return none;
    case JobEnd::timed_out:
      set(none, StackStatus::error,
          fmt::format("it did not end within {:g} s and was ended{}", seconds(limits.time), said));
      return none;
    case JobEnd::silent:
      set(none, StackStatus::error,
          fmt::format("it wrote nothing for {:g} s and was ended{}", seconds(limits.silence),
                      said));
      return none;
    case JobEnd::hung:
      set(none, StackStatus::error,
          fmt::format("it hangs in the driver{} and was abandoned",
                      outcome.waits_in.empty() ? "" : " (" + outcome.waits_in + ")"));
      return none;
    case JobEnd::too_much_output:
      set(none, StackStatus::error, "it wrote more than is read");
      return none;
    case JobEnd::cancelled:
      set(none, StackStatus::error, "it was interrupted");
      return none;
  }
  Answer answer = read_answer(outcome.out, request);
  const bool answered = answer.repeat.status != StackStatus::error;
  if (outcome.exit_code != 0 && answered) {
    set(none, StackStatus::error,
        fmt::format("it ended with code {} though it says {}{}", outcome.exit_code,
                    name_of(answer.repeat.status), said));
    return none;
  }
  if (answer.repeat.status == StackStatus::error)
    answer.repeat.reason +=
        outcome.exit_code == 0 ? said
                               : fmt::format(" (it ended with code {}){}", outcome.exit_code, said);
  return answer;
}

void check_digest(Answer& answer, const Request& request,
                  std::span<const ExpectedDigest> expected) {
  if (answer.repeat.status != StackStatus::ok) return;
  if (answer.repeat.digest.empty())
    answer.repeat.unverified = true;
  else if (auto reason = other_work(request, expected, answer.repeat.digest))
    set(answer, StackStatus::different_work, std::move(*reason));
}

}  // namespace gpuready::bench
