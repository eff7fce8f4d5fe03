// Which device a journal means. Addresses move when a card is added in front, so a device is known
// by its UUID, its serial number, or its ids and its slot.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/host.h"
#include "vm/inventory.h"
#include "vm/journal.h"

namespace gpuready::vm {

// Of a device of `inventory`.
DeviceIdentity identity_of(Host& host, const Device& device);

// The journal's claims with the addresses of now. Devices that are gone or that returned already
// are left out of their operations; Claim::gone names the gone ones.
Result<std::vector<Claim>> read_claims(Host& host, const std::string& folder,
                                       const Machine& machine);

// The device of the claims that has this UUID, with or without "GPU-".
std::optional<PciAddress> claimed_device(const std::vector<Claim>& claims, std::string_view uuid);

}  // namespace gpuready::vm
