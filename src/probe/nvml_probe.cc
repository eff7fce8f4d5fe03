// Asks NVML: the driver, then each GPU. A GPU that cannot be had is reported, and the next one
// asked.
//
// Arguments: --only ADDRESS[,ADDRESS...]  by PCI address alone, so that a suspended GPU is not
// woken
//                                         (may be given again; then no pairs are asked)
//            --links                      also NVLink
//            --full                       everything
#include <dirent.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "base/text.h"
#include "probe/nvml_adapters.h"
#include "probe/nvml_session.h"
#include "probe/probes.h"

namespace gpuready {
namespace nvml {
namespace {

constexpr unsigned kMaxDevices = 1024;
constexpr unsigned kVirtualGpu = 2;  // nvmlGpuVirtualizationMode_t

struct Options {
  bool full = false, links = false, only = false;
  std::vector<std::string> addresses;
};

Options parse(std::span<const std::string> args) {
  Options options;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i] == "--full") {
      options.full = options.links = true;
    } else if (args[i] == "--links") {
      options.links = true;
    } else if (args[i] == "--only") {
      options.only = true;  // also without an address: then nothing is asked by index
      if (i + 1 < args.size())
        for (const auto part : split(args[++i], ",")) options.addresses.emplace_back(part);
    }
  }
  return options;
}

// A call without a device, by the first symbol that the library has.
int ask_number(Session& session, std::initializer_list<const char*> symbols, unsigned& answer) {
  for (const char* symbol : symbols) {
    const auto key = call_key(symbol);
    auto* function = function_or_missing<int(unsigned*)>(session, symbol, key);
    if (function == nullptr) continue;
    return ask(session.writer, key, [&](Json& value) {
      const int code = function(&answer);
      value = answer;
      return code;
    });
  }
  return kFunctionNotFound;
}

std::string ask_text(Session& session, const char* symbol) {
  const auto key = call_key(symbol);
  auto* function = function_or_missing<int(char*, unsigned)>(session, symbol, key);
  std::string answer;
  if (function == nullptr) return answer;
  ask(session.writer, key, [&](Json& value) {
    char buffer[128] = {};
    const int code = function(buffer, sizeof buffer - 1);
    answer = bounded(buffer);
    value = answer;
    return code;
  });
  return answer;
}

bool init(Session& session) {
  for (const char* symbol : {"nvmlInit_v2", "nvmlInit"}) {
    const auto key = call_key(symbol);
    auto* function = function_or_missing<int()>(session, symbol, key);
    if (function == nullptr) continue;
    return ask(session.writer, key, [&](Json&) { return function(); }) == kSuccess;
  }
  return false;
}

// ---- the system
void ask_confidential_computing(Session& session) {
  constexpr const char* kSymbol = "nvmlSystemGetConfComputeState";
  const auto key = call_key(kSymbol);
  auto* function = function_or_missing<int(ConfComputeState*)>(session, kSymbol, key);
  if (function == nullptr) return;
  ConfComputeState state{};
  const int code = ask(session.writer, key, [&](Json& value) {
    const int answer = function(&state);
    value = Json{{"environment", state.environment},
                 {"feature", state.feature},
                 {"dev_tools", state.dev_tools}};
    return answer;
  });
  unsigned ready = 0;
  if (code == kSuccess && state.feature != 0)
    ask_number(session, {"nvmlSystemGetConfComputeGpusReadyState"}, ready);
}

void ask_excluded(Session& session) {
  constexpr const char* kSymbol = "nvmlGetExcludedDeviceInfoByIndex";
  unsigned count = 0;
  if (ask_number(session, {"nvmlGetExcludedDeviceCount"}, count) != kSuccess) return;
  auto* function = session.library.function<int(unsigned, ExcludedDevice*)>(kSymbol);
  for (unsigned i = 0; function != nullptr && i < std::min(count, kMaxDevices); ++i)
    ask(session.writer, call_key(kSymbol, std::to_string(i)), [&](Json& value) {
      ExcludedDevice info{};
      const int code = function(i, &info);
      value = render(info.pci);
      value["uuid"] = bounded(info.uuid);
      return code;
    });
}

