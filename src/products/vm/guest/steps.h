// What the guest's init does, as lines on its console, for people and for programs:
//   gpuready-guest: 1.234 ok module nvidia: loaded, driver 580.65.06
//   gpuready-guest: 1.250 FAIL node /dev/nvidia0: no GPU answers
// The time is in seconds since the init's start.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/named.h"

namespace gpuready::vm {

enum class StepState { ok, skipped, warning, failed };

struct Step {
  double seconds = 0;
  StepState state = StepState::ok;
  std::string kind;     // mount, config, module, node, root, library, loader, check, start
  std::string subject;  // one word: "nvidia", "/dev/nvidia0", "libcuda.so.1"
  std::string text;
};

std::string to_line(const Step& step);  // without a newline
// The steps among the lines of a console; other lines, and times of the kernel before a line, are
// passed over.
std::vector<Step> steps_in(std::string_view console);

class Steps {
 public:
  explicit Steps(std::function<void(const Step&)> tell) : tell_(std::move(tell)) {}
  void add(StepState state, std::string kind, std::string subject, std::string text);
  bool any_failed() const { return failed_; }

 private:
  Clock::time_point start_ = Clock::now();
  std::function<void(const Step&)> tell_;
  bool failed_ = false;
};

}  // namespace gpuready::vm

namespace gpuready {
NAMES_OF(vm::StepState, "ok", "skip", "warn", "FAIL");
}  // namespace gpuready
