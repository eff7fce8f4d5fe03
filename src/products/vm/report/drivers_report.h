// What `vm drivers` and `vm compat` found, as documents and on a terminal.
#pragma once

#include <string>
#include <vector>

#include "report/report.h"
#include "value/envelope.h"
#include "vm/drivers/catalogue.h"
#include "vm/drivers/image_libraries.h"
#include "vm/drivers/open_bundle.h"

namespace gpuready {

struct DriversReport {
  std::vector<vm::BundleEntry> bundles;
  std::vector<std::string> problems;  // that keep a bundle from working
};
std::string render_terminal(const DriversReport& report, const TerminalStyle& style);

struct CompatReport {
  vm::CudaCompatibility cuda;
  std::optional<std::string> rootfs;  // that was looked at
  std::vector<vm::ImageLibrary> image_libraries;
  std::optional<vm::GpuSupport> gpu = {};  // that was asked for
};
std::string render_terminal(const CompatReport& report, const TerminalStyle& style);

}  // namespace gpuready
