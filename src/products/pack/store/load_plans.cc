#include "pack/store/load_plans.h"

#include <algorithm>

#include "host/mapped_file.h"
#include "pack/code/file_report.h"

namespace gpuready::pack {
namespace {

// Device code of NVIDIA's as a file holds it.
struct Found {
  std::string path;  // within the package
  CarrierGroup group;

  // The driver takes it as it is.
  bool whole() const {
    return group.carrier == Carrier::fat_binary || group.carrier == Carrier::cubin;
  }
  // The driver takes it as it is, or with a zero behind it.
  bool may_be_launched() const { return whole() || group.carrier == Carrier::ptx_text; }
  bool loads_on(const TargetGpu& gpu, const Driver& driver) const {
    return std::ranges::any_of(group.codes, [&](const DeviceCode& code) {
      return can_load(code, gpu, driver).how != How::no;
    });
  }
};

std::vector<Found> code_of(const std::string& folder, const Variant& variant) {
  std::vector<Found> found;
  for (const auto& code : variant.code) {
    const auto file = MappedFile::open(folder + "/" + code.path);
    if (!file) continue;
    for (auto& group : inspect_bytes(code.path, file->bytes(), true).groups)
      found.push_back({code.path, std::move(group)});
  }
  return found;
}

}  // namespace

std::vector<LoadPlan> load_plans(const std::string& folder, const Variant& variant,
                                 const SelectMachine& machine,
                                 const std::vector<std::size_t>& gpus) {
  const auto libraries = libraries_of(folder, variant);
  if (variant.for_cpu()) return {{"cpu", "", libraries, {}, variant.name, folder}};
  const auto found = code_of(folder, variant);
  std::vector<LoadPlan> plans;
  for (const auto index : gpus) {
    const auto& gpu = machine.gpus[index];
    if (!gpu.target.cuda || gpu.uuid.empty()) continue;
    LoadPlan plan{gpu.uuid, gpu.name, libraries, {}, variant.name, folder};
    for (const auto& probe : variant.probes) plan.probes.push_back({probe, {}});
    for (const auto& each : found) {
      if (!each.may_be_launched() || !each.loads_on(gpu.target, machine.driver)) continue;
      const auto path = folder + "/" + each.path;
      if (each.whole()) plan.code.push_back({path, each.group.first_offset});
      for (auto& planned : plan.probes)
        if (planned.probe.file == each.path)
          for (const auto offset : each.group.offsets)
            planned.code.push_back({path, offset, !each.whole()});
    }
    plans.push_back(std::move(plan));
  }
  return plans;
}

}  // namespace gpuready::pack
