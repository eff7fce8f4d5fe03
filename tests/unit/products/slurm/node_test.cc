#include "slurm/node.h"

#include <gtest/gtest.h>

namespace gpuready::slurm {
namespace {

// As Slurm 22.05.8 of Debian 12 writes it.
std::string shown(std::string_view state, std::string_view reason = "") {
  std::string text =
      "NodeName=n1 Arch=x86_64 CoresPerSocket=1 \n"
      "   CPUAlloc=0 CPUEfctv=2 CPUTot=2 CPULoad=0.31\n"
      "   AvailableFeatures=(null)\n"
      "   Gres=gpu:2\n"
      "   NodeAddr=127.0.0.1 NodeHostName=host Version=22.05.8\n"
      "   State=";
  text += state;
  text +=
      " ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A\n"
      "   Partitions=p \n"
      "   BootTime=2026-11-25T19:17:14 SlurmdStartTime=2026-11-26T04:00:01\n";
  if (!reason.empty()) text += "   Reason=" + std::string(reason) + "\n";
  return text + "\n";
}

TEST(SlurmNode, StatesAreReadWithoutTheirMarks) {
  const auto node = parse_node(shown("DOWN*+DRAIN+NOT_RESPONDING"), "n1");
  ASSERT_TRUE(node);
  EXPECT_EQ(node->states, (std::vector<std::string>{"DOWN", "DRAIN", "NOT_RESPONDING"}));
  EXPECT_EQ(node->reason, "");
  for (const char* state : {"DOWN", "DRAIN", "NOT_RESPONDING"}) EXPECT_TRUE(node->is(state));
  for (const char* state : {"DOWN*", "IDLE", "DRAINED", ""}) EXPECT_FALSE(node->is(state));
  EXPECT_EQ(parse_node(shown("IDLE~"), "n1")->states, std::vector<std::string>{"IDLE"});
  EXPECT_EQ(parse_node(shown("MIXED#+PLANNED"), "n1")->states,
            (std::vector<std::string>{"MIXED", "PLANNED"}));
}

TEST(SlurmNode, AReasonIsReadWithoutItsAuthor) {
  const auto reason = [](std::string_view text) {
    return parse_node(shown("IDLE+DRAIN", text), "n1")->reason;
  };
  EXPECT_EQ(reason("gpuready: GPU 1: gone (reboot) [root@2026-11-26T04:01:02]"),
            "gpuready: GPU 1: gone (reboot)");
  EXPECT_EQ(reason("see [ticket 12] [slurm@2026-11-26T04:01:02]"), "see [ticket 12]");
  EXPECT_EQ(reason("no author [here]"), "no author [here]");
  EXPECT_EQ(reason("ask [root@n1 or call"), "ask [root@n1 or call");
  EXPECT_EQ(reason("State=IDLE Reason=x"), "State=IDLE Reason=x");
  EXPECT_EQ(reason("(null)"), "");
  EXPECT_EQ(reason("first [root@2026-11-26T04:01:02]\n          second"), "first\nsecond");
}

TEST(SlurmNode, OnlyTheNodeOfThisNameIsRead) {
  auto text = shown("IDLE") + shown("DOWN", "broken [root@x]");
  text.replace(text.rfind("NodeName=n1"), 11, "NodeName=n12");
  EXPECT_EQ(parse_node(text, "n1")->states, std::vector<std::string>{"IDLE"});
  EXPECT_EQ(parse_node(text, "n1")->reason, "");
  EXPECT_EQ(parse_node(text, "n12")->reason, "broken");
  EXPECT_EQ(parse_node(text, "n").error().kind, ErrorKind::not_found);
  EXPECT_EQ(parse_node("Node n1 not found", "n1").error().kind, ErrorKind::not_found);
  EXPECT_EQ(parse_node("NodeName=n1 \n   Gres=gpu:2\n", "n1").error().kind, ErrorKind::io);
}

TEST(SlurmNode, WhoDecidesAboutItFollowsFromItsStates) {
  const auto node = [](std::string_view state) { return *parse_node(shown(state), "n1"); };
  for (const char* free : {"IDLE", "MIXED+DRAIN", "ALLOCATED+COMPLETING+RESERVED"})
    EXPECT_FALSE(held_by_others(node(free))) << free;
  for (const char* held : {"DOWN+DRAIN", "IDLE+MAINTENANCE", "IDLE+REBOOT_ISSUED", "FAIL+DRAIN"})
    EXPECT_TRUE(held_by_others(node(held))) << held;
  EXPECT_TRUE(can_resume(node("IDLE+DRAIN")));
  EXPECT_TRUE(can_resume(node("MIXED+DRAIN+RESERVED")));
  EXPECT_FALSE(can_resume(node("IDLE")));
  EXPECT_FALSE(can_resume(node("DOWN+DRAIN")));
  EXPECT_FALSE(can_resume(node("IDLE+DRAIN+SOMETHING_NEW")));
  EXPECT_FALSE(held_by_others(node("IDLE+SOMETHING_NEW")));
}

}  // namespace
}  // namespace gpuready::slurm
