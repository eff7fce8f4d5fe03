#include "vm/mediated.h"

#include <fmt/format.h>

#include "base/paths.h"
#include "base/text.h"

namespace gpuready::vm {
namespace {

std::optional<std::string> target_name(Host& host, const std::string& path) {
  const auto target = host.read_link(path);
  return target ? std::optional(std::string(base_name(*target))) : std::nullopt;
}

}  // namespace

std::vector<MediatedDevice> read_mediated_devices(Host& host) {
  std::vector<MediatedDevice> found;
  const auto names = host.list_directory(kMediatedDevices);
  for (const auto& uuid : names.value_or(std::vector<std::string>{})) {
    if (!is_uuid(uuid)) continue;
    const std::string folder = kMediatedDevices + uuid;
    // ".../0000:17:00.0/UUID": the folder above is the parent's.
    const auto place = host.read_link(folder);
    const auto type = target_name(host, folder + "/mdev_type");
    if (!place || !type) continue;  // it vanished while it was read
    MediatedDevice device;
    static_cast<MediatedFacts&>(device) = {
        .uuid = uuid,
        .parent = std::string(base_name(gpuready::folder_of(*place))),
        .type = *type,
        .name = host.read_text(folder + "/mdev_type/name"),
        .api = host.read_text(folder + "/mdev_type/device_api"),
        .driver = target_name(host, folder + "/driver"),
        .iommu_group = {}};
    if (const auto group = target_name(host, folder + "/iommu_group"))
      if (const auto number = parse_uint(*group); number && *number <= INT32_MAX) {
        device.iommu_group = static_cast<int>(*number);
        device.around.nodes.push_back("/dev/vfio/" + *group);
      }
    const auto nodes = host.list_directory(folder + "/vfio-dev");
    for (const auto& name : nodes.value_or(std::vector<std::string>{}))
      device.around.nodes.push_back("/dev/vfio/devices/" + name);
    found.push_back(std::move(device));
  }
  return found;
}

std::string create_attribute(const MediatedDevice& instance) {
  return fmt::format("/sys/class/mdev_bus/{}/mdev_supported_types/{}/create", instance.parent,
                     instance.type);
}

}  // namespace gpuready::vm
