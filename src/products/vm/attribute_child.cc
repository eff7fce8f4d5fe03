#include "vm/attribute_child.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/paths.h"
#include "base/sha256.h"
#include "base/text.h"
#include "jobs/helper.h"
#include "vm/hot_reset.h"

namespace gpuready::vm {
namespace {
constexpr std::string_view kPlaces[] = {"/sys/bus/pci/", "/sys/bus/mdev/", "/sys/class/mdev_bus/",
                                        "/sys/devices/system/node/"};
constexpr int kUsage = 2;
constexpr std::size_t kMostRomBytes = 32u << 20;

std::string text_of(Host& host, const std::string& path) {
  const auto text = host.read_text(path).value_or("");
  return text == "(null)" ? std::string() : text;
}

Result<std::string> act(Host& host, Storage& storage, std::span<const std::string> args) {
  const auto &verb = args[0], &path = args[1], &value = args[2];
  if (verb == attribute::kHash) {  // 1 lets the ROM be read, of a device that is awake
    const auto power = gpuready::folder_of(path) + "/power/control";
    const bool may_sleep = text_of(host, power) == "auto" && storage.write_attribute(power, "on");
    const auto rom = storage.write_attribute(path, "1") ? host.read_file(path, kMostRomBytes)
                                                        : Result<std::string>(std::string());
    static_cast<void>(storage.write_attribute(path, "0"));
    if (may_sleep) static_cast<void>(storage.write_attribute(power, "auto"));
    return rom && !rom->empty() ? to_hex(sha256(*rom)) : std::string();
  }
  if (verb == attribute::kHotReset) {
    TRY(vfio_hot_reset(host, path, value));
    return std::string();
  }
  if (verb == attribute::kRead) return text_of(host, path);
  if (verb == attribute::kSet && text_of(host, path) == value) return value;
  TRY(storage.write_attribute(path, value.empty() ? "\n" : value));
  return verb == attribute::kSet ? text_of(host, path) : std::string();
}

}  // namespace

std::string attribute_answer(Host& host, Storage& storage, std::span<const std::string> args) {
  const auto answer = act(host, storage, args);
  if (answer) return "0\n" + *answer;
  return fmt::format("{}\n{}", answer.error().code != 0 ? answer.error().code : EIO,
                     answer.error().message);
}

int run_attribute_child(std::span<const std::string> args) {
  if (args.size() != 3) return kUsage;
  const auto above = [&](std::string_view place) { return args[1].starts_with(place); };
  if (!std::ranges::any_of(kPlaces, above) || contains(args[1], "/../")) return kUsage;
  std::fputs(attribute_answer(*make_live_host(), live_storage(), args).c_str(), stdout);
  return 0;
}

Result<std::string> ask_attribute(Host& host, const char* verb, const std::string& path,
                                  const std::string& value, std::chrono::milliseconds deadline) {
  Job job = helper_job({kAttributeChild, verb, path, value});
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
      return fail(ErrorKind::crashed, fmt::format("{}: the child that accesses it was {}", path,
                                                  to_string(outcome.end)));
  }
  const auto line = outcome.out.find('\n');
  const auto code = parse_int(outcome.out.substr(0, line));
  if (outcome.exit_code != 0 || !code || line == outcome.out.npos)
    return fail(ErrorKind::io, fmt::format("{}: the child that accesses it failed: {}", path,
                                           printable(trim(outcome.err))));
  auto answer = outcome.out.substr(line + 1);
  if (*code == 0) return answer;
  auto failed = fail_errno(path, static_cast<int>(*code));
  if (!answer.empty()) failed.error().message = printable(answer);
  return failed;
}

}  // namespace gpuready::vm
