#include "base/units.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "base/clock.h"
#include "base/result.h"

namespace gpuready {
namespace {

TEST(Units, Bytes) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(256 * MiB), "256 MiB");
  EXPECT_EQ(format_bytes(3 * GiB / 2), "1.5 GiB");
}

TEST(Units, Rates) {
  EXPECT_EQ(format_rate(4.31e12), "4.31 TB/s");
  EXPECT_EQ(format_rate(52.3e9), "52.3 GB/s");
  EXPECT_EQ(format_rate(0), "0 B/s");
}

TEST(Units, Durations) {
  EXPECT_EQ(format_duration_ms(34.6), "34.6 ms");
  EXPECT_EQ(format_duration_ms(1240), "1.24 s");
  EXPECT_EQ(format_duration_ms(0.08), "80.0 us");
}

TEST(Units, PercentIsNeverRoundedUpToAll) {
  EXPECT_EQ(format_percent(0.9951), "99.5%");
  EXPECT_EQ(format_percent(0.9999), "99.9%");
  EXPECT_EQ(format_percent(1.0), "100.0%");
  EXPECT_EQ(format_percent(0.5, 0), "50%");
}

TEST(Units, HexIsPadded) {
  EXPECT_EQ(format_hex(0xff, 4), "0x00ff");
  EXPECT_EQ(format_hex(0), "0x0");
}

TEST(Clock, Utc) {
  EXPECT_EQ(format_utc(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(format_utc(1'772'366'400), "2026-03-01T12:00:00Z");
}

TEST(Errors, KindFollowsFromErrno) {
  EXPECT_EQ(fail_errno("x", ENOENT).error().kind, ErrorKind::not_found);
  EXPECT_EQ(fail_errno("x", EPERM).error().kind, ErrorKind::no_permission);
  EXPECT_EQ(fail_errno("x", EBUSY).error().kind, ErrorKind::busy);
  EXPECT_EQ(fail_errno("x", EIO).error().kind, ErrorKind::io);
  EXPECT_EQ(fail_errno("x", EIO).error().code, EIO);
  EXPECT_EQ(fail_errno("/a", ENOENT).error().message, "/a: No such file or directory");
}

}  // namespace
}  // namespace gpuready
