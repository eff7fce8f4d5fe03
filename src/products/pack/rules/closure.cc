#include "pack/rules/closure.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/paths.h"
#include "base/text.h"

namespace gpuready::pack {
namespace {

bool is_library_name(std::string_view name) {
  return name.ends_with(".so") || contains(name, ".so.");
}
// "libcudnn_ops" of "libcudnn_ops.so.9.1.0".
std::string_view stem_of(std::string_view name) { return name.substr(0, name.find(".so")); }
// "9" of it: the major version, which is what libraries are opened by.
std::string_view major_of(std::string_view name) {
  const auto at = name.find(".so.");
  if (at == std::string_view::npos) return {};
  const auto rest = name.substr(at + 4);
  return rest.substr(0, rest.find('.'));
}

// glibc's libraries, the loader, the compilers' run time, and what comes with a driver.
constexpr std::string_view kSystem[] = {
    "libc.so",     "libm.so",      "libpthread.so", "libdl.so",        "librt.so",
    "libutil.so",  "libresolv.so", "libmvec.so",    "libanl.so",       "ld-linux-x86-64.so",
    "libgcc_s.so", "libstdc++.so", "libcuda.so",    "libnvidia-ml.so", "ld-linux-aarch64.so",
};
bool is_system(std::string_view name) {
  return std::any_of(std::begin(kSystem), std::end(kSystem),
                     [&](std::string_view known) { return name.starts_with(known); });
}

// Libraries that open others by name while they run. "{}" is the major version of the one that
// opens; a name without a version is opened as it is. Sources: NVIDIA cuDNN, "Library organization"
// of 8 and 9; ONNX Runtime, "Build", CUDA execution provider; NVRTC, "Installation"; TensorRT,
// "Installing".
struct ByName {
  std::string_view opener;  // its stem
  std::string_view major;   // of the opener; empty: any
  std::vector<std::string_view> opened;
};
const std::vector<ByName>& opened_by_name() {
  static const std::vector<ByName> table = {
      {"libcudnn",
       "9",
       {"libcudnn_graph.so", "libcudnn_ops.so", "libcudnn_cnn.so", "libcudnn_adv.so",
        "libcudnn_heuristic.so", "libcudnn_engines_precompiled.so",
        "libcudnn_engines_runtime_compiled.so"}},
      {"libcudnn",
       "8",
       {"libcudnn_ops_infer.so", "libcudnn_ops_train.so", "libcudnn_cnn_infer.so",
        "libcudnn_cnn_train.so", "libcudnn_adv_infer.so", "libcudnn_adv_train.so"}},
      {"libonnxruntime",
       "",
       {"libonnxruntime_providers_shared.so", "libonnxruntime_providers_cuda.so"}},
      {"libonnxruntime_providers_cuda", "", {"libonnxruntime_providers_shared.so"}},
      {"libonnxruntime_providers_tensorrt", "", {"libonnxruntime_providers_shared.so"}},
      {"libnvrtc", "", {"libnvrtc-builtins.so"}},
      {"libnvinfer", "", {"libnvinfer_builder_resource.so"}},
  };
  return table;
}

// CUDA Toolkit EULA, attachment A; cuDNN SLA; NCCL is under BSD. Stems, of which some stand for a
// family.
constexpr std::string_view kRedistributable[] = {
    "libcudart", "libcufft",    "libcufftw",         "libcublas",     "libcublasLt",
    "libnvblas", "libcusparse", "libcusolver",       "libcusolverMg", "libcurand",
    "libnvjpeg", "libnvrtc",    "libnvrtc-builtins", "libnvJitLink",  "libnvfatbin",
    "libcupti",  "libcufile",   "libcufile_rdma",    "libnvToolsExt", "libnccl",
};
constexpr std::string_view kRedistributableFamilies[] = {"libnpp", "libcudnn"};
constexpr std::string_view kDriver[] = {
    "libcuda",       "libcudadebugger",     "libnvcuvid",       "libnvoptix",     "libGLX_nvidia",
    "libEGL_nvidia", "libGLESv1_CM_nvidia", "libGLESv2_nvidia", "libvdpau_nvidia"};

bool is_kernel_module(std::string_view name) {
  return name.starts_with("nvidia") && contains(name, ".ko");
}
bool is_licence_text(std::string_view path) {
  const std::string name = to_lower(base_name(path));
  return contains(name, "licen") || contains(name, "eula") || contains(name, "copying");
}

bool has(const std::set<std::string_view>& names, std::string_view stem, std::string_view major) {
  return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
    return stem_of(name) == stem && (major.empty() || major_of(name) == major);
  });
}

