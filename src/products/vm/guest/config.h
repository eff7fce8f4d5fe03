// What a guest was told: on the kernel's command line or on a disk. Pure.
//   HAS_GPU=1                        there is a GPU; or gpuready.gpu=1
//   root=/dev/vda rootfstype=ext4    the container's root; or gpuready.root=/folder of the initrd
//   gpuready.config=/dev/vdb         more of these, one KEY=VALUE a line, on a disk as they are
//   gpuready.capabilities=compute,utility
//   gpuready.check=0                 do not run `gpuready check`
//   gpuready.after=poweroff          run the command, say how it ended, and power off
//   -- COMMAND ARGUMENT...           instead of the root's own init
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "vm/drivers/bundle.h"

namespace gpuready::vm {

struct GuestConfig {
  bool has_gpu = false, check = true, poweroff = false, read_only = false;
  std::string root, root_type, root_flags, root_folder, config_disk, init;
  std::vector<Capability> capabilities;
  bool replace = false;
  std::vector<std::string> words;    // of the command line, for parameters of modules
  std::vector<std::string> unknown;  // what of ours is not understood
};

// Takes the words of a command line, or lines of a disk, over what `config` says already.
void read_config(std::string_view text, GuestConfig& config);

// The words of a kernel command line; quotes hold blanks together.
std::vector<std::string> command_line_words(std::string_view text);

}  // namespace gpuready::vm
