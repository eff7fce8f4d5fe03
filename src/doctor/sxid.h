// Errors that an NVSwitch reports ("SXid"): the line, and what NVIDIA's Fabric Manager User Guide
// says of the code (appendix "Error Handling", tables of non-fatal, fatal, always fatal and other
// notable errors; release 2.3 of May 2025).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gpuready/machine.h"

namespace gpuready::doctor {

enum class SxidKind {
  corrected,  // the switch corrected it: nothing is lost
  harmless,   // may be ignored, says the guide
  nonfatal,   // traffic of a port was disturbed
  fatal,      // the port, and what runs over it, stops until it is reset
  fabric,     // always fatal: every switch and GPU must be reset
};

struct Sxid {
  int code = 0;
  SxidKind kind = SxidKind::nonfatal;
  std::optional<PciAddress> pci;  // of the switch
  std::optional<int> link;        // of the switch, where the line names one
  std::string_view name;          // within the line: "sourcetrack timeout error (First)"
  bool data = false;  // of the line with the registers, which says neither name nor kind
};

// "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 24007, Fatal, Link 44 sourcetrack timeout error
// (First)"; and the line after it, "...: 24007, Data {0x0, ...}". Those with a severity are none.
std::optional<Sxid> parse_sxid(std::string_view line);

}  // namespace gpuready::doctor
