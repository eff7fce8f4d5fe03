#include "cli/commands.h"

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
    {"ternary", "Inspect, convert, verify and benchmark ternary (1.58-bit) weights",
     declare_ternary},
    {"pack", "Inspect, build, sign and install GPU code packages", declare_pack},
    {"bench", "Benchmark compiler stacks and compare runs with confidence intervals",
     declare_bench},
    {"vm", "Pass GPUs to virtual machines; driver bundles for guests", declare_vm},
};

}  // namespace

std::span<const CommandEntry> all_commands() { return kCommands; }

}  // namespace gpuready::cli
