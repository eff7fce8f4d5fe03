#include "base/nodes/hostlist.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace gpuready {
namespace {

using Names = std::vector<std::string>;

TEST(Hostlist, IsReadAsSlurmWritesIt) {
  EXPECT_EQ(parse_hostlist("node[01-03,07],login1").value(),
            (Names{"node01", "node02", "node03", "node07", "login1"}));
  EXPECT_EQ(parse_hostlist("r[1-2]n[9-10]-ib\n\n b").value(),
            (Names{"r1n9-ib", "r1n10-ib", "r2n9-ib", "r2n10-ib", "b"}));
  EXPECT_TRUE(parse_hostlist(" ,\n").value().empty());
}

TEST(Hostlist, RefusesWhatNamesNothingOrTooMuch) {
  for (const char* text :
       {"a[", "a]", "a[]", "a[,]", "a[x]", "a[3-1]", "a[1-]", "a[-1]", "a[1-2-3]", "a[1-100001]",
        "a[1-1000]b[1-1000]", "a[0-99999],b", "a[99999999999999999999]"}) {
    const auto names = parse_hostlist(text);
    ASSERT_FALSE(names.has_value()) << text;
    EXPECT_EQ(names.error().kind, ErrorKind::bad_input) << text;
  }
  EXPECT_EQ(parse_hostlist("a[1-100000]").value().size(), kMostHosts);
}

TEST(Hostlist, FoldsTheLastNumber) {
  EXPECT_EQ(fold_hostlist({"node07", "node01", "node03", "node02", "node01"}), "node[01-03,07]");
  EXPECT_EQ(fold_hostlist({"n9", "n10", "n11"}), "n[9-11]");
  EXPECT_EQ(fold_hostlist({"n09", "n10", "n010"}), "n[09-10,010]");
  EXPECT_EQ(fold_hostlist({"r1n1-ib", "r1n2-ib", "r2n1-ib"}), "r1n[1-2]-ib,r2n1-ib");
  EXPECT_EQ(fold_hostlist({"login", "n1", "99999999999999999999"}),
            "99999999999999999999,login,n1");
  EXPECT_EQ(fold_hostlist({"n1a", "n2b"}), "n1a,n2b");
  EXPECT_EQ(fold_hostlist({"a1", "b2"}), "a1,b2");
  EXPECT_EQ(fold_hostlist({"a", "b", "a"}), "a,b");
  EXPECT_EQ(fold_hostlist({"n", "n1"}), "n,n1");
  EXPECT_EQ(fold_hostlist({"n1", "n3", "n5"}), "n[1,3,5]");
  EXPECT_EQ(fold_hostlist({}), "");
}

TEST(Hostlist, WhatIsFoldedReadsBack) {
  Names names;
  for (int i = 0; i < 1200; i += 1 + i % 3) {
    names.push_back("gpu" + std::to_string(i));
    names.push_back("gpu0" + std::to_string(i));
    names.push_back("r" + std::to_string(i % 7) + "-" + std::to_string(i) + "x");
  }
  auto again = parse_hostlist(fold_hostlist(names)).value();
  std::ranges::sort(names);
  std::ranges::sort(again);
  EXPECT_EQ(again, names);
}

TEST(Hostlist, NodesHaveNamesThatAShellReadsAsSuch) {
  EXPECT_EQ(parse_nodes("n[1-2]x[1-2], login.example-1_a")->size(), 5u);
  for (const char* list :
       {"", ",", " , ", "n1;reboot", "n[1-2]$(id)", "-w", "n1,a b`c`", "/dev/nvidia[0-7]"})
    EXPECT_FALSE(parse_nodes(list)) << list;
  EXPECT_TRUE(parse_hostlist("/dev/nvidia[0-7]"));  // as gres.conf lists files
}

}  // namespace
}  // namespace gpuready
