// The device nodes through which programs reach GPUs: which a GPU needs, and whether this process
// may use them. One table for all vendors. Pure.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gpuready/machine.h"

namespace gpuready {

struct NodeOwner {
  std::string_view path;           // a trailing '#' stands for a number
  std::string_view needed_by;      // what does not start without it
  std::string_view registered_as;  // its driver's names in /proc/devices, separated by blanks
};
// Of nodes that programs need; nullptr for all others (an administrator's, a display's).
const NodeOwner* node_owner(std::string_view path);

// "Character devices" of /proc/devices: name -> major.
std::map<std::string, std::uint32_t, std::less<>> parse_char_majors(std::string_view text);

enum class NodeState {
  open,           // nothing speaks against it
  missing,        // not in /dev
  stale,          // its number is no longer its driver's
  no_permission,  // EACCES: file permissions, a security module, a nodev mount
  refused,        // EPERM: a device control group
};
struct NodeAccess {
  std::string path;
  NodeState state = NodeState::open;
  std::string_view needed_by;
  const DeviceNode* node = nullptr;  // nullptr: missing, and known from nothing but its absence
};
// The nodes that this GPU needs, where its driver runs it.
std::vector<NodeAccess> nodes_of(const Machine& machine, const Gpu& gpu);

// All nodes that it needs are open.
bool reachable(const Machine& machine, const Gpu& gpu);
// The processor's graphics beside another GPU that programs can use: no one needs it.
bool is_spare(const Machine& machine, const Gpu& gpu);
// This container or job was given other GPUs, so that it cannot reach this one is not a fault.
bool given_others(const Machine& machine, const Gpu& gpu, NodeState state);

}  // namespace gpuready
