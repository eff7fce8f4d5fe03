#include "cli/commands.h"

#include <vector>

#include "cli/product.h"

namespace gpuready::cli {
namespace {

constexpr CommandEntry kCommands[] = {
    {"check", "Find every GPU, diagnose it, test its memory and arithmetic (the default)",
     declare_check,
     "check  # about 2 s for each GPU\n"
     "check --expect 8xH100 --json  # exit code 3 if one is missing\n"
     "check --html report.html"},
    {"test", "Test every GPU in full: memory, arithmetic, tensor cores, links, endurance",
     declare_test,
     "test  # all tests, about 30 s\n"
     "test --level thorough --device 0  # one GPU, about 6 min\n"
     "test --only memory --duration 1h"},
    {"selftest", "Prove the tests: inject every fault class many times, count detections",
     declare_selftest,
     "selftest  # 100 trials of each fault class\n"
     "selftest --device cpu --trials 5  # without a GPU"},
    {"detect", "List the GPUs and their environment; start only NVML", declare_detect,
     "detect\n"
     "detect --full --json  # also CUDA, Vulkan and ROCm\n"
     "detect --replay machine.tar.zst"},
    {"doctor", "Diagnose: name the root cause with evidence and cure", declare_doctor,
     "doctor\n"
     "doctor --replay machine.tar.zst  # another machine's recording\n"
     "doctor --baseline before.tar.zst  # what was lost since then"},
    {"record", "Record everything that the other commands read, for --replay", declare_record,
     "record machine.tar.zst\n"
     "record --redact machine.tar.zst  # without names and serial numbers"},
    {"status", "Print the latest result of check and test at once; test nothing", declare_status,
     "status  # one line, within milliseconds\n"
     "status --valid 7d --json"},
    {"policy", "Say what this machine must have, and whether it has it", declare_policy,
     "policy init policy.toml  # what this machine has now\n"
     "policy check policy.toml"},
    {"gpu-test", "Replace runpod's gpu_test with a real test", declare_gpu_test,
     "gpu-test\n"
     "gpu-test --replay machine.tar.zst"},
};

}  // namespace

std::span<const CommandEntry> all_commands() {
  static const std::vector<CommandEntry> commands = [] {
    std::vector<CommandEntry> list(std::begin(kCommands), std::end(kCommands));
    for (const Product& product : all_products()) list.push_back(product.command);
    return list;
  }();
  return commands;
}

}  // namespace gpuready::cli
