// Each call that an install makes to the disk fails in turn, or is where the process dies: the old
// version or the new one is whole and current then, and the next install succeeds.
#include "doubles/failing_storage.h"
#include "unit/products/pack/workshop.h"

namespace gpuready::pack {
namespace {

using Kind = StorageFault::Kind;

const Workshop::Files kOld = {{"lib/a", "old a"}, {"lib/b", "same"}, {"lib/l", "-> a"}};
const Workshop::Files kNew = {
    {"lib/a", "new a"}, {"lib/b", "same"}, {"lib/l", "-> a"}, {"c", noise(3000, 1)}};

class InstallWalk : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(error_text(shop_.publish("1.0", {{"cpu", kOld}}, "old")), "");
    ASSERT_EQ(error_text(shop_.publish("1.1", {{"cpu", kNew}}, "new")), "");
  }

  InstallOptions options() const {
    auto how = shop_.options();
    how.at_once = 1;  // the calls of a walk have one order
    return how;
  }

  void begin(bool over_old) {
    std::filesystem::remove_all(shop_.root + "/store");
    std::filesystem::remove_all(shop_.root + "/config");
    if (over_old) {
      ASSERT_EQ(shop_.install("cpu", options(), "old").end, InstallEnd::installed);
    }
  }

  bool is_whole(const Workshop::Files& files) const {
    for (const auto& [path, text] : files)
      if (shop_.installed(path) != (text.starts_with("-> ") ? files.at("lib/a") : text))
        return false;
    return true;
  }

  void walk(bool over_old, std::set<StorageCall> unsupported) {
    begin(over_old);
    FailingStorage count(live_storage(), {}, unsupported);
    auto how = options();
    how.storage = &count;
    const auto done = shop_.install("cpu", how, "new");
    ASSERT_EQ(done.end, InstallEnd::installed) << done.error->message;
    for (const StorageFault fault : {StorageFault{0, Kind::once, ENOSPC},
                                     {0, Kind::from_then_on, EROFS},
                                     {0, Kind::killed, 0}}) {
      for (std::size_t at = 1; at <= count.calls(); ++at) {
        SCOPED_TRACE("call " + std::to_string(at) + " of " + std::to_string(count.calls()) +
                     ", error " + std::to_string(fault.error_number));
        begin(over_old);
        FailingStorage failing(live_storage(), {at, fault.kind, fault.error_number}, unsupported);
        how.storage = &failing;
        const auto outcome = shop_.install("cpu", how, "new");
        const bool now_new = is_whole(kNew);
        const bool nothing = !over_old && !std::filesystem::exists(shop_.root + "/store/current");
        EXPECT_TRUE(now_new || nothing || (over_old && is_whole(kOld)));
        EXPECT_EQ(std::filesystem::exists(shop_.root + "/store/current/c"), now_new);
        if (outcome.end == InstallEnd::installed) {
          EXPECT_TRUE(now_new);
        }
        if (fault.kind == Kind::killed) {
          // After the switch only what programs are told is left to write.
          EXPECT_TRUE(outcome.error || (now_new && !outcome.notes.empty()));
        }
        const auto next = shop_.install("cpu", options(), "new");
        EXPECT_TRUE(next.end == InstallEnd::installed || next.end == InstallEnd::unchanged)
            << (next.error ? next.error->message : "");
        EXPECT_TRUE(is_whole(kNew));
        EXPECT_TRUE(std::filesystem::exists(shop_.root + "/config/gpu-package-info.json"));
        // What was left half made is gone after garbage was collected.
        ASSERT_TRUE(collect_garbage(*shop_.host, live_storage(), how.places));
        for (const auto& entry : std::filesystem::directory_iterator(shop_.root + "/store/objects"))
          EXPECT_NE(entry.path().filename().string()[0], '.') << entry.path();
        EXPECT_LE(generations(), 2u);
      }
    }
  }
  std::size_t generations() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(shop_.root + "/store/generations"), {}));
  }

  Workshop shop_;
};

