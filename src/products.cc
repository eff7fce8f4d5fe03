// The products of this build, as CMake lists them in products.inc.
#include <vector>

#include "cli/product.h"

namespace gpuready::cli {

#define GPUREADY_PRODUCT(name) extern const Product name##_product;
#define GPUREADY_LEFT_OUT_PRODUCT(name)
#include "products.inc"
#undef GPUREADY_PRODUCT
#undef GPUREADY_LEFT_OUT_PRODUCT

std::span<const Product> all_products() {
  static const std::vector<Product> products = {
#define GPUREADY_PRODUCT(name) name##_product,
#define GPUREADY_LEFT_OUT_PRODUCT(name)
#include "products.inc"
#undef GPUREADY_PRODUCT
#undef GPUREADY_LEFT_OUT_PRODUCT
  };
  return products;
}

std::span<const std::string_view> left_out_products() {
  static const std::vector<std::string_view> names = {
#define GPUREADY_PRODUCT(name)
#define GPUREADY_LEFT_OUT_PRODUCT(name) #name,
#include "products.inc"
  };
  return names;
}

}  // namespace gpuready::cli
