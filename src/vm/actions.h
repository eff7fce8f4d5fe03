// Actions on one device, and sentences about them: what plans are made of.
#pragma once

#include <string>

#include "vm/plan.h"

namespace gpuready::vm {

Step write_step(const PciFunction& function, const std::string& attribute, std::string value,
                std::string was, std::string what, std::string why);
Step unbind_step(const PciAddress& device, const std::string& driver);
Step override_step(const PciFunction& function, const std::string& driver);
Step bind_step(const PciAddress& device, const std::string& driver);
Step reset_step(const PciAddress& device, const std::string& methods);
Step service_step(bool stop, const std::string& unit);
// Sentences for an action that undoes another.
std::string describe(const Action& action);

}  // namespace gpuready::vm
