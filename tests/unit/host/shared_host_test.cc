// What other users of a host may do to the files of root, with real users and files. The rule: a
// link is followed, and a file believed or replaced, only where nobody but root and the effective
// user decides what it is.
#include "jobs/trusted_path.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "host/atomic_file.h"
#include "host/file_end.h"
#include "host/folders.h"
#include "host/host.h"
#include "host/locks/machine_lock.h"

namespace gpuready {
namespace {

constexpr uid_t kAlice = 54321, kBob = 54322;
constexpr std::chrono::milliseconds kPatience{300};

// While it lives, the process acts as this user.
class Acting {
 public:
  explicit Acting(uid_t user) : group_(::getegid()), root_(::geteuid()) {
    EXPECT_EQ(::setegid(user), 0);
    EXPECT_EQ(::seteuid(user), 0);
  }
  ~Acting() {
    EXPECT_EQ(::seteuid(root_), 0);
    EXPECT_EQ(::setegid(group_), 0);
  }

 private:
  gid_t group_;
  uid_t root_;
};

// own/ and secret/ are root's, alice/ and bob/ are theirs, sticky/ is as /tmp.
class SharedHost : public testing::Test {
 protected:
  ~SharedHost() override { std::filesystem::remove_all(root_); }
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can be several users";
    ::umask(022);
    ::chmod(root_.c_str(), 0755);
    folder("own", 0, 0755);
    folder("secret", 0, 0755);
    folder("alice", kAlice, 0755);
    folder("bob", kBob, 0755);
    folder("sticky", 0, 01777);
    file("secret/file", 0, 0600, "secret");
  }
  std::string at(const std::string& name) const { return root_ + "/" + name; }
  void folder(const std::string& name, uid_t owner, mode_t mode) {
    ::mkdir(at(name).c_str(), 0700);
    give(name, owner);
    ::chmod(at(name).c_str(), mode);
  }
  void file(const std::string& name, uid_t owner, mode_t mode, const std::string& text = "old") {
    std::ofstream(at(name)) << text;
    give(name, owner);
    ::chmod(at(name).c_str(), mode);
  }
  void link(const std::string& target, const std::string& name, uid_t owner) {
    ASSERT_EQ(::symlink(target.c_str(), at(name).c_str()), 0);
    give(name, owner);
  }
  void node(const std::string& name, uid_t owner, mode_t kind, dev_t device = 0) {
    if (::mknod(at(name).c_str(), kind | 0666, device) != 0) GTEST_SKIP() << "no mknod here";
    give(name, owner);
  }
  void give(const std::string& name, uid_t owner) {
    EXPECT_EQ(::lchown(at(name).c_str(), owner, owner), 0) << name;
  }
  std::string text(const std::string& name) const {
    std::ifstream file(at(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  Result<void> write(const std::string& name) { return write_file_atomically(at(name), "new"); }
  Result<void> append(const std::string& name, const std::string& bytes = "x") {
    return live_storage().append(at(name), bytes, kPatience);
  }
  void expect_refused(const Result<void>& result, const char* reason) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().kind, ErrorKind::no_permission) << result.error().message;
    EXPECT_NE(result.error().message.find(reason), std::string::npos) << result.error().message;
  }
  void expect_secret_untouched() {
    EXPECT_EQ(text("secret/file"), "secret");
    struct stat facts{};
    ASSERT_EQ(::stat(at("secret/file").c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 07777, 0600u);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(at("secret")), {}), 1);
  }

