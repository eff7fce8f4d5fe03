#include "vm/diagnose/hypeman_steps.h"

#include <algorithm>

#include "base/paths.h"
#include "base/text.h"
#include "vm/diagnose/console_causes.h"

namespace gpuready::vm {
namespace {

struct HypemanRow {
  std::string_view pattern;
  StepState state;
  std::string_view kind, subject;  // an empty subject: the module that the line names
};
// "NVIDIA modules loaded" is not a proof: both inits say so after a load that failed, too.
constexpr HypemanRow kHypemanRows[] = {
    {"loading NVIDIA kernel modules", StepState::ok, "config", "HAS_GPU"},
    {".ko load failed", StepState::failed, "module", ""},
    {".ko not found", StepState::failed, "module", ""},
    {"insmod *.ko failed", StepState::failed, "module", ""},
    {"NVIDIA modules not found in", StepState::failed, "module", "nvidia"},
    {"/lib/modules not found, skipping NVIDIA", StepState::failed, "module", "nvidia"},
    {"failed to load GPU drivers", StepState::failed, "module", "nvidia"},
    {"nvidia-modprobe failed", StepState::failed, "node", "/dev/nvidiactl"},
    {"nvidia-modprobe -u failed", StepState::failed, "node", "/dev/nvidia-uvm"},
    {"failed to create device nodes", StepState::failed, "node", "/dev/nvidiactl"},
    {"created /dev/nvidia-uvm", StepState::ok, "node", "/dev/nvidia-uvm"},
    {"created /dev/nvidiactl", StepState::ok, "node", "/dev/nvidiactl"},
    {"nvidia-modprobe completed", StepState::ok, "node", "/dev/nvidiactl"},
    {"failed to inject driver libraries", StepState::failed, "library", "libcuda.so.1"},
    {"NVIDIA driver libraries injected", StepState::ok, "library", "libcuda.so.1"},
    {"injected NVIDIA driver libraries", StepState::ok, "library", "libcuda.so.1"},
};

std::string module_of(std::string_view line) {
  for (const auto word : split(line, " \t:'\""))
    if (word.ends_with(".ko")) {
      const auto name = base_name(word);
      return std::string(name.substr(0, name.size() - 3));
    }
  return "nvidia";
}

}  // namespace

bool is_hypeman_line(std::string_view line) {
  return contains(line, "overlay-init: ") || fits(line, "Z [INFO] [*] ") ||
         fits(line, "Z [ERROR] [*] ");
}

std::optional<Step> hypeman_step(std::string_view line) {
  if (!is_hypeman_line(line)) return std::nullopt;
  for (const auto& row : kHypemanRows) {
    if (!fits(line, row.pattern)) continue;
    Step step{.state = row.state,
              .kind = std::string(row.kind),
              .subject = std::string(row.subject),
              .text = std::string(line)};
    if (step.subject.empty()) step.subject = module_of(line);
    return step;
  }
  return std::nullopt;
}

bool hypeman_is_ready(const std::vector<Step>& steps) {
  return std::ranges::any_of(steps,
                             [](const Step& step) {
                               return step.kind == "library" && step.state == StepState::ok;
                             }) &&
         std::ranges::none_of(steps,
                              [](const Step& step) { return step.state == StepState::failed; });
}

}  // namespace gpuready::vm
