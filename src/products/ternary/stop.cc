#include "ternary/stop.h"

#include <utility>

#include "gpuready/ternary.h"

namespace gpuready::ternary {
namespace {

thread_local const std::stop_token* innermost = nullptr;

}  // namespace

StopSignal StopSignal::of_this_thread() { return StopSignal(innermost); }

StopScope::StopScope(std::stop_token token)
    : token_(std::move(token)), before_(std::exchange(innermost, &token_)) {}
StopScope::~StopScope() { innermost = before_; }

}  // namespace gpuready::ternary
