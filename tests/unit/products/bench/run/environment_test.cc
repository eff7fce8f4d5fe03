// Of which repository git is asked at all.
#include "bench/run/environment.h"

#include <gtest/gtest.h>

#include "bench/record/run_record.h"
#include "host/recording/recording.h"

namespace gpuready::bench {
namespace {

// The programs that were started for a work tree and a .git of these owners, for user 1000.
std::size_t started(unsigned work_tree, unsigned git_folder) {
  Recording machine;
  machine.closed_world = true;
  machine.identity = SystemIdentity{"Linux", "6.1", "x86_64", "a", 1000, {1000}, 0};
  machine.real_paths["."] = "/work/tree/below";
  FileStatus status;
  status.uid = work_tree;
  machine.statuses["/work/tree"] = status;
  status.uid = git_folder;
  machine.statuses["/work/tree/.git"] = status;
  const auto host = make_recorded_host(machine);
  Recording asked;
  RunRecord run;
  add_git_state(run, *make_recording_host(*host, asked));
  return asked.tools.size();
}

TEST(GitState, IsAskedOnlyOfAnOwnRepository) {
  EXPECT_EQ(started(1000, 1000), 1u);
  EXPECT_EQ(started(1000, 4711), 0u);
  EXPECT_EQ(started(4711, 1000), 0u);
  EXPECT_EQ(started(0, 0), 0u);
}

Gpu gpu(int index, const char* name, std::optional<std::string> uuid) {
  Gpu one;
  one.index = index;
  one.name = name;
  one.uuid = std::move(uuid);
  return one;
}

TEST(GpuOfStacks, IsTheFirstOfCudaOrTheOneThatIsNamed) {
  Machine machine;
  EXPECT_EQ(gpu_of_stacks(machine, ""), nullptr);
  machine.gpus = {gpu(0, "AMD Instinct MI300X", "0x1234"), gpu(1, "Intel Arc A770", std::nullopt)};
  EXPECT_EQ(gpu_of_stacks(machine, ""), nullptr);
  machine.gpus.push_back(gpu(2, "NVIDIA H200", "GPU-22222222"));
  machine.gpus.push_back(gpu(3, "NVIDIA L4", "GPU-33333333"));
  EXPECT_EQ(gpu_of_stacks(machine, ""), &machine.gpus[2]);
  EXPECT_EQ(gpu_of_stacks(machine, "2"), &machine.gpus[2]);
  EXPECT_EQ(gpu_of_stacks(machine, "GPU-3"), &machine.gpus[3]);
}

TEST(GpuOfStacks, IsNoneThatCudaDoesNotUse) {
  Machine machine;
  machine.gpus = {gpu(0, "AMD Instinct MI300X", "0x1234"), gpu(1, "Intel\x1b Arc", std::nullopt),
                  gpu(2, "NVIDIA H200", "GPU-22222222")};
  for (const auto& [name, message] :
       {std::pair{"0", "--gpu 0: AMD Instinct MI300X is not a GPU that CUDA uses"},
        {"1", "--gpu 1: Intel? Arc is not a GPU that CUDA uses"}}) {
    const auto found = gpu_of_stacks(machine, name);
    ASSERT_FALSE(found) << name;
    EXPECT_EQ(found.error().kind, ErrorKind::bad_input);
    EXPECT_EQ(found.error().message, message);
  }
  EXPECT_FALSE(gpu_of_stacks(machine, "5"));
}

}  // namespace
}  // namespace gpuready::bench
