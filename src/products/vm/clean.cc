#include "vm/clean.h"

#include <fmt/format.h>

#include "base/text.h"
#include "base/units.h"
#include "jobs/helper.h"
#include "value/envelope.h"
#include "value/json.h"
#include "value/names.h"
#include "value/read_fields.h"

namespace gpuready::vm {
namespace {

// What a driver and a test's own program keep for themselves is less.
constexpr double kLeastCovered = 0.9;

}  // namespace

Result<void> judge(const Json& report, const PciAddress& device) {
  constexpr std::string_view kName = "the report of its test";
  const auto envelope = TRY(value::read_document<Envelope>(report, kName));
  bool memory = false;
  if (const auto& verdicts = member(report, "verdicts"); verdicts.is_array())
    for (const auto& written : verdicts) {
      const auto verdict = TRY(value_from_json<Verdict>(written, kName));
      if (verdict.pci_address != device.text() || verdict.test != "memory") continue;
      if (verdict.status != VerdictStatus::passed)
        return fail(ErrorKind::device,
                    fmt::format("its memory test is {}: {}", name_of(verdict.status),
                                printable(verdict.reason)));
      const auto covered = verdict.coverage.value_or(Coverage{});
      const auto least = kLeastCovered * static_cast<double>(covered.total_bytes);
      if (covered.total_bytes == 0 || static_cast<double>(covered.tested_bytes) < least)
        return fail(
            ErrorKind::device,
            fmt::format("only {} of its {} were overwritten and verified",
                        format_bytes(covered.tested_bytes), format_bytes(covered.total_bytes)));
      memory = true;
    }
  if (!memory)
    return fail(ErrorKind::unsupported,
                "its memory was not overwritten: no driver here can test it");
  if (envelope.exit != Exit::ok)
    return fail(ErrorKind::device,
                "gpuready check: " + printable(envelope.conclusion.value_or("")));
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
