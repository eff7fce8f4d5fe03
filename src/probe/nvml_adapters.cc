#include "probe/nvml_adapters.h"

#include <array>
#include <climits>
#include <cstdio>
#include <cstring>
#include <span>
#include <vector>

namespace gpuready::nvml {
namespace {

template <class... Arguments>
int call(void* function, Device device, Arguments... arguments) {
  return reinterpret_cast<int (*)(Device, Arguments...)>(function)(device, arguments...);
}

std::string hex(std::span<const std::uint8_t> bytes) {
  std::string out;
  for (const auto byte : bytes) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", byte);
    out += two;
  }
  return out;
}

// "0-15,32-47" from the kernel's kind of bit set.
std::string ranges(std::span<const unsigned long> words) {
  constexpr int kBits = sizeof(unsigned long) * CHAR_BIT;
  const int size = static_cast<int>(words.size()) * kBits;
  const auto is_set = [&](int bit) {
    return bit < size && (words[static_cast<std::size_t>(bit / kBits)] >> (bit % kBits) & 1) != 0;
  };
  std::string out;
  for (int first = 0; first < size; ++first) {
    if (!is_set(first)) continue;
    int last = first;
    while (is_set(last + 1)) ++last;
    if (!out.empty()) out += ',';
    out += std::to_string(first);
    if (last > first) out += '-' + std::to_string(last);
    first = last;
  }
  return out;
}

template <class Info>
Json render_fabric(const Info& info) {
  return Json{{"state", info.state},
              {"status", info.status},
              {"clique_id", info.clique_id},
              {"cluster_uuid", hex(info.cluster_uuid)}};
}

constexpr std::uint32_t kMaxRetiredPages = 1024;  // boards hold 64 of each cause

}  // namespace

int text(void* function, Device device, int, Json& value) {
  char buffer[256] = {};
  // The last byte stays ours, so that an unterminated answer is cut instead of overread.
  const int code = call<char*, unsigned>(function, device, buffer, sizeof buffer - 1);
  value = bounded(buffer);
  return code;
}

int text_of_known_size(void* function, Device device, int, Json& value) {
  char buffer[256] = {};
  const int code = call<char*>(function, device, buffer);
  value = bounded(buffer);
  return code;
}

int number(void* function, Device device, int, Json& value) {
  unsigned answer = 0;
  const int code = call<unsigned*>(function, device, &answer);
  value = answer;
  return code;
}

int number64(void* function, Device device, int, Json& value) {
  unsigned long long answer = 0;
  const int code = call<unsigned long long*>(function, device, &answer);
  value = answer;
  return code;
}

int process_count(void* function, Device device, int, Json& value) {
  unsigned answer = 0;
  const int code = call<unsigned*, void*>(function, device, &answer, nullptr);
  value = answer;
  return code == kInsufficientSize ? static_cast<int>(kSuccess) : code;  // the reference's way
}

int number_of(void* function, Device device, int parameter, Json& value) {
  unsigned answer = 0;
  const int code = call<int, unsigned*>(function, device, parameter, &answer);
  value = answer;
  return code;
}

int nothing(void* function, Device device, int, Json&) { return call<>(function, device); }

int current_and_pending(void* function, Device device, int, Json& value) {
  unsigned current = 0, pending = 0;
  const int code = call<unsigned*, unsigned*>(function, device, &current, &pending);
  value = Json{{"current", current}, {"pending", pending}};
  return code;
}

Json render(const PciInfo& pci) {
  // From the numbers: releases differ in how they write the text.
  char bus_id[32];
  std::snprintf(bus_id, sizeof bus_id, "%08x:%02x:%02x.0", pci.domain, pci.bus & 0xFF,
                pci.device & 0xFF);
  return Json{{"bus_id", bus_id}, {"device_id", pci.device_id}, {"subsystem_id", pci.subsystem_id}};
}

int pci_info(void* function, Device device, int, Json& value) {
  PciInfo info{};
  const int code = call<PciInfo*>(function, device, &info);
  value = render(info);
  return code;
}

int compute_capability(void* function, Device device, int, Json& value) {
  int major = 0, minor = 0;
  const int code = call<int*, int*>(function, device, &major, &minor);
  value = std::to_string(major) + "." + std::to_string(minor);
  return code;
}

int memory(void* function, Device device, int, Json& value) {
  Memory info{};
  const int code = call<Memory*>(function, device, &info);
  value = Json{{"total", info.total}, {"free", info.free}, {"used", info.used}};
  return code;
}

int memory_v2(void* function, Device device, int, Json& value) {
  MemoryV2 info{};
  info.version = struct_version<MemoryV2>(2);
  const int code = call<MemoryV2*>(function, device, &info);
  value = Json{
      {"total", info.total}, {"reserved", info.reserved}, {"free", info.free}, {"used", info.used}};
  return code;
}

int bar1_memory(void* function, Device device, int, Json& value) {
  Bar1Memory info{};
  const int code = call<Bar1Memory*>(function, device, &info);
  value = Json{{"total", info.total}, {"free", info.free}, {"used", info.used}};
  return code;
}