// ---- handles
std::optional<Target> handle_by_index(Session& session, unsigned index) {
  for (const char* symbol : {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"}) {
    auto* function = session.library.function<int(unsigned, Device*)>(symbol);
    if (function == nullptr) continue;
    Target target{nullptr, std::to_string(index)};
    const int code = ask(session.writer, call_key(symbol, target.id),
                         [&](Json&) { return function(index, &target.handle); });
    if (code != kSuccess) return std::nullopt;
    return target;
  }
  return std::nullopt;
}

std::optional<Target> handle_by_address(Session& session, const std::string& address) {
  for (const char* symbol : {"nvmlDeviceGetHandleByPciBusId_v2", "nvmlDeviceGetHandleByPciBusId"}) {
    auto* function = session.library.function<int(const char*, Device*)>(symbol);
    if (function == nullptr) continue;
    Target target{nullptr, address};
    const int code = ask(session.writer, call_key(symbol, address),
                         [&](Json&) { return function(address.c_str(), &target.handle); });
    if (code != kSuccess) return std::nullopt;
    return target;
  }
  return std::nullopt;
}

void ask_index(Session& session, const Target& target) {
  constexpr const char* kSymbol = "nvmlDeviceGetIndex";
  auto* function = session.library.function<int(Device, unsigned*)>(kSymbol);
  if (function == nullptr) return;
  ask(session.writer, call_key(kSymbol, target.id), [&](Json& value) {
    unsigned index = 0;
    const int code = function(target.handle, &index);
    value = index;
    return code;
  });
}

// As procfs names the GPU's folder.
std::optional<std::string> address_of(Session& session, const Target& target) {
  auto* function = session.library.function<int(Device, PciInfo*)>("nvmlDeviceGetPciInfo_v3");
  PciInfo info{};
  if (function == nullptr || function(target.handle, &info) != kSuccess) return std::nullopt;
  char text[32];
  std::snprintf(text, sizeof text, "%04x:%02x:%02x.0", info.domain, info.bus & 0xFF,
                info.device & 0xFF);
  return text;
}

// An index says nothing about which GPU it is that could not be had. So the GPUs that the kernel
// driver knows, and NVML has not given, are asked for by address: the code then has a name.
void ask_for_the_lost(Session& session, const std::vector<Target>& found) {
  std::set<std::string> known;
  for (const auto& target : found)
    if (const auto address = address_of(session, target)) known.insert(*address);
  DIR* folder = opendir("/proc/driver/nvidia/gpus");
  if (folder == nullptr) return;
  std::set<std::string> lost;
  while (const dirent* entry = readdir(folder)) {
    const std::string address = to_lower(entry->d_name);
    if (address.ends_with(".0") && !known.contains(address)) lost.insert(address);
  }
  closedir(folder);
  for (const auto& address : lost) handle_by_address(session, address);
}

// ---- one device
void ask_license(Session& session, const Target& target) {
  auto* mode = session.library.function<int(Device, unsigned*)>("nvmlDeviceGetVirtualizationMode");
  unsigned virtualization = 0;
  if (mode == nullptr || mode(target.handle, &virtualization) != kSuccess ||
      virtualization != kVirtualGpu)
    return;
  constexpr const char* kSymbol = "nvmlDeviceGetGridLicensableFeatures_v4";
  const auto key = call_key(kSymbol, target.id);
  auto* function = function_or_missing<int(Device, LicensableFeatures*)>(session, kSymbol, key);
  if (function == nullptr) return;
  ask(session.writer, key, [&](Json& value) {
    LicensableFeatures info{};
    const int code = function(target.handle, &info);
    value = Json{{"supported", info.supported != 0}, {"features", Json::array()}};
    for (unsigned i = 0; i < std::min<unsigned>(info.count, std::size(info.features)); ++i) {
      const auto& feature = info.features[i];
      value["features"].push_back(Json{{"code", feature.code},
                                       {"state", feature.state},
                                       {"enabled", feature.enabled != 0},
                                       {"product", bounded(feature.product)},
                                       {"license", bounded(feature.license)},
                                       {"expiry_status", feature.expiry.status}});
    }
    return code;
  });
}

void ask_target(Session& session, const Target& target) {
  ask_device(session, target);
  ask_fields(session, target);
  ask_mig(session, target);
  if (session.links) ask_links(session, target);
  if (!session.full) return;
  ask_processes(session, target);
  ask_license(session, target);
}

std::vector<Target> targets_by_index(Session& session) {
  std::vector<Target> targets;
  unsigned count = 0;
  if (ask_number(session, {"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"}, count) != kSuccess)
    return targets;
  count = std::min(count, kMaxDevices);
  for (unsigned i = 0; i < count; ++i)
    if (auto target = handle_by_index(session, i)) targets.push_back(std::move(*target));
  if (targets.size() < count) ask_for_the_lost(session, targets);
  return targets;
}

std::vector<Target> targets_by_address(Session& session,
                                       const std::vector<std::string>& addresses) {
  std::vector<Target> targets;
  for (const auto& address : addresses)
    if (auto target = handle_by_address(session, address)) {
      ask_index(session, *target);
      targets.push_back(std::move(*target));
    }
  return targets;
}

void run(ProbeWriter& writer, std::span<const std::string> args) {
  const auto options = parse(args);
  // Under WSL 2 the library lies where not every distribution's loader looks.
  const auto library = ProbeLibrary::load(writer, "libnvidia-ml.so.1", "GPUREADY_LIBNVML",
                                          {"/usr/lib/wsl/lib/libnvidia-ml.so.1"});
  if (!library) return;
  Session session{*library, writer, options.full, options.links, {}};
  if (!init(session)) return;
  session.driver_version = ask_text(session, "nvmlSystemGetDriverVersion");
  unsigned cuda_version = 0;
  ask_number(session, {"nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion"},
             cuda_version);
  if (session.full) {
    ask_text(session, "nvmlSystemGetNVMLVersion");
    ask_confidential_computing(session);
    ask_excluded(session);
  }
  const auto targets =
      options.only ? targets_by_address(session, options.addresses) : targets_by_index(session);
  for (const auto& target : targets) ask_target(session, target);
  if (options.full && !options.only) ask_pairs(session, targets);
  // No nvmlShutdown: the process ends, and a broken driver has hung in it.
}

}  // namespace
}  // namespace nvml

void probe_nvml(ProbeWriter& writer, std::span<const std::string> args) { nvml::run(writer, args); }

}  // namespace gpuready
