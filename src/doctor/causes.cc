#include <algorithm>
#include <iterator>

#include "doctor/cause.h"

namespace gpuready::doctor {

const std::vector<Cause>& causes() {
  static const std::vector<Cause> kAll = [] {
    std::vector<Cause> all;
    for (auto* area : {bus_causes,   bind_causes,    adapter_causes, recovery_causes, start_causes,
                       pcie_causes,  probe_causes,   library_causes, toolkit_causes,  access_causes,
                       uvm_causes,   visible_causes, state_causes,   fabric_causes,   health_causes,
                       amd_causes,   intel_causes,   network_causes, symptom_causes,  unseen_causes,
                       known_causes, change_causes}) {
      auto rows = area();
      all.insert(all.end(), std::make_move_iterator(rows.begin()),
                 std::make_move_iterator(rows.end()));
    }
    return all;
  }();
  return kAll;
}

Ids both(Ids some, const Ids& more) {
  some.insert(some.end(), more.begin(), more.end());
  return some;
}

const Cause& find_cause(std::string_view id) {
  return *std::ranges::find(causes(), id, &Cause::id);
}

}  // namespace gpuready::doctor
