// Names of PCI devices, from the PCI ID Repository's pci.ids (Debian package pci.ids), cut at build
// time to the vendors whose display controllers are met in servers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gpuready {

// "GH100 [H100 SXM5 80GB]"; nothing for a device newer than the list.
std::optional<std::string_view> pci_device_name(std::uint16_t vendor, std::uint16_t device);
std::string_view pci_ids_text();  // the list, as below
// The same in a given list: a line a device, "10de2330 Name", in rising order, lower case.
std::optional<std::string_view> find_pci_name(std::string_view ids, std::uint16_t vendor,
                                              std::uint16_t device);
// How people call the product: "NVIDIA H100 SXM5 80GB" (the bracketed marketing name where there is
// one), "NVIDIA device 10de:2335" where the list has none.
std::string display_name(std::uint16_t vendor, std::uint16_t device,
                         const std::optional<std::string>& pci_name);

}  // namespace gpuready