// "$ORIGIN/../lib" beside its file; nothing: an absolute path.
std::optional<std::string_view> beside_origin(std::string_view path) {
  for (const std::string_view origin : {"$ORIGIN", "${ORIGIN}"})
    if (const auto rest = after_prefix(path, origin);
        rest && (rest->empty() || rest->front() == '/'))
      return rest;
  return std::nullopt;
}

// Of "/../lib" from the folder of a file: "a/lib"; nothing where that leads out.
std::optional<std::string> led_to(std::string_view file, std::string_view rest) {
  std::vector<std::string> parts;
  for (const auto part : split(file, "/")) parts.emplace_back(part);
  if (!parts.empty()) parts.pop_back();
  for (const auto part : split(rest, "/")) {
    if (part == ".") continue;
    if (part != "..") {
      parts.emplace_back(part);
    } else {
      if (parts.empty()) return std::nullopt;
      parts.pop_back();
    }
  }
  return join(parts, "/");
}

bool link_stays_inside(const FolderLink& link) {
  if (link.target.starts_with('/')) return false;
  auto depth = std::count(link.path.begin(), link.path.end(), '/');
  for (const auto part : split(link.target, "/")) {
    depth += part == ".." ? -1 : part == "." ? 0 : 1;
    if (depth < 0) return false;
  }
  return true;
}

class Check {
 public:
  Check(const Inspection& folder, std::span<const std::string> system)
      : folder_(folder), system_(system) {
    for (const std::string& path : folder.names) {
      names_.insert(base_name(path));
      paths_.insert(path);
    }
  }

  std::vector<ClosureProblem> run() {
    for (const FolderLink& link : folder_.links) check_link(link);
    for (const std::string& path : folder_.names) check_owner(path);
    for (const FileReport& file : folder_.files)
      if (file.elf) check_needs(file.path, *file.elf);
    for (const std::string& path : folder_.names) check_opened(path);
    check_licence();
    return std::move(problems_);
  }

 private:
  void add(ClosureFault fault, std::string_view file, std::string text) {
    problems_.push_back({fault, std::string(file), std::move(text)});
  }
  bool is_declared(std::string_view name) const {
    return is_system(name) || std::find(system_.begin(), system_.end(), name) != system_.end();
  }

  void check_link(const FolderLink& link) {
    if (!link_stays_inside(link)) {
      add(ClosureFault::link_outside, link.path,
          fmt::format("it leads to {}, outside the folder: put the file itself there",
                      link.target));
    } else if (link.dangling) {
      add(ClosureFault::dangling_link, link.path,
          fmt::format("it points to {}, which does not exist", link.target));
    }
  }

  void check_owner(const std::string& path) {
    const auto name = base_name(path);
    if (ownership_of(name) == Ownership::driver)
      add(ClosureFault::driver_library, path,
          "it belongs to NVIDIA's driver and must be that of the target machine: leave it out");
  }

  void check_licence() {
    const auto& names = folder_.names;
    const auto theirs = std::ranges::find_if(names, [](const std::string& path) {
      return ownership_of(base_name(path)) == Ownership::redistributable;
    });
    if (theirs != names.end() && std::ranges::none_of(names, is_licence_text))
      add(ClosureFault::licence, *theirs,
          "NVIDIA allows it to be given on with its licence, and no licence text is in the folder: "
          "add the License.txt of the package that it is from");
  }

