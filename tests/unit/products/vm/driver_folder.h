// A folder with a small driver in it, and bundles of it.
#pragma once

#include <string>

#include "unit/products/vm/elf_files.h"
#include "unit/test_folder.h"
#include "vm/drivers/collect.h"
#include "vm/drivers/open_bundle.h"

namespace gpuready::vm {

inline constexpr const char* kVersion = "580.65.06";

// What a 64-bit system with this driver has, in small.
inline void write_driver(const TestFolder& folder, const std::string& at = "driver/",
                         const std::string& version = kVersion) {
  const auto library = [&](const std::string& stem, const std::string& soname,
                           const std::vector<std::string>& needed = {}) {
    folder.write(at + "lib64/" + stem + ".so." + version, make_library(soname, needed, stem));
  };
  library("libcuda", "libcuda.so.1");
  library("libnvidia-ml", "libnvidia-ml.so.1");
  library("libnvidia-ptxjitcompiler", "libnvidia-ptxjitcompiler.so.1");
  library("libnvidia-gpucomp", "libnvidia-gpucomp.so." + version);
  library("libGLX_nvidia", "libGLX_nvidia.so.0", {"libnvidia-glcore.so." + version});
  library("libnvidia-glcore", "libnvidia-glcore.so." + version);
  library("libnvidia-encode", "libnvidia-encode.so.1");
  folder.write(at + "bin/nvidia-smi", make_library("", {"libc.so.6"}, "smi"));
  folder.write(at + "firmware/nvidia/" + version + "/gsp_ga10x.bin", "firmware");
  folder.write(at + "share/nvidia_icd.json", "{}");
  folder.write(at + "modules/nvidia.ko", make_driver_module("nvidia", version));
  folder.write(at + "modules/nvidia-uvm.ko", make_driver_module("nvidia_uvm", version, "nvidia"));
  folder.write(at + "modules/nvidia-modeset.ko",
               make_driver_module("nvidia_modeset", version, "nvidia"));
}

inline std::unique_ptr<Host> test_host() { return make_live_host(); }

inline DriverBundle collect_driver(const TestFolder& folder, const std::string& name = "bundle") {
  const auto host = test_host();
  auto bundle =
      collect_bundle({.from = {folder.path("driver")}}, folder.path(name), *host, live_storage());
  EXPECT_TRUE(bundle) << bundle.error().message;
  return bundle.value_or(DriverBundle{});
}

}  // namespace gpuready::vm
