// What NVIDIA's drivers are made of, by name: the one table of libraries, programs and data, with
// what each serves. Sources: the capabilities of the NVIDIA container toolkit, the `.manifest` of
// NVIDIA's installers, Debian's packages.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vm/drivers/bundle.h"

namespace gpuready::vm {

struct KnownFile {
  DriverFileKind kind = DriverFileKind::data;
  std::vector<Capability> capabilities;
  std::string install_path;  // of data
};

// What a file of this name is; nothing: no part of a driver. `version` is the driver's, as soon as
// it is known: libraries whose name ends in it are the driver's, whatever they are called.
std::optional<KnownFile> known_file(std::string_view file_name, std::string_view version);

// Names besides its SONAME by which programs load a library: "libcuda.so" of libcuda.so.1.
std::vector<std::string> further_names(std::string_view soname);

// The capabilities for which a module is loaded; `other` for one that is loaded on demand alone.
std::vector<Capability> capabilities_of_module(std::string_view module);
// Whether a module, as the kernel names it, is NVIDIA's; and whether its version is the driver's.
bool is_driver_module(std::string_view module);
bool has_driver_version(std::string_view module);

// Whether a library that is called so is the driver's and of one version only, though its name need
// not tell which: "libcuda.so.1".
bool names_driver_library(std::string_view file_name);

// "580.65.06" of "lib/libcuda.so.580.65.06"; empty for none.
std::string_view library_version(std::string_view path);
// "580.65.06" of "firmware/nvidia/580.65.06/gsp_ga10x.bin"; empty for none.
std::string_view firmware_version(std::string_view path);
// Whether a text looks like a driver's version: two or three numbers, the first of three digits.
bool is_driver_version(std::string_view text);

// "nvidia-uvm.ko.xz" -> "nvidia-uvm"; nothing for no module.
std::optional<std::string> module_file_stem(std::string_view file_name);

}  // namespace gpuready::vm
