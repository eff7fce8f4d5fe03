// CUDA and ROCm toolkits, and the libraries that GPU programs load beside the driver.
#include "machine/system/toolkits.h"

#include <algorithm>
#include <set>

#include "base/json.h"
#include "base/text.h"
#include "machine/sources.h"

namespace gpuready {
namespace {
constexpr std::string_view kLibraries[] = {
    "libcudart",
    "libcublas",
    "libcublasLt",
    "libcudnn",
    "libnccl",
    "libcufft",
    "libcusparse",
    "libcusolver",
    "libcurand",
    "libnvrtc",
    "libnvinfer",
    "libcutensor",
    "libnvJitLink",
    "librocblas",
    "libhipblas",
    "libhipblaslt",
    "libMIOpen",
    "librccl",
    "libamdhip64",
    "libhsa-runtime64",
    "libvulkan",
    "libOpenCL",
    "libze_loader",
    "libze_intel_gpu",  // Intel's compute runtime; its version ends with the build's number
    "libze_intel_gpu_legacy1",
    "libGL",
    "libEGL",
    "libnvidia-container",  // of the container toolkit, in the toolkit's version
};
constexpr const char* kFolders[] = {
    "/usr/local/cuda/lib64",
    "/usr/local/cuda/targets/x86_64-linux/lib",
    "/usr/local/cuda/targets/sbsa-linux/lib",
    "/opt/cuda/lib64",
    "/opt/rocm/lib",
    "/usr/local/lib",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/nvidia/toolkit",  // where the GPU operator installs it
};
constexpr std::size_t kMostSearchFolders = 32;

std::vector<std::string> folders_in(const std::optional<std::string>& variable) {
  std::vector<std::string> out;
  if (!variable) return out;
  for (const auto folder : split(*variable, ":"))
    if (folder.starts_with('/') && out.size() < kMostSearchFolders) out.emplace_back(folder);
  return out;
}

std::string parent(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == path.npos || slash == 0 ? "/" : path.substr(0, slash);
}

// Where PATH finds a program, links resolved.
std::optional<std::string> on_path(Host& host, const char* program) {
  for (const auto& folder : folders_in(host.environment("PATH"))) {
    const std::string path = folder + "/" + program;
    if (host.exists(path)) return host.real_path(path).value_or(path);
  }
  return std::nullopt;
}

// Debian's package keeps nvcc here, and the libraries among the system's.
constexpr std::string_view kDebianRoot = "/usr/lib/nvidia-cuda-toolkit";
constexpr const char* kLibrariesOfToolkit[] = {"/lib64", "/lib", "/targets/x86_64-linux/lib",
                                               "/targets/sbsa-linux/lib"};
constexpr const char* kLibrariesOfDebian[] = {"/usr/lib/x86_64-linux-gnu",
                                              "/usr/lib/aarch64-linux-gnu"};

// By the full name of its runtime: "12.4.127" of libcudart.so.12.4.127.
std::optional<std::string> version_of_runtime(Host& host, const std::string& folder) {
  const auto names = host.list_directory(folder);
  if (!names) return std::nullopt;
  for (const auto& library : pick_libraries(folder, *names))
    if (library.name.starts_with("libcudart.so.") && contains(*library.version, "."))
      return library.version;
  return std::nullopt;
}

// Read, never asked of nvcc: variables and PATH lead to it, and whoever set them would choose what
// root runs.
std::optional<std::string> cuda_version(Host& host, const std::string& root) {
  if (const auto text = host.read_file(root + "/version.json"))
    if (auto version = parse_cuda_version_json(*text)) return version;
  if (const auto text = host.read_text(root + "/version.txt"))
    if (auto version = parse_cuda_version_txt(*text)) return version;
  if (!host.exists(root + "/bin/nvcc")) return std::nullopt;
  for (const char* folder : kLibrariesOfToolkit)
    if (auto version = version_of_runtime(host, root + folder)) return version;
  if (root == kDebianRoot)
    for (const char* folder : kLibrariesOfDebian)
      if (auto version = version_of_runtime(host, folder)) return version;
  // "/usr/local/cuda-12.4"
  return find_version(root.substr(root.rfind('/') + 1));
}

void add_toolkit(Machine& machine, std::string kind, std::string version, std::string path,
                 bool found_on_path) {
  machine.toolkits.push_back(
      {std::move(kind), std::move(version), std::move(path), found_on_path, std::nullopt});
}

void read_cuda(Host& host, Machine& machine) {
  std::vector<std::string> candidates;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const auto root = host.environment(variable); root && root->starts_with('/'))
      candidates.push_back(*root);
  if (const auto names = host.list_directory("/usr/local"))
    for (const auto& name : *names)
      if (name.starts_with("cuda")) candidates.push_back("/usr/local/" + name);
  candidates.emplace_back("/opt/cuda");
  const auto nvcc = on_path(host, "nvcc");
  if (nvcc) candidates.push_back(parent(parent(*nvcc)));

