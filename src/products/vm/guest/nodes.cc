#include "vm/guest/nodes.h"

#include <fmt/format.h>

#include <optional>

#include "base/text.h"

namespace gpuready::vm {
namespace {

constexpr std::uint32_t kControlMinor = 255, kModesetMinor = 254;

// The number of a line "Name: 3" in such files; nothing when there is none.
std::optional<std::uint32_t> number_of(std::string_view text, std::string_view name) {
  for (const auto line : lines(text)) {
    const auto rest = after_prefix(trim(line), name);
    const auto value = rest ? after_prefix(trim(*rest), ":") : std::nullopt;
    if (const auto number = value ? parse_uint(trim(*value)) : std::nullopt;
        number && *number <= UINT32_MAX)
      return static_cast<std::uint32_t>(*number);
  }
  return std::nullopt;
}

}  // namespace

std::map<std::string, std::uint32_t, std::less<>> character_devices(std::string_view text) {
  std::map<std::string, std::uint32_t, std::less<>> found;
  bool characters = false;
  for (const auto line : lines(text)) {
    if (line.ends_with("devices:")) characters = line.starts_with("Character");
    const auto words = split(line, " ");
    if (!characters || words.size() != 2) continue;
    if (const auto number = parse_uint(words[0]); number && *number < 4096)
      found.emplace(words[1], static_cast<std::uint32_t>(*number));
  }
  return found;
}

std::vector<NodePlan> plan_nodes(const NodeFacts& facts) {
  if (number_of(facts.params, "ModifyDeviceFiles") == 0u) return {};
  NodePlan like;
  like.mode = number_of(facts.params, "DeviceFileMode").value_or(0666) & 0777u;
  like.uid = number_of(facts.params, "DeviceFileUID").value_or(0);
  like.gid = number_of(facts.params, "DeviceFileGID").value_or(0);
  std::vector<NodePlan> plan;
  const auto add = [&](std::string path, std::uint32_t major, std::uint32_t minor) {
    auto node = like;
    node.path = std::move(path);
    node.device_major = major;
    node.device_minor = minor;
    plan.push_back(std::move(node));
  };
  const auto majors = character_devices(facts.devices);
  const auto major_of = [&](std::initializer_list<std::string_view> names) {
    for (const auto name : names)
      if (const auto found = majors.find(name); found != majors.end())
        return std::optional(found->second);
    return std::optional<std::uint32_t>();
  };
  if (const auto major = major_of({"nvidia", "nvidia-frontend"})) {
    for (const auto& information : facts.gpus)
      if (const auto minor = number_of(information, "Device Minor"))
        add(fmt::format("/dev/nvidia{}", *minor), *major, *minor);
    add("/dev/nvidiactl", major_of({"nvidiactl"}).value_or(*major), kControlMinor);
  }
  if (const auto major = major_of({"nvidia-modeset"}))
    add("/dev/nvidia-modeset", *major, kModesetMinor);
  if (const auto major = major_of({"nvidia-uvm"})) {
    add("/dev/nvidia-uvm", *major, 0);
    add("/dev/nvidia-uvm-tools", *major, 1);
  }
  if (const auto major = major_of({"nvidia-caps"}))
    for (const auto& capability : facts.capabilities)
      if (const auto minor = number_of(capability, "DeviceFileMinor")) {
        add(fmt::format("/dev/nvidia-caps/nvidia-cap{}", *minor), *major, *minor);
        plan.back().mode = number_of(capability, "DeviceFileMode").value_or(0400) & 0777u;
      }
  return plan;
}

}  // namespace gpuready::vm
