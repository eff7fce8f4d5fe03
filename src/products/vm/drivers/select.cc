#include "vm/drivers/select.h"

#include <algorithm>
#include <set>

#include "base/paths.h"
#include "vm/drivers/driver_files.h"

namespace gpuready::vm {
namespace {

bool overlap(const std::vector<Capability>& a, const std::vector<Capability>& b) {
  return std::any_of(a.begin(), a.end(),
                     [&](Capability one) { return std::find(b.begin(), b.end(), one) != b.end(); });
}

bool serves(const DriverFile& file, const std::vector<Capability>& wanted) {
  if (wanted.empty() || file.kind == DriverFileKind::firmware) return true;
  if (file.module) return overlap(capabilities_of_module(file.module->name), wanted);
  return overlap(file.capabilities, wanted);
}

bool is_called(const DriverFile& file, std::string_view name) {
  return file.soname == name || base_name(file.path) == name;
}

}  // namespace

std::vector<const DriverFile*> select_files(const DriverBundle& bundle,
                                            const std::vector<Capability>& capabilities) {
  std::set<const DriverFile*> chosen;
  std::vector<const DriverFile*> open;
  const auto choose = [&](const DriverFile& file) {
    if (chosen.insert(&file).second) open.push_back(&file);
  };
  for (const auto& file : bundle.files)
    if (serves(file, capabilities)) choose(file);
  while (!open.empty()) {
    const auto* file = open.back();
    open.pop_back();
    for (const auto& needed : file->needed)
      for (const auto& other : bundle.files)
        if (other.kind == DriverFileKind::library && is_called(other, needed)) choose(other);
  }
  std::vector<const DriverFile*> ordered;
  for (const auto& file : bundle.files)
    if (chosen.contains(&file)) ordered.push_back(&file);
  return ordered;
}

}  // namespace gpuready::vm