  std::set<std::string> seen;
  for (const auto& candidate : candidates) {
    if (!host.exists(candidate)) continue;
    const auto root = host.real_path(candidate).value_or(candidate);
    if (!seen.insert(root).second) continue;
    const bool first = nvcc && parent(parent(*nvcc)) == root;
    if (const auto version = cuda_version(host, root))
      add_toolkit(machine, "cuda", *version, root, first);
  }
}

void read_rocm(Host& host, Machine& machine) {
  std::vector<std::string> candidates{"/opt/rocm"};
  if (const auto root = host.environment("ROCM_PATH"); root && root->starts_with('/'))
    candidates.push_back(*root);
  if (const auto names = host.list_directory("/opt"))
    for (const auto& name : *names)
      if (name.starts_with("rocm-")) candidates.push_back("/opt/" + name);
  std::optional<std::string> hipcc;
  std::set<std::string> seen;
  for (const auto& candidate : candidates) {
    const auto text = host.read_text(candidate + "/.info/version");
    if (!text) continue;
    const auto root = host.real_path(candidate).value_or(candidate);
    if (!seen.insert(root).second) continue;
    if (!hipcc) hipcc = on_path(host, "hipcc").value_or("");
    const auto end = text->find_first_not_of("0123456789.");
    add_toolkit(machine, "rocm", text->substr(0, end), root, hipcc->starts_with(root + "/"));
  }
}

// Specifications of nvidia-ctk cdi generate, of nvidia-cdi-refresh, and of Kubernetes' device
// plugin and GPU operator. A kind of devices in the first folder hides that of the second.
constexpr std::string_view kCdiFolders[] = {"/var/run/cdi/", "/etc/cdi/"};
constexpr std::string_view kCdiFiles[] = {"nvidia.yaml", "nvidia.json", "nvidia.com-gpu.yaml",
                                          "management.nvidia.com-gpu.yaml",
                                          "k8s.device-plugin.nvidia.com-gpu.json"};

void read_cdi(Host& host, Machine& machine) {
  std::set<std::string> seen;
  for (const auto folder : kCdiFolders)
    for (const auto file : kCdiFiles) {
      const std::string path = std::string(folder) + std::string(file);
      const auto text = host.read_text(path);
      const auto spec = text ? parse_cdi(*text) : std::nullopt;
      if (spec && seen.insert(spec->kind).second)
        machine.toolkits.push_back({.kind = "cdi",
                                    .version = spec->version,
                                    .path = path,
                                    .on_path = false,
                                    .driver_version = spec->driver_version});
    }
}

void read_libraries(Host& host, Machine& machine) {
  auto folders = folders_in(host.environment("LD_LIBRARY_PATH"));
  folders.insert(folders.end(), std::begin(kFolders), std::end(kFolders));
  std::set<std::string> seen;
  for (const auto& folder : folders) {
    const auto names = host.list_directory(folder);
    if (!names) continue;
    for (auto& library : pick_libraries(folder, *names)) {
      // Two folders may be links to one.
      const auto real = host.real_path(*library.real_path);
      if (real) library.real_path = *real;
      if (seen.insert(*library.real_path).second) machine.libraries.push_back(std::move(library));
    }
  }
}
}  // namespace

