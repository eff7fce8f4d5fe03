// The C interface of StopScope. Nothing is thrown across it.
#include <optional>
#include <stop_token>

#include "base/c_api/c_status.h"
#include "gpuready/ternary.h"
#include "gpuready/ternary_c.h"

using namespace gpuready::ternary;
using gpuready::c_call;
using gpuready::null_pointer;

struct gpuready_ternary_cancel {
  std::stop_source source;
};

namespace {

thread_local std::optional<StopScope> used;

}  // namespace

extern "C" {

gpuready_status gpuready_ternary_cancel_create(gpuready_ternary_cancel** cancel) {
  return c_call([&]() -> Result<void> {
    if (cancel == nullptr) return null_pointer("cancel");
    *cancel = nullptr;
    *cancel = new gpuready_ternary_cancel;
    return {};
  });
}
void gpuready_ternary_cancel_destroy(gpuready_ternary_cancel* cancel) { delete cancel; }

gpuready_status gpuready_ternary_cancel_use(gpuready_ternary_cancel* cancel) {
  return c_call([&]() -> Result<void> {
    used.reset();
    if (cancel != nullptr) used.emplace(cancel->source.get_token());
    return {};
  });
}
gpuready_status gpuready_ternary_cancel_request(gpuready_ternary_cancel* cancel) {
  return c_call([&]() -> Result<void> {
    if (cancel == nullptr) return null_pointer("cancel");
    cancel->source.request_stop();
    return {};
  });
}

}  // extern "C"
