#include "slurm/conf.h"

#include <gtest/gtest.h>

#include "host/recording/recording.h"

namespace gpuready::slurm {
namespace {

TEST(SlurmConf, LinesAreKeysAndValues) {
  const auto conf = parse_conf(
      "# a comment\n"
      "ClusterName=c  SlurmUser=root # why\n"
      "GresTypes = gpu,\\\n"
      "  mps\n"
      "\n"
      "Reason=\"two words\" X=a\\#b\n"
      "nodename=n[1-2] Gres=gpu:2\n",
      "/etc/slurm/slurm.conf");
  ASSERT_EQ(conf.size(), 4u);
  EXPECT_EQ(conf[0].value("slurmuser"), "root");
  EXPECT_EQ(conf[0].number, 2);
  EXPECT_EQ(conf[1].place(), "/etc/slurm/slurm.conf:3");
  EXPECT_EQ(conf[2].value("Reason"), "two words");
  EXPECT_EQ(conf[2].value("X"), "a#b");
  EXPECT_EQ(conf[3].value("Gres"), "gpu:2");
  EXPECT_TRUE(parse_conf("\\\n\\\n=\n==a\nword\n\"\n", "f").size() <= 2);
}

TEST(SlurmConf, TheLastSettingCountsAndThoseOfNodesDoNot) {
  const auto conf =
      parse_conf("Prolog=/a\nProlog=/b\nNodeName=n1 Gres=gpu:4 Prolog=/c\nEpilog=(null)\n", "f");
  EXPECT_EQ(value_of(conf, "prolog"), "/b");
  EXPECT_EQ(value_of(conf, "Gres"), std::nullopt);
  EXPECT_EQ(value_of(conf, "Epilog"), std::nullopt);
  EXPECT_TRUE(lists("Alloc, Contain", "contain"));
  EXPECT_FALSE(lists("Allocate", "Alloc"));
  EXPECT_FALSE(lists(std::nullopt, "Alloc"));
}

TEST(SlurmConf, NodesAreFoundInTheirLists) {
  const auto conf = parse_conf(
      "NodeName=DEFAULT Gres=gpu:8 CPUs=2\nNodeName=a[01-16,20] Port=1\nNodeName=login CPUs=4\n",
      "f");
  EXPECT_EQ(lines_of_node(conf, "a07").size(), 2u);
  EXPECT_EQ(lines_of_node(conf, "a07")[0]->value("Port"), "1");
  EXPECT_EQ(lines_of_node(conf, "a07")[1]->value("Gres"), "gpu:8");
  EXPECT_EQ(lines_of_node(conf, "login")[0]->value("CPUs"), "4");
  EXPECT_TRUE(lines_of_node(conf, "a17").empty());
}

TEST(SlurmConf, GresCountsGpusByType) {
  EXPECT_EQ(gpus_of_gres("gpu:8").count, 8);
  EXPECT_EQ(gpus_of_gres("gpu").count, 1);
  const auto two = gpus_of_gres("gpu:h100:4(S:0,1),gpu:a100:2(S:0),nic:4,mps:100");
  EXPECT_EQ(two.count, 6);
  EXPECT_EQ(two.types, (std::vector<std::string>{"h100", "a100"}));
  EXPECT_EQ(gpus_of_gres("gpu:tesla").count, 1);
  EXPECT_EQ(gpus_of_gres("gpu:tesla").types.at(0), "tesla");
  EXPECT_EQ(gpus_of_gres("nic:4,,:").count, 0);
  EXPECT_EQ(gpus_of_gres("gpu:99999999999999").count, 1024);
  EXPECT_EQ(gpus_of_gres("gpu:h100:8K").count, 1024);
  EXPECT_EQ(gpus_of_gres("gpu:8x").count, 0);
  EXPECT_EQ(gpus_of_gres("gpu:h100:no_consume:8").count, 8);
  EXPECT_EQ(gpus_of_gres("gpu:no_consume:8").types.at(0), "");
  EXPECT_EQ(gres_count("8"), 8);
  EXPECT_EQ(gres_count("2k"), 2048);
  EXPECT_EQ(gres_count("2KB"), 2000);
  EXPECT_EQ(gres_count("1MiB"), 1 << 20);
  for (const char* bad : {"", "-8", "8x", "8kx", "k"}) EXPECT_FALSE(gres_count(bad)) << bad;
}

TEST(SlurmConf, IncludesAreReadFromTheFolderOfTheFile) {
  Recording recording;
  recording.closed_world = true;
  const auto file = [&](const char* path, const char* text) {
    recording.files[path] = std::string(text);
  };
  file("/etc/slurm/slurm.conf", "Include nodes.conf\nProlog=/p\ninclude /no/such\n");
  file("/etc/slurm/nodes.conf", "NodeName=n1 Gres=gpu:1\nInclude slurm.conf\n");
  const auto host = make_recorded_host(std::move(recording));
  std::vector<std::string> unread;
  const auto conf = read_conf(*host, "/etc/slurm/slurm.conf", unread);
  ASSERT_TRUE(conf);
  EXPECT_EQ(conf->front().file, "/etc/slurm/nodes.conf");
  EXPECT_EQ(value_of(*conf, "Prolog"), "/p");
  // One file that cannot be read at each depth, and the circle where it is cut.
  EXPECT_FALSE(unread.empty());
  EXPECT_EQ(unread.back(),
            "/no/such: No such file or directory, included by /etc/slurm/slurm.conf:3");
  EXPECT_FALSE(read_conf(*host, "/etc/slurm/gres.conf", unread));
}

TEST(SlurmFindConf, TheNamedFileThenTheVariableThenTheUsualFolders) {
  Recording recording;
  recording.closed_world = true;
  const auto find = [&](const std::optional<std::string>& named = {}) {
    const auto found = find_conf(*make_recorded_host(recording), named);
    return found ? *found : found.error().message;
  };
  EXPECT_EQ(find(), "slurm.conf was not found in the usual folders; pass --conf FILE");
  for (const char* path : {"/opt/slurm/etc/slurm.conf", "/usr/local/etc/slurm.conf",
                           "/var/spool/slurmd/conf-cache/slurm.conf", "/run/slurm/conf/slurm.conf",
                           "/etc/slurm-llnl/slurm.conf", "/etc/slurm/slurm.conf"}) {
    recording.files[path] = "ClusterName=c\n";
    EXPECT_EQ(find(), path);
  }
  recording.environment["SLURM_CONF"] = "here/slurm.conf";  // Slurm wants an absolute path
  EXPECT_EQ(find(), "/etc/slurm/slurm.conf");
  recording.environment["SLURM_CONF"] = "/site/slurm.conf";  // whether it exists or not
  EXPECT_EQ(find(), "/site/slurm.conf");
  EXPECT_EQ(find("/named/slurm.conf"), "/named/slurm.conf");
  recording.real_paths["slurm.conf"] = "/work/slurm.conf";
  EXPECT_EQ(find("slurm.conf"), "/work/slurm.conf");
  EXPECT_EQ(find("none.conf"), "none.conf: No such file or directory");
}

TEST(SlurmNodeName, TheNamedOneThenThatOfSlurmdThenTheHosts) {
  Recording recording;
  recording.closed_world = true;
  SystemIdentity identity;
  identity.host_name = "gpu7.example.org";
  recording.identity = identity;
  const auto name = [&](const std::optional<std::string>& named = {}) {
    return node_name(*make_recorded_host(recording), named).value_or("error");
  };
  EXPECT_EQ(name(), "gpu7");
  recording.environment["SLURMD_NODENAME"] = "";
  EXPECT_EQ(name(), "gpu7");
  recording.environment["SLURMD_NODENAME"] = "virtual-7";
  EXPECT_EQ(name(), "virtual-7");
  EXPECT_EQ(name("n1"), "n1");
  recording.environment.clear();
  recording.identity = RecordedFailure{ErrorKind::io, "uname: failed", 0};
  EXPECT_EQ(name(), "error");
}

}  // namespace
}  // namespace gpuready::slurm
