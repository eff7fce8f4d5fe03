#include "pack/store/load_plans.h"

#include <algorithm>

#include "host/mapped_file.h"
#include "pack/code/file_report.h"

namespace gpuready::pack {
namespace {

// Device code of NVIDIA's as a file holds it, which the driver takes as it is.
struct Found {
  CodePiece piece;
  std::vector<DeviceCode> codes;
};

std::vector<Found> code_of(const std::string& folder, const Variant& variant) {
  std::vector<Found> found;
  for (const auto& code : variant.code) {
    const auto path = folder + "/" + code.path;
    const auto file = MappedFile::open(path);
    if (!file) continue;
    for (const auto& group : inspect_bytes(code.path, file->bytes(), true).groups)
      if (group.carrier == Carrier::fat_binary || group.carrier == Carrier::cubin)
        found.push_back({{path, group.first_offset, 0}, group.codes});
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
    for (const auto& [piece, codes] : found)
      if (std::ranges::any_of(codes, [&](const DeviceCode& code) {
            return can_load(code, gpu.target, machine.driver).how != How::no;
          }))
        plan.code.push_back(piece);
    plans.push_back(std::move(plan));
  }
  return plans;
}

}  // namespace gpuready::pack
