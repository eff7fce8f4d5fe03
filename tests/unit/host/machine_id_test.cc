#include "host/machine_id.h"

#include <gtest/gtest.h>

#include "host/recording/recording.h"

namespace gpuready {
namespace {

constexpr const char* kSecret = "0123456789abcdef0123456789abcdef";

Recording with(std::string machine, std::string boot) {
  Recording recording;
  recording.closed_world = true;
  recording.files["/etc/machine-id"] = std::move(machine);
  recording.files["/proc/sys/kernel/random/boot_id"] = std::move(boot);
  return recording;
}

TEST(MachineId, IsStableAndNotTheSecret) {
  const auto id = app_specific_id(std::string(kSecret) + "\n");
  ASSERT_TRUE(id);
  EXPECT_EQ(id->size(), 32u);
  EXPECT_EQ(id->find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ((*id)[12], '4') << "a random UUID by its form";
  EXPECT_EQ(id->find(std::string(kSecret).substr(0, 8)), std::string::npos);
  EXPECT_EQ(app_specific_id(kSecret), id);
  EXPECT_NE(app_specific_id("0123456789abcdef0123456789abcdee"), id);
}

TEST(MachineId, IsAbsentWhereThereIsNone) {
  for (const char* text : {"", "uninitialized\n", "0123", "00000000000000000000000000000000",
                           "0123456789abcdef0123456789abcdeg"})
    EXPECT_FALSE(app_specific_id(text)) << text;
}

TEST(MachineId, IsReadThroughTheHost) {
  const auto host = make_recorded_host(with(kSecret, "1f2e3d4c-5b6a-4978-8796-a5b4c3d2e1f0\n"));
  EXPECT_EQ(machine_id(*host), app_specific_id(kSecret));
  EXPECT_EQ(boot_id(*host), "1f2e3d4c5b6a49788796a5b4c3d2e1f0");
  const auto bare = make_recorded_host(with("", "text"));
  EXPECT_FALSE(machine_id(*bare));
  EXPECT_FALSE(boot_id(*bare));
}

}  // namespace
}  // namespace gpuready
