#include "slurm/conf_look.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "unit/products/slurm/fake_slurm.h"

namespace gpuready::slurm {
namespace {

namespace fs = std::filesystem;
using Texts = std::vector<std::string>;

Conf conf(std::string_view text) { return parse_conf(text, "slurm.conf"); }

TEST(SlurmNvmlPlugin, IsInOneOfTheFoldersThatExist) {
  Recording recording;
  const auto found = [&](std::string_view slurm_conf = "") {
    return has_nvml_plugin(*scripted(recording), conf(slurm_conf));
  };
  EXPECT_EQ(found(), std::nullopt);
  recording.files["/usr/lib/slurm/select_cons_tres.so"] = "";
  EXPECT_EQ(found(), false);
  recording.files["/usr/lib64/slurm/gpu_nvml.so"] = "";
  EXPECT_EQ(found(), true);
  EXPECT_EQ(found("PluginDir=/none\n"), std::nullopt);  // then in no usual folder
  EXPECT_EQ(found("PluginDir=/none:/usr/lib/slurm\n"), false);
  EXPECT_EQ(found("PluginDir=/usr/lib64/slurm:/usr/lib/slurm\n"), true);
}

TEST(SlurmNvmlPlugin, IsLookedForInEachUsualFolder) {
  for (const char* folder :
       {"/usr/lib/x86_64-linux-gnu/slurm-wlm", "/usr/lib/aarch64-linux-gnu/slurm-wlm",
        "/usr/lib64/slurm", "/usr/lib/slurm", "/usr/local/lib/slurm", "/opt/slurm/lib/slurm"}) {
    Recording recording;
    recording.files[std::string(folder) + "/gpu_nvml.so"] = "";
    EXPECT_EQ(has_nvml_plugin(*scripted(recording), {}), true) << folder;
  }
}

// A folder on this machine: glob(3) and access(2) know no other.
class SlurmConfLook : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "slurm_conf." + std::to_string(::getpid());
    fs::remove_all(folder_);
    fs::create_directories(folder_ + "/plugins");
    write("cgroup.conf", "ConstrainDevices=yes\n");
    write("gres.conf", "Name=gpu File=/dev/nvidia[0-1]\n");
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void write(const std::string& name, const std::string& text, mode_t mode = 0644) const {
    std::ofstream(path(name)) << text;
    ASSERT_EQ(::chmod(path(name).c_str(), mode), 0);
  }
  void write_slurm_conf(const std::string& more = "") const {
    write("slurm.conf",
          "ClusterName=c\nGresTypes=gpu\nTaskPlugin=task/cgroup\nSelectType=select/cons_tres\n"
          "PrologEpilogTimeout=100\nPrologFlags=Alloc\nNodeName=n1 Gres=gpu:2\nPluginDir=" +
              path("plugins") + "\n" + more);
  }
  std::string why(const std::string& hook) const {
    return why_not_startable(*make_live_host(), path(hook)).value_or("startable");
  }
  ConfLook look() const {
    const auto devices = scripted(devices_);
    auto found = look_at_conf(*make_live_host(), *devices, machine_, "n1", path("slurm.conf"));
    EXPECT_TRUE(found) << found.error().message;
    return *std::move(found);
  }

  std::string folder_;
  Machine machine_;
  Recording devices_;
};

TEST_F(SlurmConfLook, AHookIsAProgramOrAPatternOfPrograms) {
  fs::create_directories(path("d/sub"));
  write("program", "#!/bin/sh\n", 0755);
  write("plain", "#!/bin/sh\n", 0644);
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0755), 0);
  EXPECT_EQ(why("program"), "startable");
  EXPECT_EQ(why("none"), "does not exist");
  EXPECT_EQ(why("d"), "is a folder");
  EXPECT_EQ(why("pipe"), "is not a regular file");
  EXPECT_EQ(why("plain"), "is not executable");
  EXPECT_EQ(why("none/*"), "matches no file");
  EXPECT_EQ(why("non?"), "matches no file");
  EXPECT_EQ(why("non[e]"), "matches no file");
  EXPECT_EQ(why("p[r]ogram"), "startable");
  EXPECT_EQ(why("p*"), "names " + path("pipe") + ", which is not a regular file");
  EXPECT_EQ(why("d/*"), "names " + path("d/sub") + ", which is a folder");
  write("for_others", "#!/bin/sh\n", 0601);
  EXPECT_EQ(why("for_others"), "startable");
  fs::create_symlink(path("nowhere"), path("link"));
  EXPECT_EQ(why("link"), "does not exist");
}

