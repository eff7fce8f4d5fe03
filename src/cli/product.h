// What a product (src/products/) adds to the program. The program lists those of its build
// (src/products.cc), so the core includes none.
#pragma once

#include "cli/command_line.h"
#include "host/host.h"
#include "machine/inspect.h"

namespace gpuready::cli {

// What the program starts itself as. Vendors' libraries are loaded in these children only.
struct OwnMode {
  std::string_view name;
  int (*run)(std::span<const std::string> args);
};

struct Product {
  CommandEntry command;
  std::span<const OwnMode> modes = {};
  // Reads what the product's commands read of a machine, so that `record` notes it.
  void (*read)(Host& host, const Machine& machine) = nullptr;
};

std::span<const Product> all_products();
// Names of the products that this build leaves out (CMake's GPUREADY_ONLY).
std::span<const std::string_view> left_out_products();

}  // namespace gpuready::cli
