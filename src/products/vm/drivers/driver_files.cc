#include "vm/drivers/driver_files.h"

#include <algorithm>

#include "base/paths.h"
#include "base/text.h"

namespace gpuready::vm {
namespace {

using enum Capability;

struct Library {
  std::string_view stem;  // before ".so"
  std::vector<Capability> serves;
};

// Libraries that programs or other libraries load, by stem. A trailing '*' stands for any end.
const std::vector<Library>& libraries() {
  static const std::vector<Library> kLibraries = {
      {"libcuda", {compute}},
      {"libcudadebugger", {compute}},
      {"libnvidia-ml", {utility}},
      {"libnvidia-cfg", {utility}},
      {"libnvidia-nscq", {utility}},
      {"libnvidia-ptxjitcompiler", {compute}},
      {"libnvidia-nvvm*", {compute}},
      {"libnvidia-gpucomp", {compute, graphics}},
      {"libnvidia-tileiras", {compute}},
      {"libnvidia-fatbinaryloader", {compute}},
      {"libnvidia-compiler*", {compute}},
      {"libnvidia-opencl", {compute}},
      {"libnvidia-allocator", {compute, graphics}},
      {"libnvidia-pkcs11*", {compute}},
      {"libnvidia-sandboxutils", {utility}},
      {"libnvidia-encode", {video}},
      {"libnvcuvid", {video}},
      {"libnvidia-opticalflow", {video}},
      {"libvdpau_nvidia", {video}},
      {"libnvidia-present", {graphics}},
      {"libnvidia-glcore", {graphics}},
      {"libnvidia-eglcore", {graphics}},
      {"libnvidia-glsi", {graphics}},
      {"libnvidia-tls", {graphics}},
      {"libnvidia-glvkspirv", {graphics}},
      {"libnvidia-rtcore", {graphics}},
      {"libnvidia-cbl", {graphics}},
      {"libnvidia-fbc", {graphics}},
      {"libnvidia-ifr", {graphics}},
      {"libnvidia-ngx", {graphics}},
      {"libnvidia-api", {graphics}},
      {"libnvidia-vulkan-producer", {graphics}},
      {"libnvidia-vksc-core", {graphics}},
      {"libnvidia-wayland-client", {graphics}},
      {"libnvidia-egl-*", {graphics}},
      {"libnvoptix", {graphics}},
      {"libGLX_nvidia", {graphics}},
      {"libEGL_nvidia", {graphics}},
      {"libGLESv1_CM_nvidia", {graphics}},
      {"libGLESv2_nvidia", {graphics}},
      {"libglxserver_nvidia", {other}},
      {"libnvidia-gtk*", {other}},
      {"libnvidia-wayland*", {graphics}},
  };
  return kLibraries;
}

struct Program {
  std::string_view name;
  std::vector<Capability> serves;
};
const std::vector<Program>& programs() {
  static const std::vector<Program> kPrograms = {
      {"nvidia-smi", {utility}},
      {"nvidia-debugdump", {utility}},
      {"nvidia-persistenced", {utility}},
      {"nvidia-modprobe", {utility}},
      {"nv-fabricmanager", {utility}},
      {"nvidia-cuda-mps-control", {compute}},
      {"nvidia-imex", {compute}},
      {"nvidia-imex-ctl", {compute}},
      {"nvidia-cuda-mps-server", {compute}},
  };
  return kPrograms;
}

struct Data {
  std::string_view name, install_path;
  Capability serves;
};
constexpr Data kData[] = {
    {"nvidia_icd.json", "/usr/share/vulkan/icd.d/nvidia_icd.json", graphics},
    {"nvidia_layers.json", "/usr/share/vulkan/implicit_layer.d/nvidia_layers.json", graphics},
    {"10_nvidia.json", "/usr/share/glvnd/egl_vendor.d/10_nvidia.json", graphics},
    {"10_nvidia_wayland.json", "/usr/share/egl/egl_external_platform.d/10_nvidia_wayland.json",
     graphics},
    {"15_nvidia_gbm.json", "/usr/share/egl/egl_external_platform.d/15_nvidia_gbm.json", graphics},
    {"20_nvidia_xcb.json", "/usr/share/egl/egl_external_platform.d/20_nvidia_xcb.json", graphics},
    {"20_nvidia_xlib.json", "/usr/share/egl/egl_external_platform.d/20_nvidia_xlib.json", graphics},
    {"nvoptix.bin", "/usr/share/nvidia/nvoptix.bin", graphics},
    {"nvidia.icd", "/etc/OpenCL/vendors/nvidia.icd", compute},
};

struct Module {
  std::string_view name;
  std::vector<Capability> serves;
  bool has_own_version = false;
};
const std::vector<Module>& modules() {
  static const std::vector<Module> kModules = {
      {"nvidia", {compute, utility, graphics, video}},
      {"nvidia_uvm", {compute, video}},
      {"nvidia_modeset", {graphics}},
      {"nvidia_drm", {graphics}},
      {"nvidia_peermem", {other}},
      {"nvidia_fs", {other}, true},
      {"nvidia_vgpu_vfio", {other}},
  };
  return kModules;
}

const Module* find_module(std::string_view name) {
  const auto found = std::ranges::find(modules(), name, &Module::name);
  return found == modules().end() ? nullptr : &*found;
}

// Linux's own, for the backlight of laptops.
constexpr std::string_view kOfKernel = "nvidia-wmi-ec-backlight";

bool fits(std::string_view pattern, std::string_view text) {
  return pattern.ends_with('*') ? text.starts_with(pattern.substr(0, pattern.size() - 1))
                                : text == pattern;
}

struct LibraryName {
  std::string_view stem, version;  // "libcuda", "580.65.06"
};
std::optional<LibraryName> library_name(std::string_view file_name) {
  const auto at = file_name.find(".so");
  if (at == file_name.npos || !file_name.starts_with("lib")) return std::nullopt;
  const auto rest = file_name.substr(at + 3);
  if (!rest.empty() && !rest.starts_with('.')) return std::nullopt;
  return LibraryName{file_name.substr(0, at), rest.empty() ? rest : rest.substr(1)};
}

// Libraries whose file names carry a version of their own.
bool has_own_version(std::string_view stem) {
  return stem.starts_with("libnvidia-egl-") || stem.starts_with("libnvidia-nvvm") ||
         stem == "libnvidia-nscq";
}

std::optional<KnownFile> known_library(std::string_view file_name, std::string_view version) {
  const auto name = library_name(file_name);
  if (!name || name->version.empty()) return std::nullopt;
  const bool of_driver =
      version.empty() ? is_driver_version(name->version) : name->version == version;
  if (!of_driver && !(has_own_version(name->stem) && !is_driver_version(name->version)))
    return std::nullopt;
  for (const auto& library : libraries())
    if (fits(library.stem, name->stem))
      return KnownFile{DriverFileKind::library, library.serves, {}};
  // Another driver's library may happen to have such a number; ours says whose it is.
  const bool ours = name->stem.starts_with("libnv") || contains(name->stem, "nvidia");
  return ours ? std::optional(KnownFile{DriverFileKind::library, {other}, {}}) : std::nullopt;
}

}  // namespace

bool is_driver_version(std::string_view text) {
  const auto version = parse_version(text);
  return version && (version->parts.size() == 2 || version->parts.size() == 3) &&
         version->parts[0] >= 100 && version->parts[0] <= 9999;
}

bool names_driver_library(std::string_view file_name) {
  const auto name = library_name(file_name);
  if (!name || name->version.empty() ||
      name->version.find_first_not_of("0123456789.") != name->version.npos)
    return false;  // "libcuda.so" is for linking; "libcuda.so.1.gpuready-saved" was moved away
  if (has_own_version(name->stem) || name->stem == "libnvidia-api") return false;
  return std::ranges::any_of(
      libraries(), [&](const Library& library) { return fits(library.stem, name->stem); });
}

std::string_view library_version(std::string_view path) {
  const auto name = library_name(base_name(path));
  return name ? name->version : std::string_view();
}

std::string_view firmware_version(std::string_view path) {
  const auto slash = path.rfind('/');
  if (slash == path.npos) return {};
  const auto folder = base_name(path.substr(0, slash));
  return is_driver_version(folder) ? folder : std::string_view();
}

std::optional<std::string> module_file_stem(std::string_view file_name) {
  const auto at = file_name.find(".ko");
  if (at == file_name.npos || at == 0) return std::nullopt;
  const auto rest = file_name.substr(at + 3);
  if (!rest.empty() && rest != ".xz" && rest != ".zst" && rest != ".gz") return std::nullopt;
  return std::string(file_name.substr(0, at));
}

std::optional<KnownFile> known_file(std::string_view file_name, std::string_view version) {
  if (auto library = known_library(file_name, version)) return library;
  if (const auto stem = module_file_stem(file_name)) {
    // Debian puts the driver's name before that of the module: nvidia-current-uvm.ko.
    if (*stem == "nvidia" ||
        ((stem->starts_with("nvidia-") || stem->starts_with("nvidia_")) && *stem != kOfKernel))
      return KnownFile{DriverFileKind::module, {}, {}};
    return std::nullopt;
  }
  if (file_name.starts_with("gsp") && file_name.ends_with(".bin"))
    return KnownFile{DriverFileKind::firmware, {}, {}};
  for (const auto& program : programs())
    if (program.name == file_name) return KnownFile{DriverFileKind::program, program.serves, {}};
  for (const auto& data : kData)
    if (data.name == file_name)
      return KnownFile{DriverFileKind::data, {data.serves}, std::string(data.install_path)};
  return std::nullopt;
}

std::vector<std::string> further_names(std::string_view soname) {
  // Programs load these without a number (ctypes, JIT compilers), or by an older name.
  struct Name {
    std::string_view soname, further;
  };
  constexpr Name kNamesBesides[] = {
      {"libcuda.so.1", "libcuda.so"},
      {"libnvidia-opticalflow.so.1", "libnvidia-opticalflow.so"},
      {"libGLX_nvidia.so.0", "libGLX_indirect.so.0"},
  };
  std::vector<std::string> found;
  for (const auto& name : kNamesBesides)
    if (name.soname == soname) found.emplace_back(name.further);
  return found;
}

std::vector<Capability> capabilities_of_module(std::string_view module) {
  if (const auto* known = find_module(module)) return known->serves;
  return {compute, utility, graphics, video, other};  // what a driver's module depends on
}

bool is_driver_module(std::string_view module) { return find_module(module) != nullptr; }

bool has_driver_version(std::string_view module) {
  const auto* known = find_module(module);
  return known != nullptr && !known->has_own_version;
}

}  // namespace gpuready::vm
