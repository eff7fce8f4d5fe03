// path_resolution(7) and mount_namespaces(7) of Linux: a node on a file system mounted nodev, or
// one that a security module guards, is refused with EACCES whatever its mode says.
#include "doctor/refusal.h"

#include <fmt/format.h>

namespace gpuready::doctor {
namespace {

constexpr std::uint32_t kEverybody = 0006;    // others may read and write
constexpr std::uint32_t kOverflowId = 65534;  // an id of the host that has no name in here

}  // namespace

void explain_refusal(const Machine& machine, const DeviceNode& node, Match& match) {
  if (node.open_error != "EACCES") return;
  const bool open_to_all = node.mode && (*node.mode & kEverybody) == kEverybody;
  const bool in_namespace = machine.system.user_namespace.value_or(false);
  if (!open_to_all) {
    if (machine.system.effective_uid == 0 && !in_namespace) {
      match.explanation =
          "Root lacks the capability to bypass file permissions (CAP_DAC_OVERRIDE), and is not "
          "in the nodes' group.";
      match.cure = "Start the process in the nodes' group, or leave it that capability.";
      if (!in_container(machine)) match.command = "";
      return;
    }
    if (!in_namespace || node.gid != kOverflowId) return;
    match.explanation =
        "The nodes belong to a group of the host that this user namespace does not know, so no "
        "group in here can open them.";
    match.cure =
        "Keep the host's groups when the container is started, and be in the nodes' group "
        "on the host.";
    match.command = "podman run --group-add keep-groups IMAGE";
    match.evidence.push_back(evidence("/proc/self/uid_map", "a user namespace"));
    return;
  }
  match.explanation =
      "The nodes' mode lets everybody use them, so something other than file permissions refuses.";
  if (node.nodev.value_or(false)) {
    match.title = "The GPU's device nodes are on a file system that forbids device nodes";
    match.cure =
        "Hand the nodes in as devices and not as files, or mount that file system "
        "without nodev.";
    match.command = "findmnt -T " + node.path;
    match.evidence.push_back(evidence("/proc/self/mountinfo", "mounted nodev"));
  } else if (machine.system.selinux_enforcing.value_or(false)) {
    match.title = "SELinux keeps this process from the GPU's device nodes";
    match.cure = in_container(machine)
                     ? "Let containers use devices (setsebool -P container_use_devices 1 on the "
                       "host), or give this one a type that may."
                     : "Allow it in the policy: the audit log names the rule that is missing.";
    match.command = "ausearch -m AVC -ts recent";
    match.evidence.push_back(evidence("/sys/fs/selinux/enforce", "1"));
  } else if (in_namespace) {
    match.title = "A user namespace keeps this process from the GPU's device nodes";
    match.cure =
        "Let the runtime hand the nodes in (CDI), instead of making or mounting them inside.";
    match.command = "podman run --device nvidia.com/gpu=all IMAGE";
    match.evidence.push_back(evidence("/proc/self/uid_map", "a user namespace"));
  } else {
    match.cure =
        "Look for a security module (SELinux, AppArmor) in the audit log, and for a nodev "
        "mount.";
    match.command = "findmnt -T " + node.path;
  }
}

}  // namespace gpuready::doctor
