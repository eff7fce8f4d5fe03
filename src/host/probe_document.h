// What a probe child says: the calls that it made into a vendor's library and what they answered.
// The parent reads nothing else, so a recording of these documents replays through the same code.
//
// On the wire (descriptor 3) it is JSON lines, so that a probe that hangs or crashes has told all
// it had learnt, and the call in which it stopped:
//   {"probe":"nvml","version":1}
//   {"library":{"name":"libnvidia-ml.so.1","path":"/usr/lib/...","real_path":"/usr/lib/....580.1"}}
//   {"call":"nvmlInit_v2()"}                                       about to be made
//   {"call":"nvmlInit_v2()","code":0,"us":13500}                   answered
//   {"call":"nvmlDeviceGetName(0)","code":0,"value":"NVIDIA H200"}
//   {"call":"nvmlFoo(0)","missing":true}                           the library lacks the symbol
//   {"end":true}
// Stored, it is one object:
// {"probe","version","outcome","library","calls":{"nvmlInit_v2()":{...}}}.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace gpuready {

struct ProbeCall {
  int code = 0;              // the library's return code; meaningless when missing
  bool missing = false;      // the library has no such symbol
  Json value;                // null when the call returned nothing beside its code
  std::optional<double> us;  // duration, where it matters
  bool ok() const { return !missing && code == 0; }
};

enum class ProbeOutcome {
  completed,
  no_library,  // dlopen found nothing; `library_error` quotes it
  timed_out,
  hung,  // deadline passed and /proc showed D state
  crashed,
  failed_to_start,  // the helper itself could not run
  not_asked,        // this tier was not requested, or the GPU is suspended
};
std::string_view to_string(ProbeOutcome outcome);

struct ProbeDocument {
  std::string probe;  // "nvml", "cuda", "vulkan", "rocm", "level_zero", "metal"
  int version = 1;
  ProbeOutcome outcome = ProbeOutcome::not_asked;
  std::string stopped_in;  // the call under way when it timed out, hung or crashed
  int signal = 0;          // of a crash
  std::string library_name, library_path, library_real_path, library_error;
  std::map<std::string, ProbeCall, std::less<>> calls;  // by "symbol(arguments)"

  const ProbeCall* find(std::string_view call) const;  // nullptr: not made
  // The call's value when it was made and returned 0; null otherwise.
  const Json& value(std::string_view call) const;
  std::optional<std::string> text(std::string_view call) const;
  std::optional<std::int64_t> integer(std::string_view call) const;
  std::optional<std::uint64_t> unsigned_integer(std::string_view call) const;
};

Json to_json(const ProbeDocument& document);
Result<ProbeDocument> probe_document_from_json(const Json& doc, std::string_view name);
// From the lines on the wire, complete or cut short anywhere. Lines that are not JSON are ignored.
ProbeDocument probe_document_from_lines(std::string_view text, std::string_view probe);

// The option of a probe that gives an answer for each line on its channel.
inline constexpr std::string_view kProbeAgain = "--again";

// Writes the wire format from inside a probe child.
class ProbeWriter {
 public:
  ProbeWriter(int descriptor, std::string_view probe);
  void library(std::string_view name, std::string_view path, std::string_view real_path);
  void no_library(std::string_view name, std::string_view error);
  void begin(std::string_view call);  // flushed at once, so that a hang names its call
  void answer(std::string_view call, int code, const Json& value = nullptr,
              std::optional<double> us = std::nullopt);
  void missing(std::string_view call);
  void end();

 private:
  void line(const Json& doc);
  int descriptor_;
};

}  // namespace gpuready
