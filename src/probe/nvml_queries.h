// The table of questions about one device. Each has alternatives, newest first: a driver that lacks
// the symbol, or does not know the structure's version, is asked the older one.
#pragma once

#include <array>
#include <span>

#include "host/probe_document.h"
#include "probe/nvml_types.h"

namespace gpuready::nvml {

// Calls `function` for `device`, sets the value, and gives NVML's code.
using Adapter = int (*)(void* function, Device device, int parameter, Json& value);

struct Alternative {
  const char* symbol = nullptr;
  Adapter adapter = nullptr;
  const char* note = "";  // tells apart alternatives of one symbol: "v3"
};

enum class Level { basic, full };

struct DeviceQuery {
  std::array<Alternative, 3> alternatives;
  Level level = Level::basic;
  const char* argument = "";  // how the key names the parameter: "sm"
  int parameter = 0;
};

}  // namespace gpuready::nvml
