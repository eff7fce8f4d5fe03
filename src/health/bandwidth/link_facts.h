// What a GPU's PCI Express link is now, what it could be, and how fast that is. Read while copies
// run: an idle GPU lets its link fall back, which says nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gpuready/machine.h"
#include "host/host.h"

namespace gpuready {

struct LinkFacts {
  PcieLink now;
  PcieLink most;           // what both ends can do
  bool port_seen = false;  // the port above the GPU was read, too
  // The link is slower or narrower than both ends can do.
  bool reduced() const;
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
