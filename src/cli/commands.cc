#include "cli/commands.h"

namespace gpuready::cli {
namespace {

constexpr CommandEntry kCommands[] = {
    {"check", "Find every GPU, diagnose it and test its memory (the default)", declare_check},
    {"test", "Test every GPU in full: memory, arithmetic, tensor cores, links, endurance",
     declare_test},
    {"selftest", "Prove the tests: inject every fault class many times and count what is found",
     declare_selftest},
    {"detect", "List the GPUs and what surrounds them; nothing is started but NVML",
     declare_detect},
    {"doctor", "Name the one cause when something is wrong, with proof and cure", declare_doctor},
    {"record", "Record everything that the other commands read, for --replay", declare_record},
    {"gpu-test", "The text contract of runpod's gpu_test, earned by a real test", declare_gpu_test},
    {"ternary", "Ternary (1.58-bit) weights: GGUF files, and the kernels that multiply by them",
     declare_ternary},
    {"pack", "GPU packages: what code files hold, and what of it a machine can load", declare_pack},
    {"bench", "Benchmarks of compiler stacks: compare runs, and say how sure that is",
     declare_bench},
    {"vm", "GPUs for virtual machines: attach, give back, driver bundles for guests", declare_vm},
};

}  // namespace

std::span<const CommandEntry> all_commands() { return kCommands; }

}  // namespace gpuready::cli
