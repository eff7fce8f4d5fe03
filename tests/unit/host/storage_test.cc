// The contract of Storage, on this machine's files and in memory; and what only one of them can
// show.
#include "host/storage.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include "doubles/memory_storage.h"
#include "host/folders.h"
#include "unit/host/storage_walk.h"

namespace gpuready {
namespace {

constexpr std::chrono::milliseconds kPatience{1000};

int error_of(const auto& result) { return result ? 0 : result.error().code; }

class StorageContract : public testing::TestWithParam<bool> {
 protected:
  StorageContract() {
    if (GetParam())
      place_ = std::make_unique<LivePlace>();
    else
      place_ = std::make_unique<MemoryPlace>();
    place_->reset("old");
  }
  Storage& storage() { return place_->storage(); }
  std::string path(const char* name) const {
    const auto target = place_->target();
    return target.substr(0, target.rfind('/') + 1) + name;
  }
  std::string folder() const { return place_->target().substr(0, place_->target().rfind('/')); }
  std::unique_ptr<WalkedPlace> place_;
};
INSTANTIATE_TEST_SUITE_P(, StorageContract, testing::Bool(),
                         [](const auto& kind) { return kind.param ? "Live" : "InMemory"; });

TEST_P(StorageContract, NewFilesReplaceNothing) {
  EXPECT_EQ(error_of(storage().create(path("target"), 0600)), EEXIST);
  const auto file = storage().create(path("new"), 0600);
  ASSERT_TRUE(file && (*file)->write("a") && (*file)->write("bc") && (*file)->sync());
  EXPECT_EQ(storage().status(path("new"))->size_bytes, 3u);
  EXPECT_EQ(storage().status(path("new"))->mode, 0600u);
  ASSERT_TRUE((*file)->set_mode(0640));
  EXPECT_EQ(storage().status(path("new"))->mode, 0640u);
  EXPECT_EQ(error_of(storage().create(path("none/new"), 0600)), ENOENT);
}

TEST_P(StorageContract, FilesWithoutNames) {
  const auto file = storage().create_unnamed(folder(), 0600);
  if (error_of(file) == EOPNOTSUPP) GTEST_SKIP() << "this filesystem has none";
  ASSERT_TRUE(file && (*file)->write("new"));
  EXPECT_EQ(place_->names().size(), 1u);
  EXPECT_EQ(error_of((*file)->link("target")), EEXIST);
  ASSERT_TRUE((*file)->link("new"));
  EXPECT_EQ(place_->names().size(), 2u);
  EXPECT_EQ(place_->content(), "old");
}

TEST_P(StorageContract, LinkRenameUnlink) {
  ASSERT_TRUE(storage().link(path("target"), path("second")));
  EXPECT_EQ(error_of(storage().link(path("target"), path("second"))), EEXIST);
  const auto file = storage().create(path("new"), 0600);
  ASSERT_TRUE(file && (*file)->write("new"));
  const auto refused = storage().rename(path("new"), path("target"), OnExisting::fail);
  EXPECT_TRUE(error_of(refused) == EEXIST || error_of(refused) == EOPNOTSUPP);
  EXPECT_EQ(place_->content(), "old");
  ASSERT_TRUE(storage().rename(path("new"), path("target"), OnExisting::replace));
  EXPECT_EQ(place_->content(), "new");
  ASSERT_TRUE(storage().unlink(path("target")));
  EXPECT_EQ(error_of(storage().unlink(path("target"))), ENOENT);
  EXPECT_EQ(place_->names(), std::vector<std::string>{"second"});
  EXPECT_TRUE(storage().sync_folder(folder()));
  EXPECT_EQ(error_of(storage().sync_folder(path("none"))), ENOENT);
}

TEST_P(StorageContract, SymbolicLinksAreReplacedByRename) {
  ASSERT_TRUE(storage().symlink("one", path("now")));
  EXPECT_EQ(error_of(storage().symlink("two", path("now"))), EEXIST);
  ASSERT_TRUE(storage().symlink("two", path("next")));
  ASSERT_TRUE(storage().rename(path("next"), path("now"), OnExisting::replace));
  EXPECT_EQ(std::ranges::count(place_->names(), "now"), 1);
  EXPECT_EQ(std::ranges::count(place_->names(), "next"), 0);
  if (GetParam()) {
    EXPECT_EQ(std::filesystem::read_symlink(path("now")), "two");
  }
  EXPECT_TRUE(storage().unlink(path("now")));
}

TEST_P(StorageContract, OnlyAnEmptyFolderIsRemoved) {
  ASSERT_TRUE(storage().make_folder(path("inner"), 0700));
  ASSERT_TRUE(storage().create(path("inner/file"), 0600));
  EXPECT_EQ(error_of(storage().remove_folder(path("inner"))), ENOTEMPTY);
  EXPECT_EQ(error_of(storage().remove_folder(path("target"))), ENOTDIR);
  ASSERT_TRUE(storage().unlink(path("inner/file")));
  EXPECT_TRUE(storage().remove_folder(path("inner")));
  EXPECT_EQ(error_of(storage().remove_folder(path("inner"))), ENOENT);
}

TEST_P(StorageContract, FoldersAndSpace) {
  ASSERT_TRUE(storage().make_folder(path("inner"), 0700));
  EXPECT_EQ(error_of(storage().make_folder(path("inner"), 0700)), EEXIST);
  EXPECT_EQ(storage().status(path("inner"))->kind, FileKind::directory);
  EXPECT_TRUE(storage().create(path("inner/file"), 0600));
  const auto space = storage().space(folder());
  ASSERT_TRUE(space);
  EXPECT_GT(space->available_bytes, 0u);
}

TEST_P(StorageContract, ALockIsHeldByOne) {
  auto held = storage().lock(path("lock"));
  ASSERT_TRUE(held);
  const auto second = storage().lock(path("lock"));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::busy);
  EXPECT_EQ(second.error().code, EWOULDBLOCK);
  held->reset();
  EXPECT_TRUE(storage().lock(path("lock")));
}

TEST_P(StorageContract, AttributesAreNeitherMadeNorCutOff) {
  ASSERT_TRUE(storage().write_attribute(path("target"), "NE"));
  EXPECT_EQ(place_->content(), "NEd");
  ASSERT_TRUE(storage().append(path("target"), "+", kPatience));
  EXPECT_EQ(place_->content(), "NEd+");
  EXPECT_EQ(error_of(storage().write_attribute(path("none"), "1")), ENOENT);
  EXPECT_EQ(error_of(storage().append(path("none"), "1", kPatience)), ENOENT);
  EXPECT_EQ(place_->names().size(), 1u);
}

TEST(LiveStorage, AttributesGiveTheKernelsError) {
  EXPECT_EQ(error_of(live_storage().write_attribute("/dev/full", "x")), ENOSPC);
  EXPECT_EQ(error_of(live_storage().write_attribute("/proc/self/oom_score_adj", "much")), EINVAL);
}

TEST(MemoryStorage, IsFullAtItsCapacity) {
  MemoryStorage storage(4);
  const auto file = storage.create("/a", 0600);
  ASSERT_TRUE(file && (*file)->write("123"));
  EXPECT_EQ(error_of((*file)->write("45")), ENOSPC);
  EXPECT_EQ(storage.content("/a"), "1234");
  EXPECT_EQ(storage.space("/")->available_bytes, 0u);
}

TEST(MemoryStorage, ForgetsWhatWasNotSynced) {
  MemoryStorage storage;
  const auto file = storage.create("/a", 0600);
  ASSERT_TRUE(file && (*file)->write("kept") && (*file)->sync() && (*file)->write(" lost"));
  MemoryStorage names_lost = storage;
  names_lost.lose_power(MemoryStorage::Names::synced);
  EXPECT_EQ(names_lost.content("/a"), std::nullopt);
  storage.lose_power(MemoryStorage::Names::all);
  EXPECT_EQ(storage.content("/a"), "kept");
}

// A folder's name is in the folder above it, so that one is synced, also where it is the root.
TEST(Folders, OutliveALossOfPower) {
  MemoryStorage storage;
  ASSERT_TRUE(make_folders("/state/claims/new", storage, 0700));
  storage.lose_power(MemoryStorage::Names::synced);
  for (const char* folder : {"/state", "/state/claims", "/state/claims/new"})
    EXPECT_TRUE(storage.status(folder)) << folder;
}

// Also if not even the root folder can be opened.
TEST(LiveStorage, EveryErrorNamesAPath) {
  // UBSan opens a pipe to check a type that it has not met: it meets all of them here.
  EXPECT_FALSE(live_storage().make_folder("/none/of", 0700));
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &old), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto made = live_storage().make_folder("/none/of", 0700);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &old), 0);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message, "/: Too many open files");
}

}  // namespace
}  // namespace gpuready