  void check_needs(const std::string& path, const ElfFacts& elf) {
    bool beside = false;
    for (const std::string& name : elf.needed) {
      if (names_.contains(name)) {
        beside = true;
      } else if (!is_declared(name)) {
        add(ClosureFault::missing, path,
            fmt::format("it needs {}, which is not in the folder: add it, or declare it the "
                        "system's",
                        name));
      }
    }
    // After the folder it may look outside: NVIDIA's wheels have "$ORIGIN:$ORIGIN/../../..". By
    // then it must have found what is inside.
    bool any_inside = false;
    auto wanted = elf.needed;
    std::erase_if(wanted, [&](const auto& name) { return !names_.contains(name); });
    for (const std::string& part : elf.run_path) {
      const auto rest = beside_origin(part);
      const auto inside = rest ? led_to(path, *rest) : std::nullopt;
      any_inside |= inside.has_value();
      if (inside)
        std::erase_if(wanted, [&](const auto& name) {
          return paths_.contains(inside->empty() ? name : *inside + "/" + name);
        });
      else if (!rest || !any_inside || !wanted.empty())
        add(ClosureFault::run_path, path,
            fmt::format("it looks for libraries in {}, outside the folder: set its run path to "
                        "$ORIGIN",
                        part));
    }
    if (beside && elf.run_path.empty())
      add(ClosureFault::run_path, path,
          "it needs libraries of the folder and has no run path: set $ORIGIN");
  }

  void check_opened(const std::string& path) {
    const auto name = base_name(path);
    if (!is_library_name(name)) return;
    for (const ByName& row : opened_by_name()) {
      if (row.opener != stem_of(name) || (!row.major.empty() && major_of(name) != row.major))
        continue;
      for (const std::string_view opened : row.opened) {
        // Their own versions are those of the opener where the table says which it is.
        if (has(names_, stem_of(opened), row.major) || is_declared(opened)) continue;
        const std::string wanted =
            row.major.empty() ? std::string(opened) : fmt::format("{}.{}", opened, row.major);
        if (!is_declared(wanted) && said_.insert({std::string(row.opener), wanted}).second)
          add(ClosureFault::missing_by_name, path,
              fmt::format("it opens {} by name, which is not in the folder: add it, or declare it "
                          "the system's",
                          wanted));
      }
    }
  }

  const Inspection& folder_;
  std::span<const std::string> system_;
  std::set<std::string_view> names_;
  std::set<std::string, std::less<>> paths_;
  std::set<std::pair<std::string, std::string>> said_;  // of a library and its links one speaks
  std::vector<ClosureProblem> problems_;
};

}  // namespace

std::string_view to_string(ClosureFault fault) {
  constexpr std::array<std::string_view, 7> kNames = {
      "missing",      "missing_by_name", "run_path", "dangling_link",
      "link_outside", "driver_library",  "licence"};
  return kNames[static_cast<std::size_t>(fault)];
}

Ownership ownership_of(std::string_view name) {
  if (is_kernel_module(name)) return Ownership::driver;
  if (!is_library_name(name)) return Ownership::other;
  const auto stem = stem_of(name);
  if (stem.starts_with("libnvidia-") || stem.starts_with("libnvidia_") ||
      std::find(std::begin(kDriver), std::end(kDriver), stem) != std::end(kDriver))
    return Ownership::driver;
  const auto begins = [&](std::string_view prefix) { return stem.starts_with(prefix); };
  if (std::find(std::begin(kRedistributable), std::end(kRedistributable), stem) !=
          std::end(kRedistributable) ||
      std::any_of(std::begin(kRedistributableFamilies), std::end(kRedistributableFamilies), begins))
    return Ownership::redistributable;
  return Ownership::other;
}

std::vector<ClosureProblem> check_closure(const Inspection& folder,
                                          std::span<const std::string> system) {
  return Check(folder, system).run();
}

}  // namespace gpuready::pack
