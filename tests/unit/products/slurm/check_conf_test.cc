#include "slurm/check_conf.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "test_paths.h"

namespace gpuready::slurm {
namespace {

constexpr const char* kGood =
    "GresTypes=gpu\nTaskPlugin=task/cgroup,task/affinity\nSelectType=select/cons_tres\n"
    "HealthCheckProgram=/etc/slurm/gpuready/health\nHealthCheckInterval=300\n"
    "Prolog=/p\nPrologFlags=Alloc\nPrologEpilogTimeout=120\nNodeName=n[1-8] Gres=gpu:h100:8\n";
constexpr const char* kGres = "NodeName=n[1-8] Name=gpu Type=h100 File=/dev/nvidia[0-7]\n";

Machine eight_gpus() {
  Machine machine;
  for (int i = 0; i < 8; ++i) {
    Gpu& gpu = machine.gpus.emplace_back();
    gpu.index = i, gpu.vendor = Vendor::nvidia, gpu.minor_number = i, gpu.nvml_index = i;
  }
  return machine;
}

class SlurmCheckConf : public testing::Test {
 protected:
  std::vector<Finding> check() {
    ConfView view{.machine = machine, .node = "n3"};
    view.folder = "/etc/slurm";
    view.slurm = parse_conf(slurm, "slurm.conf");
    if (!gres.empty()) view.gres = parse_conf(gres, "gres.conf");
    view.cgroup = parse_conf(cgroup, "cgroup.conf");
    view.missing = missing;
    view.nvml_plugin = plugin;
    return check_conf(view);
  }
  std::vector<std::string> ids() {
    std::vector<std::string> found;
    for (const Finding& finding : check()) {
      EXPECT_FALSE(finding.evidence.empty()) << finding.id;
      found.push_back(finding.id);
    }
    return found;
  }
  void replace(std::string_view from, std::string_view to) {
    const auto at = slurm.find(from);
    ASSERT_NE(at, slurm.npos) << from;
    slurm.replace(at, from.size(), to);
  }

