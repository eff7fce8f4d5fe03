#include "jobs/helper.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string_view>

namespace gpuready {
namespace {
constexpr const char* kInstallFolders[] = {"/usr/local/bin", "/usr/bin", "/opt/gpuready/bin"};

bool executable(const std::string& path) { return access(path.c_str(), X_OK) == 0; }

// Where an installation keeps it, seen from the folder that libgpuready.so was loaded from.
constexpr const char* kFromLibrary[] = {"gpuready", "../bin/gpuready", "../../bin/gpuready"};
std::string beside_library() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&helper_path), &info) == 0 || info.dli_fname == nullptr)
    return {};
  const std::string_view self(info.dli_fname);
  if (!self.starts_with('/')) return {};  // relative to a folder that may have changed
  const auto slash = self.rfind('/');
  for (const char* name : kFromLibrary) {
    std::string path = std::string(self.substr(0, slash + 1)) + name;
    if (executable(path)) return path;
  }
  return {};
}

bool g_is_own_helper = false;

// The file that this code was mapped from. Not /proc/self/exe where the loader was told to start
// the program ("ld-linux-x86-64.so.2 ./gpuready"): that is the loader then.
std::string own_file() {
  const auto here = reinterpret_cast<std::uintptr_t>(&helper_path);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0, end = 0;
    int path = 0;
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " %*s %*s %*s %*s %n", &begin, &end,
                    &path) != 2)
      continue;
    if (here >= begin && here < end) return line.substr(static_cast<std::size_t>(path));
  }
  return {};
}

// Of every child that may load a vendor's library.
const std::pair<std::string, std::optional<std::string>> kVendorVariables[] = {
    // cuInit joins the MPS server of the control daemon whose pipes are in this folder, and has the
    // daemon start one, or end one that serves another user. Under /dev/null there can be none, and
    // CUDA goes on without (nvidia-cuda-mps-control(1)). This holds also where the user has set the
    // variable: through MPS a test would see a part of the GPU, and disturb who uses the rest.
    {"CUDA_MPS_PIPE_DIRECTORY", "/dev/null"},
    // NVLink multicast is never used (docs/bandwidth-test.md).
    {"NCCL_NVLS_ENABLE", "0"},
};
}  // namespace

Job helper_job(std::vector<std::string> args) {
  Job job;
  job.program = helper_path();
  job.args = std::move(args);
  job.env.assign(std::begin(kVendorVariables), std::end(kVendorVariables));
  job.channel = true;
  return job;
}

void be_own_helper() { g_is_own_helper = true; }

std::string helper_path() {
  // Not for a program with more rights than its caller, who would choose what it runs.
  if (const char* chosen = secure_getenv("GPUREADY_HELPER"); chosen != nullptr && *chosen != 0)
    return chosen;
  char text[4096];
  const ssize_t size = readlink("/proc/self/exe", text, sizeof text);
  if (size > 0 && static_cast<std::size_t>(size) < sizeof text) {
    std::string_view self(text, static_cast<std::size_t>(size));
    // After an upgrade under a running process the old file still starts through /proc.
    constexpr std::string_view kDeleted = " (deleted)";
    const bool deleted = self.ends_with(kDeleted);
    if (deleted) self.remove_suffix(kDeleted.size());
    if (g_is_own_helper) {
      const std::string own = deleted ? "" : own_file();
      if (!own.empty() && own != self && executable(own)) return own;
      return deleted ? "/proc/self/exe" : std::string(self);
    }
    // Another program: what its file is called says nothing, and it never starts itself.
    const std::string beside = std::string(self.substr(0, self.rfind('/') + 1)) + "gpuready";
    if (beside != self && executable(beside)) return beside;
  }
  if (std::string path = beside_library(); !path.empty()) return path;
  for (const char* folder : kInstallFolders) {
    const std::string path = std::string(folder) + "/gpuready";
    if (executable(path)) return path;
  }
  return "gpuready";  // looked up in PATH
}

}  // namespace gpuready