std::optional<std::string> parse_cuda_version_json(std::string_view text) {
  const auto doc = parse_json(text, "version.json", 1u << 20);
  if (!doc) return std::nullopt;
  const auto version = get_string(member(*doc, "cuda"), "version");
  if (!version || !parse_version(*version)) return std::nullopt;
  return version;
}

std::optional<std::string> parse_cuda_version_txt(std::string_view text) {
  const auto version = after_prefix(trim(text), "CUDA Version ").value_or("");
  if (!parse_version(version)) return std::nullopt;
  return std::string(trim(version));
}

std::optional<CdiSpec> parse_cdi(std::string_view text) {
  const auto value_of = [&](std::string_view key) -> std::string {
    const auto at = text.find(key);
    if (at == text.npos) return {};
    const auto rest = text.substr(at + key.size()).substr(0, 80);
    const auto begin = rest.find_first_not_of("\"': \t");
    if (begin == rest.npos) return {};
    return std::string(rest.substr(begin, rest.find_first_of("\"', \t\r\n}", begin) - begin));
  };
  CdiSpec spec{.version = value_of("cdiVersion"), .kind = value_of("kind")};
  constexpr std::string_view kKinds[] = {"nvidia.com/gpu", "management.nvidia.com/gpu",
                                         "k8s.device-plugin.nvidia.com/gpu",
                                         "runtime.nvidia.com/gpu"};
  if (!parse_version(spec.version) || std::ranges::find(kKinds, spec.kind) == std::end(kKinds))
    return std::nullopt;
  constexpr std::string_view kLibrary = "libcuda.so.";
  for (auto at = text.find(kLibrary); at != text.npos; at = text.find(kLibrary, at + 1)) {
    const auto rest = text.substr(at + kLibrary.size());
    const auto version = rest.substr(0, rest.find_first_not_of("0123456789."));
    constexpr std::size_t kLeast = 6;  // "470.42": not ".1", nor a Jetson's ".1.1"
    if (version.size() < kLeast || !parse_version(version)) continue;
    spec.driver_version = std::string(version);
    break;
  }
  return spec;
}

std::vector<LibraryFile> pick_libraries(const std::string& folder,
                                        const std::vector<std::string>& names) {
  struct Found {
    std::string_view shortest, longest;
  };
  std::map<std::string_view, Found> found;  // by "libcudnn.so.9": majors live side by side
  for (const std::string_view name : names) {
    const auto so = name.find(".so.");
    if (so == name.npos) continue;
    if (std::find(std::begin(kLibraries), std::end(kLibraries), name.substr(0, so)) ==
        std::end(kLibraries))
      continue;
    const auto version = name.substr(so + 4);
    if (!parse_version(version)) continue;
    const auto major = name.substr(0, so + 4 + version.substr(0, version.find('.')).size());
    auto& entry = found[major];
    if (entry.shortest.empty() || name.size() < entry.shortest.size()) entry.shortest = name;
    if (name.size() > entry.longest.size()) entry.longest = name;
  }
  std::vector<LibraryFile> out;
  for (const auto& [major, entry] : found) {
    LibraryFile library;
    library.name = entry.shortest;
    library.path = folder + "/" + library.name;
    library.real_path = folder + "/" + std::string(entry.longest);
    library.version = std::string(entry.longest.substr(entry.longest.find(".so.") + 4));
    out.push_back(std::move(library));
  }
  return out;
}

void read_toolkits(Host& host, Machine& machine) {
  read_cuda(host, machine);
  read_rocm(host, machine);
  if (machine.nvidia.module_version) read_cdi(host, machine);
  // Listing the system's library folders takes milliseconds.
  if (machine.full) read_libraries(host, machine);
}

}  // namespace gpuready
