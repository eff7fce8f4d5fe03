#include "vm/attribute_child.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "base/clock.h"
#include "base/json.h"
#include "base/paths.h"
#include "base/sha256.h"
#include "base/text.h"
#include "jobs/helper.h"
#include "jobs/parent_watch.h"
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

Result<std::string> act(Host& host, Storage& storage, const AttributeRequest& request) {
  const auto& [verb, path, value] = request;
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

std::optional<AttributeRequest> request_from(const std::string& line) {
  const auto doc = parse_json(line, "request");
  if (!doc) return std::nullopt;
  const auto text = [&](const char* key) { return get_string(*doc, key).value_or(""); };
  AttributeRequest request{text("verb"), text("path"), text("value")};
  const auto above = [&](std::string_view place) { return request.path.starts_with(place); };
  if (!std::ranges::any_of(kPlaces, above) || contains(request.path, "/../")) return std::nullopt;
  return request;
}

}  // namespace

std::string attribute_answer(Host& host, Storage& storage, const AttributeRequest& request) {
  const auto answer = act(host, storage, request);
  if (answer) return dump_line({{"code", 0}, {"text", *answer}});
  const Error& error = answer.error();
  return dump_line({{"code", error.code != 0 ? error.code : EIO}, {"text", error.message}});
}

int run_attribute_child(std::span<const std::string> args) {
  if (!args.empty()) return kUsage;
  end_with_parent();
  const auto host = make_live_host();
  while (const auto line = read_channel_line()) {
    const auto request = request_from(*line);
    if (!request) return kUsage;
    write_channel_line(attribute_answer(*host, live_storage(), *request));
  }
  return 0;
}

Result<JobOutcome> AttributeChild::exchange(const AttributeRequest& request,
                                            std::chrono::milliseconds deadline) {
  const auto start = Clock::now();
  if (!child_ || !child_->resume({.time = deadline})) {
    Job job = helper_job({kAttributeChild});
    job.limits.time = deadline;
    child_ = TRY(RunningJob::start(job));
  }
  child_->send(
      dump_line({{"verb", request.verb}, {"path", request.path}, {"value", request.value}}) + "\n");
  auto answer = child_->take_lines(kChannel);
  for (; answer.empty() && !child_->finished(); answer = child_->take_lines(kChannel))
    poll_jobs({&*child_}, Deadline::max());
  JobOutcome outcome = child_->outcome();
  if (!answer.empty()) outcome.channel = std::move(answer.front());
  if (elapsed_ms(start) >= static_cast<double>(deadline.count()))
    child_.reset();  // it may be killed
  return outcome;
}

Result<std::string> AttributeChild::ask(const AttributeRequest& request,
                                        std::chrono::milliseconds deadline) {
  const auto& path = request.path;
  const auto outcome = TRY(exchange(request, deadline));
  if (const auto answer = parse_json(outcome.channel, "answer")) {
    const auto code = static_cast<int>(get_int(*answer, "code").value_or(EIO));
    auto text = get_string(*answer, "text").value_or("");
    if (code == 0) return text;
    auto failed = fail_errno(path, code);
    if (!text.empty()) failed.error().message = printable(text);
    return failed;
  }
  switch (outcome.end) {
    case JobEnd::exited:
      return fail(ErrorKind::io, fmt::format("{}: the child that accesses it failed: {}", path,
                                             printable(trim(outcome.err))));
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
}

}  // namespace gpuready::vm
