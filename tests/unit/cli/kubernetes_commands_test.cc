// `kubernetes event`, run in this process: which node it speaks of, and what it says where nothing
// listens.
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/text.h"
#include "unit/cli/run_command.h"
#include "unit/test_folder.h"

namespace gpuready::cli {
namespace {

test::Ran event(std::vector<std::string> args) {
  args.insert(args.begin(),
              {"event", "--state", "none", "--replay",
               std::string(GPUREADY_SOURCE_DIR) + "/tests/machines/base-hgx-h100x8/machine.json"});
  return test::run_command("kubernetes", std::move(args));
}

TEST(KubernetesEvent, TheNodeIsNamedByAnOptionOrAVariable) {
  const TestFolder folder;
  const std::string socket = folder.path("none");
  ::unsetenv("NODE_NAME");
  const auto unnamed = event({"--socket", socket});
  EXPECT_EQ(unnamed.exit, 2);
  EXPECT_EQ(unnamed.err,
            "gpuready: which node? Name it as Kubernetes does, by --node or NODE_NAME\n");
  EXPECT_EQ(event({"--socket", socket, "--node", "n1"}).exit, 4);
  ::setenv("NODE_NAME", "n1", 1);
  EXPECT_EQ(event({"--socket", socket}).exit, 4);
  ::unsetenv("NODE_NAME");
}

TEST(KubernetesEvent, WithoutAListenerItsEndIsUnknown) {
  const TestFolder folder;
  for (const std::string scheme : {"", "unix://"}) {
    const auto ran = event({"--node", "n1", "--socket", scheme + folder.path("none")});
    EXPECT_EQ(ran.exit, 4);
    EXPECT_EQ(ran.out, "");
    EXPECT_TRUE(ran.err.starts_with("gpuready: NVSentinel was not told: " + folder.path("none") +
                                    ": No such file"))
        << ran.err;
  }
}

}  // namespace
}  // namespace gpuready::cli
