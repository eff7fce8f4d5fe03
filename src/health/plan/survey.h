// What of this machine may be tested, how far, and by which executor. Pure: "do no harm" is decided
// here.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "device/open_device.h"
#include "gpuready/machine.h"
#include "gpuready/verdict.h"
#include "health/test.h"
#include "health/worker/job.h"

namespace gpuready {

struct SurveyOptions {
  TestOptions test = {};                  // what every target's options start from
  bool busy = false;                      // test GPUs that others use, too, leaving memory to them
  bool half_of_free = false;              // with busy: half of the free memory is left, not more
  std::vector<std::string> devices = {};  // --device; empty: all
  std::vector<int> leave_out = {};        // indices of GPUs that no one asks about
};

// A device that may be tested: a GPU, a MIG instance, or the host itself.
struct Target {
  std::string subject;
  const Gpu* gpu = nullptr;  // null: the host, or software
  DeviceChoice device;
  std::optional<std::string> pci_address;
  TestOptions options;
};

struct Refusal {
  VerdictStatus status;
  std::string reason;
};
struct Refused {
  std::string subject;
  const Gpu* gpu;  // null: no GPU, but what was asked for in its place
  Refusal why;
};

struct Survey {
  std::vector<Target> targets;
  std::vector<Refused> refused;
};

// Without GPU hardware here (or where "cpu" is named) the host's memory and processor are a target.
Survey survey_devices(const Machine& machine, const SurveyOptions& options);

// The verdict on a device on which this test is not run; without a GPU it names none.
Verdict not_run(const HealthTest& test, std::string subject, const Gpu* gpu, Refusal why);

// Does the list name this GPU, by index, PCI address, UUID or a UUID's unambiguous beginning? A
// list that names no GPU but executors only ("cuda") means every GPU.
bool names_gpu(const std::vector<std::string>& devices, const Gpu& gpu);
// By itself, so that "cuda" names none.
bool names_this_gpu(const std::vector<std::string>& devices, const Gpu& gpu);

// What uses this GPU, as a reason not to test it; nothing when it is idle.
std::optional<std::string> why_busy(const Gpu& gpu);
// The same of devices that were idle before, as a machine that was looked at again shows them.
std::optional<std::string> why_busy_now(const Machine& now, const TestJob& job);

}  // namespace gpuready
