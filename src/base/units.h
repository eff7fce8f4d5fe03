// Quantities as people read them. Units are spelled out: GiB is 2^30, GB is 10^9.
#pragma once

#include <cstdint>
#include <string>

namespace gpuready {

inline constexpr std::uint64_t KiB = 1024;
inline constexpr std::uint64_t MiB = 1024 * KiB;
inline constexpr std::uint64_t GiB = 1024 * MiB;

std::string format_bytes(std::uint64_t bytes);        // "139.8 GiB", "256 MiB", "40 B"
std::string format_rate(double bytes_per_second);     // "4.31 TB/s", "52.3 GB/s"
std::string format_duration_ms(double milliseconds);  // "34.6 ms", "1.24 s"
std::string format_percent(double fraction,
                           int decimals = 1);  // 0.9951 -> "99.5%", never rounded up to 100%
std::string format_hex(std::uint64_t value, int digits = 0);  // "0x00ff"

}  // namespace gpuready
