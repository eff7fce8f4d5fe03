// The lines of hypeman's init, old ("overlay-init: ...") and new ("TIME [INFO] [gpu] ..."), as
// steps.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "vm/guest/steps.h"

namespace gpuready::vm {

bool is_hypeman_line(std::string_view line);
// Of a line that is about the GPU.
std::optional<Step> hypeman_step(std::string_view line);
// The driver's libraries were injected and no step failed.
bool hypeman_is_ready(const std::vector<Step>& steps);

}  // namespace gpuready::vm