TEST_F(InstallWalk, OverAnOldVersion) { walk(true, {}); }
TEST_F(InstallWalk, IntoAnEmptyPlace) { walk(false, {}); }
TEST_F(InstallWalk, WithoutUnnamedFilesAndHardLinks) {
  walk(true, {StorageCall::create_unnamed, StorageCall::link});
}

TEST_F(InstallWalk, RollBackIsOneRename) {
  for (std::size_t at = 1; at < 12; ++at) {
    for (const auto kind : {Kind::once, Kind::killed}) {
      begin(true);
      ASSERT_EQ(shop_.install("cpu", options(), "new").end, InstallEnd::installed);
      FailingStorage failing(live_storage(), {at, kind, EIO});
      const auto back = roll_back(*shop_.host, failing, options().places, {});
      EXPECT_TRUE(is_whole(kOld) || (!back && is_whole(kNew)));
      if (!is_whole(kOld)) {
        EXPECT_TRUE(roll_back(*shop_.host, live_storage(), options().places, {}));
      }
      EXPECT_TRUE(is_whole(kOld));
    }
  }
}

TEST_F(InstallWalk, GarbageCollectionAndUninstallLeaveTheCurrentVersionWholeOrNone) {
  for (const auto kind : {Kind::once, Kind::killed}) {
    for (std::size_t at = 1; at < 60; ++at) {
      SCOPED_TRACE(at);
      begin(true);
      ASSERT_EQ(shop_.install("cpu", options(), "new").end, InstallEnd::installed);
      FailingStorage failing(live_storage(), {at, kind, EIO});
      (void)collect_garbage(*shop_.host, failing, options().places);
      EXPECT_TRUE(is_whole(kNew));
      FailingStorage again(live_storage(), {at, kind, EIO});
      (void)uninstall(*shop_.host, again, options().places);
      EXPECT_TRUE(is_whole(kNew) || !std::filesystem::exists(shop_.root + "/store/current"));
      EXPECT_EQ(shop_.install("cpu", options(), "new").error.has_value(), false);
      EXPECT_TRUE(is_whole(kNew));
    }
  }
}

// A publisher that fails or dies leaves the old release, the new one, or one that nobody accepts
// and that is published again.
TEST(PublishWalk, WhatWasBegunIsFinishedByTheNextTry) {
  Workshop shop;
  const auto begin = [&] {
    std::filesystem::remove_all(shop.root + "/release");
    shop.publish_storage = nullptr;
    EXPECT_EQ(error_text(shop.publish("1.0", {{"cpu", kOld}})), "");
  };
  begin();
  FailingStorage count(live_storage(), {});
  shop.publish_storage = &count;
  ASSERT_EQ(error_text(shop.publish("1.1", {{"cpu", kNew}})), "");
  for (const auto kind : {Kind::once, Kind::killed}) {
    for (std::size_t at = 1; at <= count.calls(); ++at) {
      SCOPED_TRACE(at);
      begin();
      FailingStorage failing(live_storage(), {at, kind, ENOSPC});
      shop.publish_storage = &failing;
      const auto published = shop.publish("1.1", {{"cpu", kNew}});
      std::filesystem::remove_all(shop.root + "/store");
      const auto installed = shop.install("cpu", shop.options());
      EXPECT_TRUE(installed.end == InstallEnd::installed || installed.end == InstallEnd::refused);
      if (published) {
        EXPECT_EQ(installed.end, InstallEnd::installed);
      }
      shop.publish_storage = nullptr;
      if (installed.end == InstallEnd::refused || installed.installed->version == "1.0") {
        EXPECT_EQ(error_text(shop.publish("1.1", {{"cpu", kNew}})), "");
      }
      const auto next = shop.install("cpu", shop.options());
      EXPECT_FALSE(next.error) << next.error->message;
      EXPECT_EQ(shop.installed("lib/a"), "new a");
    }
  }
}

}  // namespace
}  // namespace gpuready::pack
