#include "vm/drivers/upgrade.h"

#include <algorithm>

#include "doubles/failing_storage.h"
#include "unit/products/vm/driver_folder.h"
#include "unit/products/vm/fake_kernel.h"
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
  // A GPU of an unknown kind does not hide one that is not served.
  constexpr std::pair<std::uint16_t, std::uint16_t> kVolta{0x10de, 0x1db6},
      kUnknown{0x10de, 0xffff};
  for (const auto& both : {std::vector{kVolta, kUnknown}, {kUnknown, kVolta}}) {
    EXPECT_EQ(test_gpus(bundle("590.44.01", {}, {}), both).result, TestResult::failed);
    EXPECT_EQ(test_gpus(bundle("580.65.06", {}, {}), both).result, TestResult::not_tested);
  }
}

TEST(Upgrade, NamesEitherSourcesOrAnExistingBundle) {
  const auto error = [](const std::vector<std::string>& from,
                        const std::optional<std::string>& name,
                        const std::optional<std::string>& to) {
    const auto checked = check_upgrade(from, name, to);
    return checked ? "" : checked.error().message;
  };
  const std::string either =
      "name either the sources of the new bundle (FROM), or with --to an existing bundle";
  EXPECT_EQ(error({"/"}, {}, {}), "");
  EXPECT_EQ(error({"/"}, "580-new", {}), "");
  EXPECT_EQ(error({}, {}, "580"), "");
  EXPECT_EQ(error({}, {}, {}), either);
  EXPECT_EQ(error({"/"}, {}, "580"), either);
  for (const char* name : {"a/b", "..", ".hidden", "current", ""}) {
    EXPECT_EQ(error({"/"}, name, {}),
              "--name " + std::string(name) + ": expected the name of a bundle in the folder");
    EXPECT_EQ(error({}, {}, name),
              "--to " + std::string(name) + ": expected the name of a bundle in the folder");
  }
  EXPECT_EQ(error({}, "a/b", "580"), "--name a/b: expected the name of a bundle in the folder");
}

TEST(Upgrade, OneRunsAtATimeInAFolder) {
  TestFolder folder;
  const auto absent = lock_bundles(live_storage(), folder.path("absent"));
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().kind, ErrorKind::not_found);
  EXPECT_EQ(absent.error().message,
            folder.path("absent") + ": this folder of bundles does not exist");
  {
    const auto first = lock_bundles(live_storage(), folder.path());
    ASSERT_TRUE(first) << first.error().message;
    const auto second = lock_bundles(live_storage(), folder.path());
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().kind, ErrorKind::busy);
    EXPECT_EQ(second.error().message, folder.path() + ": another upgrade of it runs now");
  }
  EXPECT_TRUE(lock_bundles(live_storage(), folder.path())) << "it is released";
  // Another error is the storage's own.
  FailingStorage failing(live_storage(), {1, StorageFault::Kind::once, EIO}, {});
  const auto broken = lock_bundles(failing, folder.path());
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code, EIO);
}

TEST(Upgrade, OfTheMachinesDevicesNvidiaGpusCount) {
  FakeKernel kernel;
  kernel.add("0000:17:00.0", {});
  kernel.add("0000:17:00.1", {.class_code = "0x040300"});  // its audio function
  kernel.add("0000:18:00.0", {.vendor = "0x1002"});        // another vendor's
  kernel.add("0000:19:00.0", {.class_code = "0x030000"});  // with a display
  using Ids = std::vector<std::pair<std::uint16_t, std::uint16_t>>;
  EXPECT_EQ(nvidia_gpus(kernel), (Ids{{0x10de, 0x2330}, {0x10de, 0x2330}}));
  EXPECT_EQ(nvidia_gpus(*std::make_unique<FakeKernel>()), Ids());
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
