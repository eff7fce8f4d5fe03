// The Device Serial Number capability in a PCI Express device's configuration space (PCI Express
// Base Specification, extended capability 0003h): it names one board, so redaction has to find it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gpuready {

std::optional<std::uint64_t> pci_serial(std::string_view config);
void set_pci_serial(std::string& config, std::uint64_t serial);

}  // namespace gpuready
