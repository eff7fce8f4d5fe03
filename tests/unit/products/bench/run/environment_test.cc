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

}  // namespace
}  // namespace gpuready::bench
