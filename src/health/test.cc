#include "health/test.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace gpuready {
namespace {

constexpr std::array<std::pair<Level, std::string_view>, 3> kLevels = {
    {{Level::quick, "quick"}, {Level::standard, "standard"}, {Level::thorough, "thorough"}}};

constexpr std::uint64_t kMostPeerLinks = 1024;

std::string_view describe(DeviceFault fault) {
  switch (fault) {
    case DeviceFault::out_of_memory:
      return "out of memory";
    case DeviceFault::busy:
      return "busy";
    case DeviceFault::unavailable:
      return "the device could not be started";
    case DeviceFault::refuses_code:
      return "the driver refuses code that it must be able to load";
    case DeviceFault::cannot_load:
      return "no code could be loaded";
    case DeviceFault::memory:
      return "the device reported a memory fault";
    case DeviceFault::execution:
      return "a kernel that is right on a healthy device ended in an error";
    case DeviceFault::timed_out:
      return "a launch was ended for taking too long";
    case DeviceFault::none:
    case DeviceFault::unclear:
      break;
  }
  return "the test could not go on";
}

}  // namespace

std::string_view to_string(Level level) { return kLevels[static_cast<std::size_t>(level)].second; }

std::optional<Level> level_from(std::string_view name) {
  for (const auto& [level, text] : kLevels)
    if (text == name) return level;
  return std::nullopt;
}

const HealthTest* find_health_test(std::string_view name) {
  for (const HealthTest& test : health_tests())
    if (test.name == name) return &test;
  return nullptr;
}

std::vector<std::string> tests_of(Level level) {
  std::vector<std::string> names;
  for (const HealthTest& test : health_tests())
    if (test.from && *test.from <= level) names.emplace_back(test.name);
  return names;
}

Verdict begin_verdict(std::string_view test, const Device& device, const TestOptions& options) {
  const DeviceInfo& info = device.info();
  Verdict verdict;
  verdict.test = test;
  verdict.executor = info.executor;
  verdict.uuid = info.uuid;
  verdict.pci_address = info.pci_address;
  if (options.inject) verdict.injected_fault = to_string(options.inject->kind);
  return verdict;
}

VerdictStatus status_of(DeviceFault fault) {
  switch (fault) {
    case DeviceFault::out_of_memory:
    case DeviceFault::busy:
    case DeviceFault::unavailable:
    case DeviceFault::cannot_load:
      return VerdictStatus::not_tested;
    case DeviceFault::refuses_code:
    case DeviceFault::memory:
    case DeviceFault::execution:
      return VerdictStatus::failed;
    case DeviceFault::none:
    case DeviceFault::timed_out:
    case DeviceFault::unclear:
      return VerdictStatus::inconclusive;
  }
  return VerdictStatus::inconclusive;
}

std::string reason_of(DeviceFault fault, const Error& error, std::string_view phase) {
  return fmt::format("{} ({}): {}", describe(fault), phase, error.message);
}

std::optional<int> error_code_of(const Error& error) {
  if (error.kind != ErrorKind::device || error.code == 0) return std::nullopt;
  return error.code;
}

void conclude_with_error(Verdict& verdict, const Device& device, const Error& error,
                         std::string_view phase) {
  const DeviceFault fault = device.fault_of(error);
  verdict.status = status_of(fault);
  verdict.reason = reason_of(fault, error, phase);
  verdict.error_code = error_code_of(error);
}

Json to_json(const TestOptions& options) {
  Json doc = {{"level", std::string(to_string(options.level))}};
  put(doc, "duration_s", options.duration_s);
  put(doc, "seed", options.seed);
  if (options.inject) doc["inject"] = to_json(*options.inject);
  doc["max_reported"] = options.max_reported;
  put(doc, "max_bytes", options.max_bytes);
  doc["reserve_free_bytes"] = options.reserve_free_bytes;
  put(doc, "max_host_bytes", options.max_host_bytes);
  doc["max_launch_ms"] = options.max_launch_ms;
  doc["copy_traffic_bytes"] = options.copy_traffic_bytes;
  doc["blocks_per_unit"] = options.blocks_per_unit;
  doc["hammer"] = options.hammer;
  put(doc, "selftest_of", options.selftest_of);
  doc["trials"] = options.trials;
  doc["all_together"] = options.all_together;
  doc["real_link"] = options.real_link;
  put(doc, "peer_path", options.peer_path);
  put(doc, "peer_links", options.peer_links);
  doc["limit_ms"] = options.limit_ms;
  doc["limit_source"] = options.limit_source;
  return doc;
}

Result<TestOptions> test_options_from_json(const Json& doc) {
  if (!doc.is_object())
    return fail(ErrorKind::bad_input, "the test's options are not a JSON object");
  TestOptions options;
  const auto level = level_from(get_string(doc, "level").value_or("quick"));
  if (!level) return fail(ErrorKind::bad_input, "level must be quick, standard or thorough");
  options.level = *level;
  options.duration_s = get_double(doc, "duration_s");
  options.seed = get_uint(doc, "seed");
  if (const Json& inject = member(doc, "inject"); inject.is_object()) {
    auto fault = fault_from_json(inject);
    if (!fault) return std::unexpected(fault.error());
    options.inject = *fault;
  }
  options.max_reported =
      std::min<std::uint64_t>(get_uint(doc, "max_reported").value_or(options.max_reported), 4096);
  options.max_bytes = get_uint(doc, "max_bytes");
  options.reserve_free_bytes = get_uint(doc, "reserve_free_bytes").value_or(0);
  options.max_host_bytes = get_uint(doc, "max_host_bytes");
  options.max_launch_ms = get_double(doc, "max_launch_ms").value_or(options.max_launch_ms);
  options.copy_traffic_bytes =
      get_uint(doc, "copy_traffic_bytes").value_or(options.copy_traffic_bytes);
  const auto blocks = get_uint(doc, "blocks_per_unit").value_or(options.blocks_per_unit);
  options.hammer = get_bool(doc, "hammer").value_or(false);
  options.selftest_of = get_string(doc, "selftest_of").value_or("");
  options.trials = get_uint(doc, "trials").value_or(options.trials);
  options.all_together = get_bool(doc, "all_together").value_or(false);
  options.real_link = get_bool(doc, "real_link").value_or(true);
  options.peer_path = get_string(doc, "peer_path");
  if (const auto links = get_uint(doc, "peer_links"); links && *links <= kMostPeerLinks)
    options.peer_links = static_cast<int>(*links);
  options.limit_ms = get_double(doc, "limit_ms").value_or(options.limit_ms);
  options.limit_source = get_string(doc, "limit_source").value_or(options.limit_source);
  if (options.max_launch_ms <= 0 || blocks == 0 || blocks > 65'536)
    return fail(ErrorKind::bad_input, "max_launch_ms and blocks_per_unit must be positive");
  options.blocks_per_unit = static_cast<unsigned>(blocks);
  return options;
}

}  // namespace gpuready
