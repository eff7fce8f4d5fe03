// GPUs of a machine that is not there.
#pragma once

#include <string_view>
#include <vector>

#include "base/text.h"
#include "pack/store/select.h"

namespace gpuready::pack {

// "8.6,9.0,gfx942"; of what is not an architecture there is none.
inline std::vector<SelectGpu> gpus_of(std::string_view text) {
  std::vector<SelectGpu> gpus;
  for (const auto part : split(text, ","))
    if (const auto target = parse_target_gpu(part)) gpus.emplace_back().target = *target;
  return gpus;
}

}  // namespace gpuready::pack
