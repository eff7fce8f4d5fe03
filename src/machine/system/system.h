// Parsers behind read_system().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gpuready {

// PRETTY_NAME of os-release(5), unquoted; NAME when it has none.
std::optional<std::string> parse_os_name(std::string_view text);
std::optional<std::string> parse_os_ids(std::string_view text);  // ID, then ID_LIKE
// A line "MemTotal:  65808384 kB" of /proc/meminfo, in bytes.
std::optional<std::uint64_t> parse_meminfo(std::string_view text, std::string_view key);
// "model name" of /proc/cpuinfo on x86; "Model"/"Hardware" on Arm boards that tell it.
std::optional<std::string> parse_cpu_model(std::string_view text);
// Whether x86's "flags" of /proc/cpuinfo say that a hypervisor runs below (CPUID 1, ECX bit 31).
bool has_hypervisor_flag(std::string_view text);
// The efivars variable SecureBoot: four bytes of attributes, then 1 or 0.
std::optional<bool> parse_secure_boot(std::string_view bytes);
// Which hypervisor DMI's vendor and product names belong to.
std::optional<std::string> hypervisor_from_dmi(std::string_view vendor, std::string_view product);

}  // namespace gpuready
