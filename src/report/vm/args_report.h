// What `vm args` tells.
#pragma once

#include <string>

#include "report/envelope.h"
#include "vm/guest_args.h"

namespace gpuready {

Json to_json(const vm::GuestArgs& args, const std::string& hypervisor,
             const Envelope& envelope);  // schema/vm-args
// To be copied: one line of arguments, or XML. Notes are comments of the shell or of XML.
std::string render_args(const vm::GuestArgs& args);

}  // namespace gpuready
