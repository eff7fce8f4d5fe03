#include "cli/commands.h"

#include <vector>

#include "cli/product.h"

namespace gpuready::cli {
namespace {

constexpr CommandEntry kCommands[] = {
    {"check", "Find every GPU, diagnose it and test its memory (the default)", declare_check},
    {"test", "Test every GPU in full: memory, arithmetic, tensor cores, links, endurance",
     declare_test},
    {"selftest", "Prove the tests: inject every fault class many times, count detections",
     declare_selftest},
    {"detect", "List the GPUs and their environment; start only NVML", declare_detect},
    {"doctor", "Diagnose: name the root cause with evidence and cure", declare_doctor},
    {"record", "Record everything that the other commands read, for --replay", declare_record},
    {"policy", "Say what this machine must have, and whether it has it", declare_policy},
    {"gpu-test", "Replace runpod's gpu_test by a real test with the same output", declare_gpu_test},
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
