#include "vm/attribute_child.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/text.h"
#include "host/storage.h"
#include "jobs/helper.h"

namespace gpuready::vm {
namespace {
constexpr std::string_view kPlaces[] = {"/sys/bus/pci/", "/sys/bus/mdev/", "/sys/class/mdev_bus/"};
constexpr int kUsage = 2;
}  // namespace

int run_attribute_child(std::span<const std::string> args) {
  const auto above = [&](std::string_view place) { return args[0].starts_with(place); };
  if (args.size() != 2 || !std::ranges::any_of(kPlaces, above) || contains(args[0], "/../"))
    return kUsage;
  const auto written = live_storage().write_attribute(args[0], args[1]);
  std::printf("%d\n", written ? 0 : written.error().code);
  return 0;
}

Result<void> write_in_child(Host& host, const std::string& path, const std::string& value,
                            std::chrono::milliseconds deadline) {
  Job job = helper_job({kAttributeChild, path, value});
  job.limits.time = deadline;
  const auto outcome = TRY(host.run(job));
  switch (outcome.end) {
    case JobEnd::exited:
      break;
    case JobEnd::hung:
    case JobEnd::timed_out:
      return fail(
          outcome.abandoned || outcome.end == JobEnd::hung ? ErrorKind::hung : ErrorKind::timed_out,
          fmt::format(
              "{}: the driver did not return within {} s{}", path,
              std::chrono::duration_cast<std::chrono::seconds>(deadline).count(),
              outcome.waits_in.empty() ? "" : "; it waits in " + printable(outcome.waits_in)));
    default:
      return fail(ErrorKind::crashed,
                  fmt::format("{}: the child that writes it was {}", path, to_string(outcome.end)));
  }
  const auto code = parse_int(outcome.out);
  if (outcome.exit_code != 0 || !code)
    return fail(ErrorKind::io, fmt::format("{}: the child that writes it failed: {}", path,
                                           printable(trim(outcome.err))));
  if (*code != 0) return fail_errno(path, static_cast<int>(*code));
  return {};
}

}  // namespace gpuready::vm
