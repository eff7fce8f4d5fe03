// A driver bundle: a folder with one NVIDIA driver as guests need it, and bundle.json, which says
// what each file is and what its bytes are.
//
//   BUNDLE/bundle.json
//   BUNDLE/modules/<kernel release>/nvidia.ko ...
//   BUNDLE/lib/libcuda.so.580.65.06 ...        real files; links are made where they are injected
//   BUNDLE/bin/nvidia-smi ...
//   BUNDLE/firmware/nvidia/<version>/gsp_ga10x.bin ...
//   BUNDLE/data/...                            files that have one place in every root
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/named.h"
#include "base/result.h"

namespace gpuready::vm {

inline constexpr std::string_view kBundleFile = "bundle.json";

enum class DriverFileKind { module, library, program, firmware, data };
// What a container asks of a driver (the NVIDIA container toolkit's words). A file that serves
// none of them alone (unknown to our table) has `other` and comes along with all.
enum class Capability { compute, utility, graphics, video, other };

// What a kernel module's .modinfo section says.
struct ModuleInfo {
  std::string name = {};            // "nvidia_uvm"
  std::string kernel_release = {};  // the first word of vermagic
  std::string vermagic = {};
  std::string version = {};  // the driver's
  std::string license = {};
  std::vector<std::string> depends = {};  // names of modules, as "nvidia"
  bool is_signed = false;  // a signature is appended; whose, the guest's kernel judges
};

struct DriverFile {
  std::string path = {};  // within the bundle
  DriverFileKind kind = DriverFileKind::data;
  std::uint64_t size_bytes = 0;
  std::string sha256 = {};
  std::string source = {};                    // where it was found
  std::vector<Capability> capabilities = {};  // empty of modules and firmware, which all need
  std::string machine = {};                   // of ELF files: "x86_64", "aarch64"
  std::string soname = {};
  std::vector<std::string> needed = {};  // SONAMEs, of libraries and programs
  std::vector<std::string> links = {};   // further names by which programs load this library
  std::string install_path = {};         // of data: the one place in a root
  std::optional<ModuleInfo> module = {};
};

struct DriverNode {
  std::string path = {};
  std::uint32_t device_major = 0, device_minor = 0, mode = 0;
};

struct DriverBundle {
  std::string driver_version = {};
  std::string machine = {};  // of its libraries
  std::string source = {};   // what it was collected from
  std::string created_utc = {};
  std::vector<std::string> kernel_releases = {};  // for which it has modules
  bool open_modules = false;                      // the modules' licence is that of the open ones
  std::vector<DriverFile> files = {};             // sorted by path
  std::vector<DriverNode> nodes = {};             // of the machine that it was collected on
  std::vector<std::string> warnings = {};         // what may be missing
  // PCI device ids of NVIDIA's that the driver's own list names; empty: there was no list.
  std::vector<std::uint16_t> supported_gpus = {};
};

Json to_json(const DriverBundle& bundle);  // schema/vm-drivers
Result<DriverBundle> bundle_from_json(const Json& doc, std::string_view name);

// Reads FOLDER/bundle.json; a path that leads out of the bundle is an error.
Result<DriverBundle> bundle_from_text(std::string_view text, std::string_view name);

// Parts that differ in version, modules that another kernel release was named for, files that are
// named twice: each a sentence. Empty for a bundle that fits together.
std::vector<std::string> inconsistencies(const DriverBundle& bundle);

// Whether `path` stays below the folder that it is joined to.
bool is_safe_relative(std::string_view path);
// A name that is joined to a folder: of a link, of a module.
bool is_plain_name(std::string_view name);
// Terminals and lists of one name a line take them for something else.
bool has_control_characters(std::string_view text);

}  // namespace gpuready::vm

namespace gpuready {

NAMES_OF(vm::DriverFileKind, "module", "library", "program", "firmware", "data");
NAMES_OF(vm::Capability, "compute", "utility", "graphics", "video", "other");

}  // namespace gpuready
