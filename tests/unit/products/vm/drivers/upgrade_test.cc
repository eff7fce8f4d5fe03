#include "vm/drivers/upgrade.h"

#include <algorithm>

#include "doubles/failing_storage.h"
#include "unit/products/vm/driver_folder.h"
#include "vm/drivers/catalogue.h"

namespace gpuready::vm {
namespace {

TestResult result_of(const std::vector<BundleTest>& tests, const std::string& name) {
  const auto found = std::ranges::find(tests, name, &BundleTest::name);
  EXPECT_NE(found, tests.end()) << name;
  return found == tests.end() ? TestResult::not_tested : found->result;
}

DriverBundle bundle(const std::string& version, const std::vector<std::string>& kernels,
                    const std::vector<std::string>& libraries) {
  DriverBundle out;
  out.driver_version = version;
  out.kernel_releases = kernels;
  for (const auto& name : libraries)
    out.files.push_back(
        {.path = "lib/" + name + ".so." + version,
         .kind = DriverFileKind::library,
         .size_bytes = 10,
         .soname = name == "libgpucomp" ? name + ".so." + version : name + ".so.1"});
  return out;
}

TEST(Upgrade, FilesThatDifferByVersionAloneAreTheSame) {
  const auto diff =
      compare_bundles(bundle("570.86.16", {"6.1"}, {"libcuda", "libgpucomp"}),
                      bundle("580.65.06", {"6.1", "6.12"}, {"libcuda", "libgpucomp", "libnew"}));
  EXPECT_EQ(diff.added, std::vector<std::string>{"lib/libnew.so.VERSION"});
  EXPECT_TRUE(diff.removed.empty());
  EXPECT_TRUE(diff.lost_libraries.empty());
  EXPECT_EQ(diff.new_kernels, std::vector<std::string>{"6.12"});
  EXPECT_EQ(diff.more_bytes, 10);
  const auto tests = test_diff(diff);
  for (const char* name : {"names", "kernels", "CUDA"})
    EXPECT_EQ(result_of(tests, name), TestResult::passed) << name;
}

TEST(Upgrade, WhatIsServedNoLongerFails) {
  const auto tests =
      test_diff(compare_bundles(bundle("580.65.06", {"6.1", "6.12"}, {"libcuda", "libx"}),
                                bundle("550.54.15", {"6.12"}, {"libcuda"})));
  for (const char* name : {"names", "kernels", "CUDA"})
    EXPECT_EQ(result_of(tests, name), TestResult::failed) << name;
  // A driver that the catalogue does not know is not passed.
  EXPECT_EQ(
      result_of(test_diff(compare_bundles(bundle("580.65.06", {}, {}), bundle("999.1", {}, {}))),
                "CUDA"),
      TestResult::not_tested);
}

TEST(Upgrade, TheGpusOfTheMachineDecide) {
  const auto of = [](const char* version, std::uint16_t device) {
    return test_gpus(bundle(version, {}, {}), {{0x10de, device}}).result;
  };
  EXPECT_EQ(of("580.65.06", 0x2330), TestResult::passed);  // Hopper
  EXPECT_EQ(of("515.48.07", 0x2330), TestResult::failed);
  EXPECT_EQ(of("580.65.06", 0x1db6), TestResult::passed);  // Volta
  EXPECT_EQ(of("590.44.01", 0x1db6), TestResult::failed);
  EXPECT_EQ(of("580.65.06", 0xffff), TestResult::not_tested);
  EXPECT_EQ(of("999.1", 0x2330), TestResult::not_tested);
  EXPECT_EQ(test_gpus(bundle("580.65.06", {}, {}), {}).result, TestResult::not_tested);
}

TEST(Upgrade, TheLinkLeadsToTheOldOrTheNewWhateverFails) {
  const auto host = test_host();
  for (const auto kind :
       {StorageFault::Kind::once, StorageFault::Kind::from_then_on, StorageFault::Kind::killed}) {
    for (std::size_t at = 1; at <= 8; ++at) {
      SCOPED_TRACE(std::to_string(at));
      TestFolder folder;
      folder.write("old/bundle.json", "{}");
      folder.write("new/bundle.json", "{}");
      ASSERT_TRUE(switch_bundle(live_storage(), folder.path(), "old"));
      FailingStorage storage(live_storage(), {at, kind, EIO}, {});
      const auto done = switch_bundle(storage, folder.path(), "new");
      const auto now = current_bundle(*host, folder.path());
      ASSERT_TRUE(now) << now.error().message;
      EXPECT_TRUE(*now == "old" || *now == "new");
      if (done) {
        EXPECT_EQ(*now, "new");
      }
      if (kind == StorageFault::Kind::once) {
        EXPECT_EQ(folder.count(), 3u);
      }
      ASSERT_TRUE(switch_bundle(live_storage(), folder.path(), "new"));
      EXPECT_EQ(current_bundle(*host, folder.path()).value(), "new");
      EXPECT_EQ(folder.count(), 3u);
    }
  }
}

}  // namespace
}  // namespace gpuready::vm
