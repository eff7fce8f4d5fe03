// Parsers of what sysfs tells about a PCI function (Linux,
// Documentation/ABI/testing/sysfs-bus-pci).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpuready/machine.h"
#include "host/host.h"

namespace gpuready {

// "16.0 GT/s PCIe" -> 4; "Unknown" -> nothing.
std::optional<int> parse_link_speed(std::string_view text);
// "16" -> 16; 0, 63 and 255, which a link that is down gives, -> nothing.
std::optional<int> parse_link_width(std::string_view text);
// "TOTAL_ERR_COR 3" at the end of aer_dev_correctable (`total` = "TOTAL_ERR_COR").
std::optional<std::uint64_t> parse_aer_total(std::string_view text, std::string_view total);
// `resource`: "start end flags" per line, the first six being the BARs. Size 0 for one that is
// absent, not memory, or was given no address.
std::vector<std::uint64_t> parse_bar_sizes(std::string_view text);

struct PciPath {
  std::optional<std::string> host_bridge;  // "pci0000:16"
  std::vector<PciAddress> path;
};
// "../../../devices/pci0000:16/0000:16:01.0/0000:17:00.0"
PciPath parse_pci_path(std::string_view device_path);

PciPath pci_path_of(Host& host, const PciAddress& address);
// How two devices are joined below a host bridge; nothing when that is not known, or not the same.
std::optional<PathKind> kind_of_path(const PciPath& a, const PciPath& b);

// The lesser generation and width; of one that is unknown, the other.
PcieLink slower_of(const PcieLink& a, const PcieLink& b);
// What the port is set to run at most, as a generation: the target link speed of its PCI Express
// capability. Firmware sets it to limit a slot. `config` is the function's configuration space, of
// which the kernel shows others than root the first 64 bytes alone: then nothing. Nothing too for
// 2.5 GT/s, which the kernel sets where a link did not train.
std::optional<int> parse_target_generation(std::string_view config);

// Boards of AMD and Intel carry a PCIe switch of their own; the link to the slot is that of its
// upper end. How far up the path (parse_pci_path()) the board reaches: the place of its topmost
// function. The path is not empty.
std::size_t board_top(Host& host, const std::vector<PciAddress>& path, std::uint16_t vendor_id);

// The last component of a link: "../../bus/pci/drivers/nvidia" -> "nvidia".
std::string_view last_component(std::string_view path);

// "0-3,8" -> 5; nothing when the text is not a CPU list.
std::optional<int> count_cpu_list(std::string_view list);

}  // namespace gpuready