 private:
  std::string root_ = [] {
    auto name = (std::filesystem::temp_directory_path() / "sharedXXXXXX").string();
    return std::string(::mkdtemp(name.data()));
  }();
};

TEST_F(SharedHost, RootFollowsNoLinkThatOthersMayHaveMade) {
  link("../secret/file", "alice/file", kAlice);
  link("../secret", "alice/folder", kAlice);
  link("../secret/file", "sticky/alices", kAlice);
  link("../secret/file", "sticky/roots", 0);
  link("../secret/file", "alice/roots", 0);
  link("../alice/file", "own/to_alices", 0);  // trusted, and leads to one that is not
  folder("alice/roots_folder", 0, 0755);
  link("../../secret/file", "alice/roots_folder/link", 0);  // alice may move this folder
  expect_refused(write("alice/file"), "belongs to user 54321");
  expect_refused(write("alice/folder/new"), "belongs to user 54321");
  expect_refused(write("alice/../alice/folder/../secret/new"), "belongs to user 54321");
  expect_refused(write("sticky/alices"), "belongs to user 54321");
  expect_refused(write("sticky/roots"), "other users may change");
  expect_refused(write("alice/roots"), "other users may change");
  expect_refused(write("own/to_alices"), "belongs to user 54321");
  expect_refused(write("alice/roots_folder/link"), "other users may change");
  EXPECT_FALSE(make_folders(at("alice/folder/new")));
  EXPECT_FALSE(live_storage().unlink(at("alice/folder/file")));
  EXPECT_FALSE(live_storage().rename(at("alice/folder/file"), at("own/f"), OnExisting::replace));
  EXPECT_FALSE(live_storage().lock(at("alice/folder/lock")));
  expect_secret_untouched();
}

TEST_F(SharedHost, RootFollowsItsOwnLinks) {
  link("../own/target", "own/link", 0);
  link(at("own"), "secret/absolute", 0);
  file("own/target", 0, 0640);
  EXPECT_TRUE(write("own/link"));
  EXPECT_EQ(text("own/target"), "new");
  EXPECT_TRUE(write("secret/absolute/second"));
  EXPECT_EQ(text("own/second"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(at("own/link")));
  link("loop", "own/loop", 0);
  EXPECT_EQ(write("own/loop").error().code, ELOOP);
}

TEST_F(SharedHost, AnOrdinaryUserFollowsOwnLinksAndRoots) {
  folder("alice/deep", kAlice, 0775);  // group-writable, by a private group
  link("../bob_like", "alice/deep/dangling", kAlice);
  link("deep", "alice/short", kAlice);
  link(at("sticky"), "alice/tmp", kAlice);
  link("../alice", "own/home", 0);
  link("../secret/file", "bob/link", kBob);
  link("../alice/mine", "sticky/bobs", kBob);
  file("alice/mine", kAlice, 0644);
  folder("project", 0, 0777);  // of a group, for example
  link("../alice", "project/alices", kAlice);
  link("../alice", "project/bobs", kBob);
  const Acting alice(kAlice);
  EXPECT_TRUE(write("alice/short/new"));
  EXPECT_TRUE(write("alice/deep/dangling"));
  EXPECT_EQ(text("alice/bob_like"), "new");
  EXPECT_TRUE(write("alice/tmp/alices"));
  EXPECT_TRUE(write("own/home/through_roots"));
  EXPECT_TRUE(write("alice/tmp/alices"));  // her own file in the sticky folder again
  EXPECT_TRUE(write("project/alices/through_a_shared_folder"));
  expect_refused(write("project/bobs/new"), "belongs to user 54322");
  expect_refused(write("bob/link"), "belongs to user 54322");
  expect_refused(write("sticky/bobs"), "belongs to user 54322");
  EXPECT_EQ(text("alice/mine"), "old");
}

TEST_F(SharedHost, ForeignFilesAreReplacedOnlyInFoldersOfOnesOwn) {
  file("alice/hers", kAlice, 0666);
  file("sticky/hers", kAlice, 0666);
  file("own/hers", kAlice, 0666);
  file("alice/roots", 0, 0600);
  expect_refused(write("alice/hers"), "belongs to another user (user 54321");
  expect_refused(write("sticky/hers"), "belongs to another user (user 54321");
  EXPECT_EQ(text("alice/hers") + text("sticky/hers"), "oldold");
  EXPECT_TRUE(write("own/hers"));
  EXPECT_TRUE(write("alice/roots"));
  EXPECT_TRUE(write("alice/new"));
  struct stat facts{};
  ASSERT_EQ(::stat(at("alice/roots").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_uid, 0u);
  EXPECT_EQ(facts.st_mode & 07777, 0600u);
}

TEST_F(SharedHost, AReplacedFileKeepsNoBitsThatGiveRights) {
  file("own/f", 0, 0644);
  ASSERT_EQ(::chmod(at("own/f").c_str(), 06755), 0);
  ASSERT_TRUE(write("own/f"));
  struct stat facts{};
  ASSERT_EQ(::stat(at("own/f").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0755u);
}

TEST_F(SharedHost, AFolderExchangedMeanwhileChangesNothing) {
  folder("alice/results", kAlice, 0755);
  auto file = AtomicFile::create(at("alice/results/file"));
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->write("report"));
  ASSERT_EQ(::rename(at("alice/results").c_str(), at("alice/moved").c_str()), 0);
  link("../secret", "alice/results", kAlice);
  ASSERT_TRUE(file->commit());
  EXPECT_EQ(text("alice/moved/file"), "report");
  expect_secret_untouched();
}

TEST_F(SharedHost, AFolderThatIsExchangedAllTheTimeLeadsNowhereElse) {
  folder("alice/results", kAlice, 0755);
  link("../secret", "alice/evil", kAlice);
  std::atomic<bool> stop = false;
  std::thread attacker([&] {
    while (!stop)
      ::renameat2(AT_FDCWD, at("alice/results").c_str(), AT_FDCWD, at("alice/evil").c_str(),
                  RENAME_EXCHANGE);
  });
  int written = 0, refused = 0;
  for (int i = 0; i < 300 || ((written == 0 || refused == 0) && i < 100'000); ++i) {
    const auto name = "alice/results/" + std::to_string(i);
    const auto result = i % 3 == 0   ? make_folders(at(name))
                        : i % 3 == 1 ? write(name)
                                     : live_storage().unlink(at("alice/results/file"));
    (result || result.error().kind == ErrorKind::not_found ? written : refused) += 1;
  }
  stop = true;
  attacker.join();
  EXPECT_GT(written, 0);
  EXPECT_GT(refused, 0);
  expect_secret_untouched();
}

// fs.protected_regular of Linux refuses O_CREAT there, also where the file is not to be made.
TEST_F(SharedHost, ANamedFileOfAnotherUserIsExtendedInAFolderForAll) {
  file("sticky/alices", kAlice, 0666);
  EXPECT_TRUE(append_to_named_file(at("sticky/alices"), " and new"));
  EXPECT_EQ(text("sticky/alices"), "old and new");
}

// Also one that this user may only read.
TEST_F(SharedHost, AnyUsersFileInAFolderForAllIsALock) {
  file("sticky/lock", kAlice, 0444);
  const auto root = MachineLock::take(at("sticky/lock"));
  ASSERT_TRUE(root) << root.error().message;
  const Acting bob(kBob);
  const auto second = MachineLock::take(at("sticky/lock"));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::busy);
}

TEST_F(SharedHost, DevicesAndPipesAreStandardOnesOrRoots) {
  node("alice/full", kAlice, S_IFCHR, makedev(1, 7));
  node("own/full", 0, S_IFCHR, makedev(1, 7));
  node("own/disk", 0, S_IFBLK, makedev(240, 200));  // of no driver
  node("alice/pipe", kAlice, S_IFIFO);
  node("own/pipe", 0, S_IFIFO);
  if (IsSkipped()) return;
  link("/dev/full", "alice/link", kAlice);
  expect_refused(append("alice/full"), "a device that another user made");
  expect_refused(append("alice/pipe"), "a pipe or socket that another user made");
  expect_refused(append("alice/link"), "belongs to user 54321");
  expect_refused(append("own/disk"), "a block device");
  EXPECT_TRUE(live_storage().append("/dev/null", "x", kPatience));
  EXPECT_EQ(live_storage().append("/dev/full", "x", kPatience).error().code, ENOSPC);
  const auto alone = append("own/pipe");
  ASSERT_FALSE(alone);
  EXPECT_NE(alone.error().message.find("no program reads"), std::string::npos);
}

TEST_F(SharedHost, AReaderThatDoesNotReadCostsNoMoreThanPatience) {
  node("own/pipe", 0, S_IFIFO);
  if (IsSkipped()) return;
  const Descriptor reader(::open(at("own/pipe").c_str(), O_RDONLY | O_NONBLOCK));
  EXPECT_TRUE(append("own/pipe", std::string(1000, 'x')));
  const auto late = append("own/pipe", std::string(1 << 20, 'x'));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind, ErrorKind::timed_out);
}

TEST_F(SharedHost, RemovingATreeFollowsNoLink) {
  folder("own/tree", 0, 0755);
  folder("own/tree/inner", 0, 0755);
  link("../../secret", "own/tree/link", 0);
  link("../../../secret", "own/tree/inner/link", 0);
  const auto host = make_live_host();
  EXPECT_TRUE(remove_tree(*host, live_storage(), at("own/tree")));
  EXPECT_FALSE(std::filesystem::exists(at("own/tree")));
  link("../secret", "alice/tree", kAlice);
  EXPECT_TRUE(remove_tree(*host, live_storage(), at("alice/tree")));  // the link itself
  expect_secret_untouched();
}

struct Belief {
  const char* name;
  uid_t owner;
  mode_t mode;
  uid_t folder_owner;
  mode_t folder_mode;
  bool believed;
};
constexpr Belief kBeliefs[] = {
    {"roots", 0, 0600, 0, 0700, true},
    {"readable", 0, 0644, 0, 0755, true},
    {"of_alice", kAlice, 0600, 0, 0755, false},
    {"group_may_write", 0, 0664, 0, 0755, false},
    {"all_may_write", 0, 0666, 0, 0755, false},
    {"all_but_the_group_may_write", 0, 0646, 0, 0755, false},
    {"in_folder_of_alice", 0, 0600, kAlice, 0755, false},
    {"in_folder_of_a_group", 0, 0600, 0, 0775, false},
    {"in_folder_of_all_but_the_group", 0, 0600, 0, 0757, false},
    {"in_sticky_folder", 0, 0600, 0, 01777, false},
};

TEST_F(SharedHost, RootBelievesOnlyItsOwnState) {
  const auto host = make_live_host();
  for (const auto& [name, owner, mode, folder_owner, folder_mode, believed] : kBeliefs) {
    SCOPED_TRACE(name);
    const std::string inside = std::string(name) + "/state";
    folder(name, folder_owner, folder_mode);
    file(inside, owner, mode, "text");
    const auto read = host->read_own_file(at(inside));
    EXPECT_EQ(read.has_value(), believed);
    EXPECT_EQ(host->check_own(at(inside)).has_value(), believed);
    if (read) {
      EXPECT_EQ(*read, "text");
      continue;
    }
    EXPECT_EQ(read.error().kind, ErrorKind::no_permission);
    EXPECT_TRUE(read.error().message.contains("Name another folder"));
    // No advice changes a folder that all share, such as /tmp.
    EXPECT_EQ(read.error().message.contains("if you trust everything"), !(folder_mode & 01000));
  }
  EXPECT_EQ(host->read_own_file(at("own/none")).error().kind, ErrorKind::not_found);
  link("../secret/file", "own/state", 0);
  EXPECT_FALSE(host->read_own_file(at("own/state")));
  link("secret", "linked", 0);
  EXPECT_FALSE(host->check_own(at("linked")));
  EXPECT_TRUE(host->check_own(at("linked/")));
}

TEST_F(SharedHost, AnOrdinaryUserBelievesItselfAndRoot) {
  const auto host = make_live_host();
  file("alice/state", kAlice, 0664);  // by a private group
  file("bob/state", kBob, 0644);
  file("own/state", 0, 0644);
  const Acting alice(kAlice);
  EXPECT_TRUE(host->read_own_file(at("alice/state")));
  EXPECT_TRUE(host->read_own_file(at("own/state")));
  EXPECT_FALSE(host->read_own_file(at("bob/state")));
  EXPECT_TRUE(host->read_believed(at("bob/state")));  // what she names, she may take from others
}

}  // namespace
}  // namespace gpuready
