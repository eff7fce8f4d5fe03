// What `vm initrd` wrote, as a document and on a terminal.
#pragma once

#include <string>

#include "report/envelope.h"
#include "vm/initrd/initrd.h"

namespace gpuready {

Json to_json(const std::string& path, const vm::InitrdReport& report,
             const Envelope& envelope);  // schema/vm-initrd
std::string render_terminal(const std::string& path, const vm::InitrdReport& report);

}  // namespace gpuready