TEST_F(SlurmConfLook, HasTheFilesWithWhatTheyInclude) {
  write("nodes.conf", "NodeName=n2\n");
  write_slurm_conf("Include nodes.conf\nNodeName=n3\n");
  const auto found = look();
  EXPECT_EQ(found.files, (Texts{path("slurm.conf"), path("nodes.conf"), path("gres.conf"),
                                path("cgroup.conf")}));
  EXPECT_EQ(found.unseen, Texts{});
  EXPECT_EQ(found.view.node, "n1");
  EXPECT_EQ(found.view.folder, folder_);
  EXPECT_EQ(value_of(found.view.slurm, "ClusterName"), "c");
  ASSERT_TRUE(found.view.gres);
  EXPECT_EQ(found.view.gres->front().value("File"), "/dev/nvidia[0-1]");
  ASSERT_TRUE(found.view.cgroup);
  EXPECT_EQ(value_of(*found.view.cgroup, "ConstrainDevices"), "yes");
  EXPECT_EQ(found.view.nvml_plugin, false);
  write("plugins/gpu_nvml.so", "");
  EXPECT_EQ(look().view.nvml_plugin, true);
}

TEST_F(SlurmConfLook, AFileThatIsMissingIsAbsentAndSaysWhy) {
  write_slurm_conf();
  fs::remove(path("gres.conf"));
  fs::remove(path("cgroup.conf"));
  const auto found = look();
  EXPECT_FALSE(found.view.gres);
  EXPECT_FALSE(found.view.cgroup);
  EXPECT_EQ(found.view.no_gres, "the file is missing");
  EXPECT_EQ(found.unseen, Texts{});
  fs::create_directories(path("gres.conf"));
  EXPECT_EQ(look().view.no_gres, "it is not a regular file");
  fs::remove(path("gres.conf"));
  fs::create_directories(path("cgroup.conf"));  // which says nothing about the other file
  const auto other = look();
  EXPECT_EQ(other.view.no_gres, "the file is missing");
  EXPECT_EQ(other.unseen, Texts{});
}

TEST_F(SlurmConfLook, NothingIsConcludedFromWhatWasNotRead) {
  machine_.gpus.resize(3);  // the configuration promises two
  for (Gpu& gpu : machine_.gpus) gpu.vendor = Vendor::nvidia;
  write_slurm_conf();
  EXPECT_FALSE(check_conf(look()).empty());
  write("cgroup.conf", std::string(5u << 20, '#'));  // more than is read
  const auto found = look();
  ASSERT_EQ(found.unseen.size(), 1u);
  EXPECT_TRUE(found.unseen[0].starts_with(path("cgroup.conf"))) << found.unseen[0];
  EXPECT_TRUE(check_conf(found).empty());
  fs::remove(path("slurm.conf"));
  EXPECT_FALSE(look_at_conf(*make_live_host(), *scripted(), machine_, "n1", path("slurm.conf")));
}

TEST_F(SlurmConfLook, DeviceFilesAreThoseOfTheMachineAndHooksThoseOfThisOne) {
  write("prolog", "#!/bin/sh\n", 0755);
  write_slurm_conf("Prolog=" + path("prolog") + "\nEpilog=" + path("none/epilog") + "\n");
  devices_.opens["/dev/nvidia1"] = std::nullopt;
  EXPECT_EQ(look().unseen, Texts{});
  using Missing = std::map<std::string, std::string>;
  EXPECT_EQ(look().view.missing,
            (Missing{{"/dev/nvidia0", "does not exist"}, {path("none/epilog"), "does not exist"}}));
}

// In a process of its own, which is not root where that can be.
TEST_F(SlurmConfLook, AFolderThatThisUserMayNotLookIntoHidesItsHooks) {
  fs::create_directories(path("hidden"));
  write("hidden/prolog", "#!/bin/sh\n", 0755);
  for (const char* hook : {"hidden/prolog", "hidden/*"})
    for (const mode_t mode : {0000, 0444, 0111, 0555}) {
      write_slurm_conf("Prolog=" + path(hook) + "\n");
      ASSERT_EQ(::chmod(path("hidden").c_str(), mode), 0);
      const bool pattern = std::string_view(hook).ends_with('*');
      const bool seen = (mode & 0111) != 0 && (!pattern || (mode & 0444) != 0);
      const Texts expected = seen ? Texts{} : Texts{path("hidden") + ": permission denied"};
      const auto looks = [&] {
        const bool ordinary = ::geteuid() != 0 || (::setgid(65534) == 0 && ::setuid(65534) == 0);
        if (!ordinary || ::access(path("slurm.conf").c_str(), R_OK) != 0) ::_exit(0);
        ::_exit(look().unseen == expected ? 0 : 1);
      };
      EXPECT_EXIT(looks(), testing::ExitedWithCode(0), "") << hook << " " << mode;
      ASSERT_EQ(::chmod(path("hidden").c_str(), 0700), 0);
    }
}

}  // namespace
}  // namespace gpuready::slurm
