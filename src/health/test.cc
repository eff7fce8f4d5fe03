#include "health/test.h"

#include <fmt/format.h>

#include <algorithm>

#include "health/sealed_results.h"
#include "value/read_fields.h"
#include "value/write_fields.h"

namespace gpuready {
namespace {

constexpr int kMostPeerLinks = 1024;

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
  if (is_corruption(error)) {
    verdict.status = VerdictStatus::failed;
    verdict.reason = fmt::format("{}: {}", phase, error.message);
    return;
  }
  const DeviceFault fault = device.fault_of(error);
  verdict.status = status_of(fault);
  verdict.reason = reason_of(fault, error, phase);
  verdict.error_code = error_code_of(error);
}

FIELDS_OF(Fault) {
  visit.about("fault", "A fault on purpose.");
  FIELD(kind, "Its class.");
  FIELD(seed, "Where it is, and which bits.");
  FIELD(count, "How many such faults, at different places.");
}

FIELDS_OF(TestOptions) {
  visit.about("test_options", "What a test is to do; test.h.");
  FIELD(level, "How much is done.");
  FIELD(duration_s, "How long; absent: by level.");
  FIELD(seed, "Of patterns and data.");
  FIELD(inject, "A fault on purpose.");
  FIELD(max_reported, "Bad words or mismatches listed.");
  FIELD(max_bytes, "Most memory.");
  FIELD(reserve_free_bytes, "Free memory that is left.");
  FIELD(max_host_bytes, "Most memory of the host.");
  FIELD(max_launch_ms, "Longest kernel.", kAlways);
  FIELD(copy_traffic_bytes, "Moved to measure the copy rate.");
  FIELD(blocks_per_unit, "Blocks per SM.");
  FIELD(hammer, "Repeated access.");
  FIELD(selftest_of, "The test that is tried.");
  FIELD(trials, "How often it is tried.");
  FIELD(all_together, "The other GPUs run the same now.");
  FIELD(max_clock_mhz, "The greatest SM clock that the driver allows.");
  FIELD(real_link, "The GPU's link is a real one.");
  FIELD(link_generation, "Greatest generation of the GPU's link.");
  FIELD(link_width, "Its most lanes.");
  FIELD(link_excuse, "Why copies are not held to the link.");
  FIELD(peer_path, "How the two are connected.");
  FIELD(peer_links, "Links of NVLink.");
  FIELD(limit_ms, "Of the matrix product of --fitness.", kAlways);
  FIELD(limit_source, "Where that comes from.", kAlways);
}

Json to_json(const TestOptions& options) { return value::write_fields(options); }

Result<TestOptions> test_options_from_json(const Json& doc) {
  auto options = TRY(value::read_document<TestOptions>(doc, "the test's options"));
  options.max_reported = std::min<std::size_t>(options.max_reported, 4096);
  if (options.peer_links.value_or(0) < 0 || options.peer_links.value_or(0) > kMostPeerLinks)
    options.peer_links.reset();
  if (options.max_launch_ms <= 0 || options.blocks_per_unit == 0 ||
      options.blocks_per_unit > 65'536)
    return fail(ErrorKind::bad_input, "max_launch_ms and blocks_per_unit must be positive");
  return options;
}

}  // namespace gpuready