  Machine machine = eight_gpus();
  std::string slurm = kGood, gres = kGres, cgroup = "ConstrainDevices=yes\n";
  std::map<std::string, std::string> missing;
  std::optional<bool> plugin;
};

using Ids = std::vector<std::string>;

TEST_F(SlurmCheckConf, WhatFitsHasNoFinding) { EXPECT_EQ(ids(), Ids{}); }

TEST_F(SlurmCheckConf, ANodeWithoutGpusIsNotLookedAt) {
  machine.gpus.clear();
  slurm = "ClusterName=c\nNodeName=n3\n", gres.clear(), cgroup.clear();
  EXPECT_EQ(ids(), Ids{});
}

TEST_F(SlurmCheckConf, EachDifferenceIsNamed) {
  struct Case {
    const char *from, *to, *id;
  };
  for (const Case& each : std::initializer_list<Case>{
           {"GresTypes=gpu", "GresTypes=nic", "slurm-gres-type-missing"},
           {"Gres=gpu:h100:8", "Gres=nic:1", "slurm-node-without-gres"},
           {"NodeName=n[1-8]", "NodeName=m[1-8]", "slurm-node-without-gres"},
           {"task/cgroup,", "", "slurm-tasks-not-in-cgroups"},
           {"cons_tres", "linear", "slurm-select-not-by-gpu"},
           {"Interval=300", "Interval=0", "slurm-health-check-off"},
           {"HealthCheckProgram=", "#", "slurm-health-check-off"},
           {"/etc/slurm/gpuready/health", "gpuready", "slurm-hook-not-startable"},
           {"PrologEpilogTimeout=120", "", "slurm-hooks-without-limit"},
           {"Prolog=/p", "Prolog=/p\nProlog=/q", "slurm-hook-of-newer-slurm"},
           {"Prolog=/p", "Prolog=p.sh", "slurm-hook-of-newer-slurm"},
           {"n[1-8] Gres=gpu:h100:8", "n[1-8] Gres=gpu:h100:8\nNodeName=n3 Gres=gpu:h100:4",
            "slurm-node-listed-twice"},
           {"n[1-8]", "n[1-8],n3", "slurm-node-listed-twice"},
           {"PrologFlags=Alloc", "PrologFlags=NoHold2", "slurm-prolog-late"}}) {
    slurm = kGood;
    replace(each.from, each.to);
    EXPECT_EQ(ids(), Ids{each.id}) << each.from << " -> " << each.to;
  }
}

TEST_F(SlurmCheckConf, CountsOfBothFilesAndTheMachineAreCompared) {
  machine.gpus.pop_back();
  EXPECT_EQ(ids(), Ids{"slurm-gres-too-many"});
  missing = {{"/dev/nvidia7", "does not exist"}};  // it says why there are too many
  EXPECT_EQ(ids(), Ids{"slurm-gres-file-missing"});
  machine = eight_gpus(), missing.clear();
  gres = "Name=gpu Type=h100 File=/dev/nvidia[0-5]\n";
  EXPECT_EQ(ids(), (Ids{"slurm-gres-files-differ", "slurm-gpu-unlisted"}));
  EXPECT_EQ(check().back().gpus, (std::vector<int>{6, 7}));
  replace("gpu:h100:8", "gpu:h100:6");
  EXPECT_EQ(ids(), (Ids{"slurm-gres-too-few", "slurm-gpu-unlisted"}));
}

TEST_F(SlurmCheckConf, GresConfMustSpeakOfTheNode) {
  gres.clear();
  EXPECT_EQ(ids(), Ids{"slurm-gres-conf-missing"});
  gres = "NodeName=m1 Name=gpu File=/dev/nvidia0\nName=nic File=/dev/x\n";
  EXPECT_EQ(ids(), Ids{"slurm-gres-conf-missing"});
  gres = "AutoDetect=nvml\n";
  EXPECT_EQ(ids(), Ids{});
  plugin = false;
  EXPECT_EQ(ids(), Ids{"slurm-no-nvml-plugin"});
  gres = "AutoDetect=off\n";
  EXPECT_EQ(ids(), Ids{"slurm-gres-conf-missing"});
  gres = "Name=gpu Type=a100 File=/dev/nvidia[0-7]\n";
  EXPECT_EQ(ids(), Ids{"slurm-gres-type-differs"});
}

// What slurmd 22.05 does with each of these lines: see the causes' explanations.
TEST_F(SlurmCheckConf, LinesThatSlurmdRefusesOrIgnores) {
  for (const char* without_files :
       {"Name=gpu Type=h100 Count=4\n", "Name=gpu Type=h100 Count=8\n"}) {
    gres = without_files;
    EXPECT_EQ(ids(), Ids{"slurm-gres-without-files"}) << gres;
  }
  gres += "AutoDetect=nvml\n";
  EXPECT_EQ(ids(), Ids{});
  for (const char* refused :
       {"Count=7 File=/dev/nvidia[0-7]", "Count=8K Files=/dev/nvidia[0-7]",
        "Count=8x File=/dev/nvidia[0-7]", "MultipleFiles=/dev/nvidia0",
        "Count=2 MultipleFiles=/dev/nvidia[0-1]", "File=/dev/a MultipleFiles=/dev/nvidia[0-1]"}) {
    gres = std::string("Name=gpu Type=h100 ") + refused + "\n";
    const auto found = ids();
    EXPECT_EQ(std::ranges::count(found, "slurm-gres-contradicts-itself"), 1) << refused;
  }
  gres.clear();
  for (const char* gpu : {"0", "1", "2", "3", "4", "5", "6", "7"})  // a file that all share
    gres += std::string("Name=gpu Type=h100 MultipleFiles=/dev/nvidia") + gpu + ",/dev/x\n";
  EXPECT_EQ(ids(), Ids{});
  gres = std::string(kGres) + "Name=gpu Type=h100 File=/dev/nvidia3\n";
  EXPECT_EQ(ids(), Ids{"slurm-gres-contradicts-itself"});
  gres = "Name=gpu File=/dev/nvidia[0-7]\n";
  EXPECT_EQ(ids(), Ids{"slurm-gres-type-differs"});
  replace("gpu:h100:8", "gpu:8");
  EXPECT_EQ(ids(), Ids{});
}

TEST_F(SlurmCheckConf, ATypeIsAPartOfTheDetectedName) {
  gres = "AutoDetect=nvml\n";
  for (Gpu& gpu : machine.gpus) gpu.name = "NVIDIA H100 80GB HBM3", gpu.name_source = "nvml";
  EXPECT_EQ(ids(), Ids{});
  replace("gpu:h100:8", "gpu:H100_80GB:8");
  EXPECT_EQ(ids(), Ids{});
  replace("gpu:H100_80GB:8", "gpu:a100:8");
  EXPECT_EQ(ids(), Ids{"slurm-gres-type-not-detected"});
  machine.gpus[0].name_source = "pci.ids";  // the driver does not answer
  EXPECT_EQ(ids(), Ids{});
}

TEST_F(SlurmCheckConf, EveryLineOfAHookMustBeStartable) {
  missing = {{"/none", "does not exist"},
             {"/etc/slurm/p.sh", "is a folder"},
             {"/d/*", "matches no file"},
             {"/p -x", "does not exist"}};
  for (const char* prolog : {"/none", "p.sh", "/d/*", "\"/p -x\""}) {
    slurm = kGood;
    replace("Prolog=/p", "Prolog=" + std::string(prolog));
    EXPECT_EQ(ids(), Ids{"slurm-hook-not-startable"}) << prolog;
  }
  slurm = kGood;
  replace("Prolog=/p", "Prolog=/none\nProlog=/p");
  EXPECT_EQ(ids(), (Ids{"slurm-hook-not-startable", "slurm-hook-of-newer-slurm"}));
}

TEST_F(SlurmCheckConf, GpusInInstancesAreNotGivenWhole) {
  for (Gpu& gpu : machine.gpus) gpu.mig_enabled = true;
  EXPECT_EQ(ids(), Ids{"slurm-mig-by-whole-gpus"});
  gres = "AutoDetect=nvml\n";
  EXPECT_EQ(ids(), Ids{});
}

TEST_F(SlurmCheckConf, DevicesMustBeConstrainedAndHooksMustExist) {
  cgroup = "ConstrainCores=yes\n";
  EXPECT_EQ(ids(), Ids{"slurm-devices-not-constrained"});
  cgroup = "ConstrainDevices=Yes\n";
  missing = {{"/p", "does not exist"}};
  EXPECT_EQ(ids(), Ids{"slurm-hook-not-startable"});
}

// Each row has its heading in the page, and a test here that sees it.
TEST(SlurmCauses, OfTheConfigurationAreDocumented) {
  std::stringstream page;
  page << std::ifstream(std::string(GPUREADY_SOURCE_DIR) + "/docs/slurm.md").rdbuf();
  for (const ConfCause& row : conf_causes())
    EXPECT_NE(page.str().find("`" + std::string(row.id) + "`"), std::string::npos) << row.id;
}

}  // namespace
}  // namespace gpuready::slurm