int power_constraints(void* function, Device device, int, Json& value) {
  unsigned min = 0, max = 0;
  const int code = call<unsigned*, unsigned*>(function, device, &min, &max);
  value = Json{{"min", min}, {"max", max}};
  return code;
}

int temperature_v1(void* function, Device device, int, Json& value) {
  TemperatureV1 info{};
  info.version = struct_version<TemperatureV1>(1);
  const int code = call<TemperatureV1*>(function, device, &info);
  value = info.celsius;
  return code;
}

int utilization(void* function, Device device, int, Json& value) {
  Utilization info{};
  const int code = call<Utilization*>(function, device, &info);
  value = Json{{"gpu", info.gpu}, {"memory", info.memory}};
  return code;
}

int ecc_total(void* function, Device device, int counter, Json& value) {
  unsigned long long answer = 0;
  const int code =
      call<int, int, unsigned long long*>(function, device, counter >> 8, counter & 0xFF, &answer);
  value = answer;
  return code;
}

int sram_errors(void* function, Device device, int, Json& value) {
  SramErrorsV1 info{};
  info.version = struct_version<SramErrorsV1>(1);
  const int code = call<SramErrorsV1*>(function, device, &info);
  value = Json{
      {"aggregate_uncorrected_parity", info.aggregate_uncorrected_parity},
      {"aggregate_uncorrected_secded", info.aggregate_uncorrected_secded},
      {"aggregate_corrected", info.aggregate_corrected},
      {"volatile_uncorrected_parity", info.volatile_uncorrected_parity},
      {"volatile_uncorrected_secded", info.volatile_uncorrected_secded},
      {"volatile_corrected", info.volatile_corrected},
      {"threshold_exceeded", info.threshold_exceeded != 0},
  };
  return code;
}

int remapped_rows(void* function, Device device, int, Json& value) {
  unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;
  const int code = call<unsigned*, unsigned*, unsigned*, unsigned*>(
      function, device, &corrected, &uncorrected, &pending, &failed);
  value = Json{{"corrected", corrected},
               {"uncorrected", uncorrected},
               {"pending", pending != 0},
               {"failed", failed != 0}};
  return code;
}

int row_remapper_histogram(void* function, Device device, int, Json& value) {
  RowRemapperHistogram info{};
  const int code = call<RowRemapperHistogram*>(function, device, &info);
  value = Json{{"max", info.max},
               {"high", info.high},
               {"partial", info.partial},
               {"low", info.low},
               {"none", info.none}};
  return code;
}

int retired_pages(void* function, Device device, int cause, Json& value) {
  std::vector<unsigned long long> addresses(kMaxRetiredPages);
  unsigned count = kMaxRetiredPages;
  const int code =
      call<int, unsigned*, unsigned long long*>(function, device, cause, &count, addresses.data());
  value = Json{{"count", count}};
  return code;
}

int retired_pages_v2(void* function, Device device, int cause, Json& value) {
  std::vector<unsigned long long> addresses(kMaxRetiredPages), timestamps(kMaxRetiredPages);
  unsigned count = kMaxRetiredPages;
  const int code = call<int, unsigned*, unsigned long long*, unsigned long long*>(
      function, device, cause, &count, addresses.data(), timestamps.data());
  value = Json{{"count", count}};
  return code;
}

int fabric_info(void* function, Device device, int, Json& value) {
  FabricInfoV1 info{};
  const int code = call<FabricInfoV1*>(function, device, &info);
  value = render_fabric(info);
  return code;
}

int fabric_info_v2(void* function, Device device, int, Json& value) {
  FabricInfoV2 info{};
  info.version = struct_version<FabricInfoV2>(2);
  const int code = call<FabricInfoV2*>(function, device, &info);
  value = render_fabric(info);
  value["health_mask"] = info.health_mask;
  return code;
}

int fabric_info_v3(void* function, Device device, int, Json& value) {
  FabricInfoV3 info{};
  info.version = struct_version<FabricInfoV3>(3);
  const int code = call<FabricInfoV3*>(function, device, &info);
  value = render_fabric(info);
  value["health_mask"] = info.health_mask;
  value["health_summary"] = info.health_summary;
  return code;
}

int cpu_affinity(void* function, Device device, int, Json& value) {
  std::array<unsigned long, 64> words{};  // 4096 CPUs
  const int code = call<unsigned, unsigned long*>(function, device, words.size(), words.data());
  value = ranges(words);
  return code;
}

int memory_affinity(void* function, Device device, int, Json& value) {
  constexpr unsigned kScopeNode = 0;
  std::array<unsigned long, 16> words{};
  const int code = call<unsigned, unsigned long*, unsigned>(function, device, words.size(),
                                                            words.data(), kScopeNode);
  value = ranges(words);
  return code;
}

int attributes(void* function, Device device, int, Json& value) {
  DeviceAttributes info{};
  const int code = call<DeviceAttributes*>(function, device, &info);
  value = Json{{"multiprocessors", info.multiprocessors},
               {"copy_engines", info.copy_engines},
               {"gpu_slices", info.gpu_slices},
               {"compute_slices", info.compute_slices},
               {"memory_mib", info.memory_mib}};
  return code;
}

}  // namespace gpuready::nvml
