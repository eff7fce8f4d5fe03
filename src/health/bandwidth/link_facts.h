// What a GPU's PCI Express link is now, what it could be, and how fast that is. Read while copies
// run: an idle GPU lets its link fall back, which says nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpuready/machine.h"
#include "host/host.h"

namespace gpuready {

struct TrainedLink {
  PcieLink now;
  PcieLink most;              // what both ends can do
  std::optional<int> target;  // generation that the upper end is set to at most
  bool target_read = false;   // its settings could be read; no target: it is not limited
  bool narrow() const;        // fewer lanes than both ends have
  bool slow() const;          // of a lesser generation than both ends can, and are set to
  bool limited() const;       // of a lesser generation, because it is set so
};

struct LinkFacts : TrainedLink {
  bool port_seen = false;          // the port above the GPU's board was read, too
  PcieLink gpu_most;               // of the GPU's end, whatever the port can do
  std::vector<TrainedLink> above;  // between the ports above the board, from the board up
  // The slower of the GPU's own link and those above it: what copies can be held to.
  PcieLink slowest() const;
};

// From sysfs; what is hidden there is absent.
LinkFacts read_link_facts(Host& host, std::string_view pci_address);

// Bytes a second in one direction, after the line code and before packet headers: 8b/10b for
// generations 1 and 2, 128b/130b for 3 to 5 (PCI Express Base Specification 5.0, 4.2), and for 6
// the 236 bytes of transaction data in each 256-byte FLIT (6.0, 4.2.3). Nothing when either is
// unknown.
std::optional<double> raw_link_rate(const PcieLink& link);

std::string describe_link(const PcieLink& link);  // "PCIe 5.0 x16", "PCIe of unknown generation"

}  // namespace gpuready
