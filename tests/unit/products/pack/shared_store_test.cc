// A store that another user owns, or has prepared: root neither believes it, nor writes through it,
// nor removes anything outside it.
#include <sys/stat.h>
#include <unistd.h>

#include "unit/products/pack/workshop.h"

namespace gpuready::pack {
namespace {

constexpr uid_t kAlice = 54321;
const Workshop::Files kFirst = {{"lib/a.so", noise(20'000, 1)}, {"data/shared", noise(50'000, 9)}};
const Workshop::Files kSecond = {{"lib/a.so", noise(20'000, 2)}, {"data/shared", noise(50'000, 9)}};

class SharedStore : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
    ::umask(022);
    write_text(victim("file"), "precious");
    ::chmod(victim("file").c_str(), 0600);
    ASSERT_EQ(error_text(shop.publish("1.0", {{"modern", kFirst}})), "");
    ASSERT_EQ(install().end, InstallEnd::installed);
    ASSERT_EQ(error_text(shop.publish("1.1", {{"modern", kSecond}})), "");
  }
  std::string victim(const std::string& name) const { return shop.root + "/victim/" + name; }
  std::string store(const std::string& name) const { return shop.root + "/store/" + name; }
  InstallOutcome install() { return shop.install("modern", shop.options()); }
  // All that changes a store, each refused for the reason.
  void expect_refused(const char* reason) {
    const auto places = shop.options().places;
    const auto outcome = install();
    const std::string errors[] = {outcome.error ? outcome.error->message : "",
                                  error_text(roll_back(*shop.host, live_storage(), places, {})),
                                  error_text(collect_garbage(*shop.host, live_storage(), places)),
                                  error_text(uninstall(*shop.host, live_storage(), places, true))};
    for (const auto& error : errors) EXPECT_NE(error.find(reason), error.npos) << error;
    EXPECT_EQ(read_text(victim("file")), "precious");
    struct stat facts{};
    ASSERT_EQ(::stat(victim("file").c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 07777, 0600u);
  }
  void replace_by_link(const std::string& name, const std::string& target, uid_t owner) {
    std::filesystem::remove_all(store(name));
    ASSERT_EQ(::symlink(target.c_str(), store(name).c_str()), 0);
    ASSERT_EQ(::lchown(store(name).c_str(), owner, owner), 0);
  }

  Workshop shop;
};

// The load test and the users' programs run as others than root; a user's own is as he says.
TEST_F(SharedStore, WhatRootInstallsIsForAllWhateverTheMaskIs) {
  const auto folder_mode = [](const std::string& path) {
    struct stat facts{};
    EXPECT_EQ(::stat(path.c_str(), &facts), 0) << path;
    return facts.st_mode & 07777;
  };
  const mode_t before = ::umask(077);
  EXPECT_EQ(install().end, InstallEnd::installed);
  EXPECT_EQ(::umask(077), 077u);
  for (const char* path : {"generations/2", "generations/2/lib", "generations/2/data"})
    EXPECT_EQ(folder_mode(store(path)), 0755u) << path;

  ASSERT_EQ(::chown(shop.root.c_str(), kAlice, kAlice), 0);
  auto own = shop.options();
  own.places = {shop.root + "/own/store", shop.root + "/own/config/gpu-package-info.json"};
  ASSERT_EQ(::seteuid(kAlice), 0);
  const auto outcome = shop.install("modern", own);
  ASSERT_EQ(::seteuid(0), 0);
  EXPECT_EQ(::umask(before), 077u);
  ASSERT_EQ(outcome.end, InstallEnd::installed) << outcome.error->message;
  EXPECT_EQ(folder_mode(own.places.store + "/generations/1/lib"), 0700u);
}

TEST_F(SharedStore, OfAnotherUserIsRefused) {
  ASSERT_EQ(::chown(store("").c_str(), kAlice, kAlice), 0);
  expect_refused("belongs to another user (user 54321");
}

TEST_F(SharedStore, ThatOthersMayWriteIsRefused) {
  ASSERT_EQ(::chmod(store("").c_str(), 0777), 0);
  expect_refused("other users may write there");
  ASSERT_EQ(::chmod(store("").c_str(), 0755), 0);
  ASSERT_EQ(::chown(store("").c_str(), 0, kAlice), 0);
  ASSERT_EQ(::chmod(store("").c_str(), 0775), 0);
  expect_refused("other users may write there");
}

TEST_F(SharedStore, LinksInPlaceOfItsPartsAreRefused) {
  for (const char* part : {"objects", "generations", "state.json"}) {
    SCOPED_TRACE(part);
    const auto target = std::string(part) == "state.json" ? victim("file") : victim("");
    const auto kept = store(part) + ".kept";
    for (const uid_t owner : {kAlice, uid_t{0}}) {
      std::filesystem::rename(store(part), kept);
      replace_by_link(part, target, owner);
      expect_refused("symbolic link");
      std::filesystem::remove(store(part));
      std::filesystem::rename(kept, store(part));
    }
  }
}

TEST_F(SharedStore, PartsOfAnotherUserAreRefused) {
  for (const char* part : {"objects", "generations", "state.json"}) {
    SCOPED_TRACE(part);
    ASSERT_EQ(::chown(store(part).c_str(), kAlice, kAlice), 0);
    expect_refused("belongs to another user");
    ASSERT_EQ(::chown(store(part).c_str(), 0, 0), 0);
  }
}

TEST_F(SharedStore, AGenerationThatIsALinkIsNotEntered) {
  write_text(victim(".gpuready/installed.json"), "precious");
  replace_by_link("generations/7", victim(""), 0);
  const auto places = shop.options().places;
  const auto collected = collect_garbage(*shop.host, live_storage(), places);
  EXPECT_NE(error_text(collected).find("symbolic link"), std::string::npos);
  EXPECT_EQ(read_text(victim(".gpuready/installed.json")), "precious");
}

// Its information for programs stands in a folder beside it.
TEST_F(SharedStore, InformationIsWrittenOverNoLink) {
  const auto info = shop.options().places.info;
  std::filesystem::remove(info);
  ASSERT_EQ(::symlink(victim("file").c_str(), info.c_str()), 0);
  EXPECT_EQ(install().end, InstallEnd::installed);
  EXPECT_FALSE(std::filesystem::is_symlink(info));
  EXPECT_EQ(read_text(victim("file")), "precious");
}

// Reused is what has the hash that was signed, and nobody else can change.
TEST_F(SharedStore, ObjectsAreHashedBeforeAnotherVersionUsesThem) {
  const auto object = [&] {
    for (const auto& entry : std::filesystem::directory_iterator(store("objects")))
      if (entry.file_size() == 50'000) return entry.path().string();
    return std::string();
  }();
  std::string changed = kFirst.at("data/shared");
  changed[1000] ^= 1;
  write_text(object, changed);
  const auto upgraded = install();
  ASSERT_EQ(upgraded.end, InstallEnd::installed);
  EXPECT_EQ(upgraded.reused_files, 0u);
  EXPECT_TRUE(shop.installed("data/shared") == kSecond.at("data/shared"));
}

TEST_F(SharedStore, ObjectsOfAnotherUserAreFetchedAgain) {
  for (const auto& entry : std::filesystem::directory_iterator(store("objects")))
    ASSERT_EQ(::chown(entry.path().c_str(), kAlice, kAlice), 0);
  const auto upgraded = install();
  ASSERT_EQ(upgraded.end, InstallEnd::installed);
  EXPECT_EQ(upgraded.reused_files, 0u);
  struct stat facts{};
  ASSERT_EQ(::stat(store("current/data/shared").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_uid, 0u);
}

}  // namespace
}  // namespace gpuready::pack
