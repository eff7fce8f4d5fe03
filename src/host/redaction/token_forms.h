// The forms of a word of text that name no one: numbers, versions, PCI addresses. Whatever else a
// word is, only a list of fixed words can say that it may be shown (redactor.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/characters.h"

namespace gpuready {

// "0000:17:00.0", "00000000:17:00", "17:00.0", "pci0000:16"; with "PCI:", "pci:" or "+pci:" before.
bool is_pci_form(std::string_view word);
// Such an address with domain, bus and device, and its domain.
bool is_full_address(std::string_view word);
std::uint64_t domain_of(std::string_view address);
// What selects a GPU or overrides a version: "-1", "12", "0.1", "10.3.0".
bool is_small_form(std::string_view word);
// "12.4", "580.159.04", "V12.4.131" and a VBIOS's "96.00.A5.00.01", but not an IPv4 address.
bool is_version_form(std::string_view word);
// At most five digits, or hexadecimal after "0x" and shorter than any GUID or MAC address: "110",
// "0x62", "0x62:0x40:2416", "0-31", "10de:2330", "80GB", "x16".
bool is_number_form(std::string_view word);
bool is_decimal(std::string_view word);
// A part of a product's name that has a number: "H100", "MI300X", "80GB", "9654".
bool is_model_form(std::string_view word);
// "pci:v000010DEd00002330sv000010DEsd000016C1bc03sc02i00", as the kernel builds it.
bool is_modalias_form(std::string_view word);
// The length of a UUID at the start of `text`, with dashes or underscores (36) or without (32); 0
// when none is.
std::size_t uuid_length(std::string_view text);

}  // namespace gpuready
