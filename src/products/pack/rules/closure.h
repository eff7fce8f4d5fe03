// Whether a folder of libraries is whole: all that they load is in it or the system's, nothing
// leads out of it, it holds nothing of the driver's, and licences that must go along do. Pure.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pack/code/inspect.h"

namespace gpuready::pack {

enum class ClosureFault {
  missing,          // a library that another needs is not there
  missing_by_name,  // the same of one that is opened by name while the program runs
  run_path,         // libraries are looked for outside the folder
  dangling_link,    // a link whose target is not there
  link_outside,     // a link that leads out of the folder
  driver_library,   // belongs to the driver, and would shadow it
  licence,          // NVIDIA allows to give it on with its licence, which is not there
};
std::string_view to_string(ClosureFault fault);

struct ClosureProblem {
  ClosureFault fault;
  std::string file;  // relative to the folder
  std::string text;  // one sentence: what is wrong and what to do
};

// `system`: libraries that the target system has, beside glibc's, the compiler's run time and the
// driver's, by exact name.
std::vector<ClosureProblem> check_closure(const Inspection& folder,
                                          std::span<const std::string> system);

// What a library is to whoever packs it: of NVIDIA's driver; one that NVIDIA's licences list as one
// that may be given on (its text must go with it); or neither, and so the packer's own matter.
enum class Ownership { other, driver, redistributable };
Ownership ownership_of(std::string_view file_name);

}  // namespace gpuready::pack
