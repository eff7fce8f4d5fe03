#include "vm/clean.h"

#include <fmt/format.h>

#include "base/text.h"
#include "base/units.h"
#include "jobs/helper.h"

namespace gpuready::vm {
namespace {

// What a driver and a test's own program keep for themselves is less.
constexpr double kLeastCovered = 0.9;

std::string text_of(const Json& doc, const char* key) {
  const auto& found = member(doc, key);
  return found.is_string() ? printable(found.get<std::string>()) : std::string();
}

double number_of(const Json& doc, const char* key) {
  const auto& found = member(doc, key);
  return found.is_number() ? found.get<double>() : 0;
}

}  // namespace

Result<void> judge(const Json& report, const PciAddress& device) {
  bool memory = false;
  const auto& verdicts = member(report, "verdicts");
  if (verdicts.is_array())
    for (const auto& verdict : verdicts) {
      if (text_of(verdict, "pci_address") != device.text()) continue;
      const std::string test = text_of(verdict, "test"), status = text_of(verdict, "status");
      if (test != "memory") continue;
      if (status != "passed")
        return fail(ErrorKind::device,
                    fmt::format("its memory test is {}: {}", status, text_of(verdict, "reason")));
      const auto& coverage = member(verdict, "coverage");
      const double tested = number_of(coverage, "tested_bytes"),
                   total = number_of(coverage, "total_bytes");
      if (total <= 0 || tested < kLeastCovered * total)
        return fail(ErrorKind::device,
                    fmt::format("only {} of its {} were overwritten and verified",
                                format_bytes(static_cast<std::uint64_t>(tested)),
                                format_bytes(static_cast<std::uint64_t>(total))));
      memory = true;
    }
  if (!memory)
    return fail(ErrorKind::unsupported,
                "its memory was not overwritten: no driver here can test it");
  if (const auto& code = member(report, "exit_code"); code != 0)
    return fail(ErrorKind::device, "gpuready check: " + text_of(report, "conclusion"));
  return {};
}

Result<void> clean(Host& host, const PciAddress& device, std::chrono::milliseconds deadline) {
  Job job = helper_job(
      {"check", "--level", "standard", "--device", device.text(), "--json", "-", "--quiet"});
  job.limits.time = deadline;
  const auto outcome = TRY(host.run(job));
  if (outcome.end != JobEnd::exited)
    return fail(ErrorKind::device,
                fmt::format("the test of its memory was {}", to_string(outcome.end)));
  const Json report = Json::parse(outcome.out, nullptr, false);
  if (!report.is_object())
    return fail(ErrorKind::unsupported,
                "its memory was not overwritten: " + printable(trim(outcome.err)));
  return judge(report, device);
}

}  // namespace gpuready::vm
