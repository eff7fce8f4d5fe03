// Parsers of the text files under /proc/driver/nvidia. Formats: the driver's README, chapter "The
// /proc File System Interface", and the sources of NVIDIA's open kernel modules (nv-procfs.c).
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace gpuready {

// The driver's libraries that are looked for where a program would find them.
inline constexpr const char* kNvidiaLibraries[] = {"libcuda.so.1", "libnvidia-ml.so.1",
                                                   "libnvidia-ptxjitcompiler.so.1"};

// The first dotted number in the text: "580.159.04".
std::optional<std::string> driver_version_in(std::string_view text);

struct NvidiaVersionFile {
  std::optional<std::string> version;  // "580.159.04"
  std::optional<std::string> flavour;  // "open", "proprietary"
};
NvidiaVersionFile parse_nvidia_version(std::string_view text);

// "Name: value" lines; white space around both is dropped. Names that come again keep the first.
std::map<std::string, std::string> parse_nvidia_fields(std::string_view text);

// A value of gpus/<address>/information; nothing for what the driver has not found out yet, which
// it writes with question marks ("GPU-????????-...", "??.??.??.??.??").
std::optional<std::string> known_value(const std::map<std::string, std::string>& fields,
                                       const char* name);

// The line of a file of modprobe.d(5) that keeps one of these modules from being loaded: "blacklist
// nvidia", "alias nvidia off", "install nvidia /bin/false".
std::optional<std::string> parse_module_block(std::string_view text,
                                              std::initializer_list<std::string_view> modules = {
                                                  "nvidia", "nvidia-current"});

// The number behind a library's last ".so.": "libcuda.so.580.159.04" -> "580.159.04". Nothing for a
// plain ABI number ("libcuda.so.1").
std::optional<std::string> library_version(std::string_view path);

}  // namespace gpuready
