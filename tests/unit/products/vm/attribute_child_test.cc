#include "vm/attribute_child.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/clock.h"
#include "base/text.h"

namespace gpuready::vm {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLong{20'000}, kShort{300};

// Answers with its process id, and does what the path says.
constexpr const char* kChild = R"(#!/bin/sh
[ "$*" = __attribute ] || exit 9
while read -r line <&3; do
  case $line in
    */hangs*) sleep 600 ;;
    */dies*) kill -SEGV $$ ;;
    */ends*) echo "no such place" >&2; exit 2 ;;
    */refuses*) echo '{"code":16,"text":""}' >&3 ;;
    *) echo "{\"code\":0,\"text\":\"$$\"}" >&3 ;;
  esac
done
)";

class VmAttributeChild : public ::testing::Test {
 protected:
  VmAttributeChild() : folder_(::testing::TempDir() + "attribute." + std::to_string(getpid())) {
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ + "/child") << kChild;
    std::filesystem::permissions(folder_ + "/child", std::filesystem::perms::owner_all);
    setenv("GPUREADY_HELPER", (folder_ + "/child").c_str(), 1);
  }
  ~VmAttributeChild() override {
    unsetenv("GPUREADY_HELPER");
    std::filesystem::remove_all(folder_);
  }

  Result<std::string> ask(const std::string& name, milliseconds deadline = kLong) {
    return child_.ask({attribute::kRead, "/sys/bus/pci/devices/" + name, ""}, deadline);
  }
  // Of the child that answers.
  std::string process() { return ask("any").value_or("none"); }

  AttributeChild child_;

 private:
  std::string folder_;
};

TEST_F(VmAttributeChild, OneServesAllRequestsAndAnErrorEndsNothing) {
  const auto first = process();
  EXPECT_TRUE(parse_int(first)) << first;
  const auto refused = ask("refuses");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, 16);
  EXPECT_EQ(refused.error().kind, ErrorKind::busy);
  EXPECT_TRUE(contains(refused.error().message, "/sys/bus/pci/devices/refuses"));
  EXPECT_EQ(process(), first);
}

TEST_F(VmAttributeChild, AHangIsReportedForItsRequestAndTheNextHasAnotherChild) {
  const auto first = process();
  EXPECT_EQ(process(), first);
  const auto start = Clock::now();
  const auto hung = ask("hangs", kShort);
  EXPECT_GE(elapsed_ms(start), static_cast<double>(kShort.count()));
  ASSERT_FALSE(hung);
  EXPECT_EQ(hung.error().kind, ErrorKind::timed_out);
  EXPECT_TRUE(contains(hung.error().message, "/sys/bus/pci/devices/hangs: the driver did not"));
  const auto second = process();
  EXPECT_TRUE(parse_int(second)) << second;
  EXPECT_NE(second, first);
  EXPECT_EQ(process(), second);
}

TEST_F(VmAttributeChild, EachRequestHasItsOwnDeadline) {
  const auto first = ask("any", kShort);
  ASSERT_TRUE(first);
  usleep(static_cast<useconds_t>(2000 * kShort.count()));
  EXPECT_EQ(process(), *first);
}

TEST_F(VmAttributeChild, AChildThatDiesIsReportedForItsRequest) {
  const auto first = process();
  const auto died = ask("dies");
  ASSERT_FALSE(died);
  EXPECT_EQ(died.error().kind, ErrorKind::crashed);
  EXPECT_TRUE(contains(died.error().message, "/sys/bus/pci/devices/dies"));
  const auto ended = ask("ends");
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().kind, ErrorKind::io);
  EXPECT_TRUE(contains(ended.error().message, "no such place"));
  EXPECT_NE(process(), first);
}

TEST_F(VmAttributeChild, AChildThatDiesBetweenRequestsFailsNone) {
  const auto first = process();
  ASSERT_TRUE(parse_int(first)) << first;
  ASSERT_EQ(kill(static_cast<pid_t>(*parse_int(first)), SIGKILL), 0);
  usleep(100'000);
  const auto second = process();
  EXPECT_TRUE(parse_int(second)) << second;
  EXPECT_NE(second, first);
}

TEST_F(VmAttributeChild, OursAccessesAttributes) {
  setenv("GPUREADY_HELPER", GPUREADY_BINARY, 1);
  const std::string absent = "/sys/bus/pci/devices/ffff:ff:1f.7/driver_override";
  const auto written = child_.ask({attribute::kWrite, absent, "vfio-pci"}, kLong);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().kind, ErrorKind::not_found);
  EXPECT_TRUE(contains(written.error().message, absent)) << written.error().message;
  EXPECT_EQ(child_.ask({attribute::kRead, absent, ""}, kLong).value_or("none"), "");
  for (const auto* outside : {"/sys/kernel/x", "/sys/bus/pci/../../kernel/x", ""}) {
    const auto refused = child_.ask({attribute::kRead, outside, ""}, kLong);
    ASSERT_FALSE(refused) << outside;
    EXPECT_EQ(refused.error().kind, ErrorKind::io) << outside;
  }
}

}  // namespace
}  // namespace gpuready::vm
