// Actions on one device, and sentences about them: what plans are made of.
#pragma once

#include <string>

#include "vm/plan.h"

namespace gpuready::vm {

PlanStep write_step(const PciFunction& function, const std::string& attribute, std::string value,
                    std::string was, std::string what, std::string why);
PlanStep unbind_step(const PciAddress& device, const std::string& driver);
PlanStep override_step(const PciFunction& function, const std::string& driver);
PlanStep bind_step(const PciAddress& device, const std::string& driver);
PlanStep reset_step(const PciAddress& device, const std::string& methods);
// Ends what hold() did: the device's own driver may have it.
std::vector<PlanStep> release_steps(const PciAddress& device);
// Resets all functions on the device's bus together, while `driver` of VFIO has them.
PlanStep hot_reset_step(const Device& device, const std::string& driver,
                        const Inventory& inventory);
bool is_hot_reset(const PlanAction& action);
// Keeps a device that has no reset in quarantine, until the machine was restarted.
PlanStep no_reset_step(const PciAddress& device);
bool is_no_reset(const PlanAction& action);
// Overwrites and tests the memory of a device that this host's driver has.
PlanStep clean_step(const PciAddress& device);
// The same in a guest made from `bundle`, while VFIO's `driver` has `held`.
PlanStep clean_in_guest_step(const PciAddress& device, std::vector<PciAddress> held,
                             const std::string& driver, const std::string& bundle);
bool is_clean_in_guest(const PlanAction& action);
// Sees that a virtual function is the vGPU that it was.
PlanStep vgpu_step(const PciFunction& function);
// Notes the VBIOS, or compares it with what was noted.
PlanStep vbios_step(const PciAddress& device);
PlanStep service_step(bool stop, const std::string& unit);
// Sentences for an action that undoes another.
std::string describe(const PlanAction& action);

}  // namespace gpuready::vm
