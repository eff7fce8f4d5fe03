#include "probe/ring_files.h"

#include <gtest/gtest.h>

namespace gpuready {
namespace {

// As Linux 6.1 writes it.
std::string ring(unsigned submitted, unsigned completed, const std::string& files,
                 const std::string& polled = "", const std::string& overflowed = "") {
  return "pos:\t0\nflags:\t02000002\nmnt_id:\t15\nino:\t310\nSqMask:\t0x3\nSqHead:\t1\nSqTail:\t1\n"
         "CachedSqHead:\t" +
         std::to_string(submitted) + "\nCqMask:\t0x7\nCqHead:\t0\nCqTail:\t0\nCachedCqTail:\t" +
         std::to_string(completed) +
         "\nSQEs:\t0\nCQEs:\t1\n    0: user_data:0, res:1, "
         "flag:0\nSqThread:\t-1\nSqThreadCpu:\t-1\n"
         "UserFiles:\t" +
         files + "UserBufs:\t0\nPollList:\n" + polled + "CqOverflowList:\n" + overflowed;
}

std::string why_unknown(const std::string& fdinfo) { return ring_files(fdinfo).unknown; }

TEST(RingFiles, WhatIsRegistered) {
  EXPECT_EQ(why_unknown(ring(0, 0, "0\n")), "");
  const auto files =
      ring_files(ring(7, 7, "3\n    0: /dev/nvme0n1\n    1: <none>\n    2: socket:[4]\n"));
  EXPECT_EQ(files.registered, std::vector<std::string>{"/dev/nvme0n1"});
  EXPECT_EQ(files.unknown, "");
  for (const char* hidden : {"1\n", "1\n    0: nvme0n1\n", "2\n    0: own\n    1: <none>\n"})
    EXPECT_EQ(why_unknown(ring(0, 0, hidden)), "those that are registered are not shown") << hidden;
}

TEST(RingFiles, WhatRequestsHold) {
  EXPECT_EQ(why_unknown(ring(1, 0, "0\n", "  op=6, task_works=0\n")), "a request waits for one");
  EXPECT_EQ(why_unknown(ring(5, 4, "0\n")), "requests have not ended");
  EXPECT_EQ(why_unknown(ring(5, 4, "0\n", "", "  user_data=0, res=1, flags=0\n")), "");
  EXPECT_EQ(why_unknown(ring(3, 4294967295u, "0\n")), "requests have not ended") << "4 of them";
  EXPECT_EQ(why_unknown(ring(4, 9, "0\n")), "") << "requests that complete several times";
  EXPECT_EQ(why_unknown("UserFiles:\t0\n"), "its requests are not counted") << "Linux 5.15";
  EXPECT_NE(why_unknown(""), "");
}

}  // namespace
}  // namespace gpuready
