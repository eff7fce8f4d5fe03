// The kernel's tables of mounts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpuready {

// A line of /proc/PID/mountinfo (proc(5)).
struct Mount {
  std::string device;  // "259:2"; "0:31" of a filesystem that is on no single block device
  std::string root;    // what of the filesystem is mounted: "/", "mnt:[4026532195]"
  std::string point, type, source;
  std::string options = {};  // of the filesystem: "rw,logdev=/dev/nvme1n1"
};
// Lines that are cut short keep what they have.
std::vector<Mount> parse_mounts(std::string_view text);

// "\040" and others by which the kernel writes white space in its tables.
std::string without_escapes(std::string_view text);

}  // namespace gpuready
