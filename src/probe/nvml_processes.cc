// The processes that hold a GPU. The structure changed twice, and once by accident.
#include <algorithm>
#include <cstring>
#include <vector>

#include "probe/nvml_adapters.h"
#include "probe/nvml_session.h"

namespace gpuready::nvml {
namespace {

constexpr std::uint32_t kMaxProcesses = 256;

struct Kind {
  const char* name;
  const char* symbol;  // without its version
};
constexpr Kind kKinds[] = {{"compute", "nvmlDeviceGetComputeRunningProcesses"},
                           {"graphics", "nvmlDeviceGetGraphicsRunningProcesses"}};

struct Form {
  const char* suffix;
  std::size_t entry_bytes;
};
constexpr Form kForms[] = {
    {"_v3", sizeof(ProcessV2)}, {"_v2", sizeof(ProcessV2)}, {"", sizeof(ProcessV1)}};

// In these releases _v3 fills an entry of 32 bytes instead of 24.
bool v3_is_broken(const std::string& driver_version) {
  return driver_version.starts_with("535.43") || driver_version.starts_with("535.54") ||
         driver_version.starts_with("535.86");
}

std::size_t entry_bytes(const Form& form, const Session& session) {
  const bool v3 = form.suffix == kForms[0].suffix;
  return v3 && v3_is_broken(session.driver_version) ? sizeof(ProcessV3Of535) : form.entry_bytes;
}

// All forms begin with the process's number and its memory.
Json render(const std::byte* entry, std::size_t size) {
  ProcessV2 process{};
  process.gpu_instance = process.compute_instance = kNoInstance;
  std::memcpy(&process, entry, std::min(size, sizeof process));
  Json doc{{"pid", process.pid}};
  if (process.used_bytes != kValueNotAvailable) doc["used_bytes"] = process.used_bytes;
  if (process.gpu_instance != kNoInstance) doc["gpu_instance"] = process.gpu_instance;
  if (process.compute_instance != kNoInstance) doc["compute_instance"] = process.compute_instance;
  return doc;
}

void ask_name(Session& session, std::uint32_t pid) {
  constexpr const char* kSymbol = "nvmlSystemGetProcessName";
  auto* function = session.library.function<int(unsigned, char*, unsigned)>(kSymbol);
  if (function == nullptr) return;
  ask(session.writer, call_key(kSymbol, std::to_string(pid)), [&](Json& value) {
    char name[1024] = {};
    const int code = function(pid, name, sizeof name - 1);
    value = bounded(name);
    return code;
  });
}

// Gives the numbers of the processes told, or nothing when this form is not known here.
std::optional<std::vector<std::uint32_t>> ask_form(Session& session, const Target& target,
                                                   const Kind& kind, const Form& form) {
  const std::string symbol = std::string(kind.symbol) + form.suffix;
  const auto key = call_key(symbol, target.id);
  auto* function = function_or_missing<int(Device, unsigned*, void*)>(session, symbol.c_str(), key);
  if (function == nullptr) return std::nullopt;
  const std::size_t size = entry_bytes(form, session);
  std::vector<std::uint32_t> pids;
  const int code = ask(session.writer, key, [&](Json& value) {
    // Room for the largest form, whatever this driver writes.
    std::vector<std::byte> buffer(kMaxProcesses * sizeof(ProcessV3Of535));
    unsigned count = kMaxProcesses;
    const int answer = function(target.handle, &count, buffer.data());
    value = Json::array();
    if (answer != kSuccess) return answer;
    for (unsigned i = 0; i < std::min(count, kMaxProcesses); ++i) {
      value.push_back(render(buffer.data() + i * size, size));
      pids.push_back(value.back()["pid"].get<std::uint32_t>());
    }
    return answer;
  });
  if (code == kFunctionNotFound || code == kArgumentVersionMismatch) return std::nullopt;
  return pids;
}

}  // namespace

void ask_processes(Session& session, const Target& target) {
  std::vector<std::uint32_t> pids;
  for (const auto& kind : kKinds) {
    for (const auto& form : kForms) {
      const auto found = ask_form(session, target, kind, form);
      if (!found) continue;
      pids.insert(pids.end(), found->begin(), found->end());
      break;
    }
  }
  std::ranges::sort(pids);
  pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
  for (const auto pid : pids) ask_name(session, pid);
}

}  // namespace gpuready::nvml
