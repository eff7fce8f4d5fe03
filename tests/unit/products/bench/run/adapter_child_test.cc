#include "bench/run/adapter_child.h"

#include <gtest/gtest.h>

namespace gpuready::bench {
namespace {

TEST(AdapterChild, ItsLastWordsAreTakenFromTheStacks) {
  std::string err = "step 1\nstep 2\n\n\x1e{\"peak_resident_bytes\":4096}\n";
  const AdapterEnd end = take_adapter_end(err);
  EXPECT_EQ(end.peak_resident_bytes, 4096u);
  EXPECT_EQ(end.cannot_start, "");
  EXPECT_EQ(err, "step 1\nstep 2\n");
}

TEST(AdapterChild, TellsWhyNothingStarted) {
  std::string err =
      "\n\x1e{\"cannot_start\":\"No such file or directory\"}\n"
      "\n\x1e{\"peak_resident_bytes\":1}\n";
  const AdapterEnd end = take_adapter_end(err);
  EXPECT_EQ(end.cannot_start, "No such file or directory");
  EXPECT_EQ(end.peak_resident_bytes, 1u);
  EXPECT_EQ(err, "");
}

TEST(AdapterChild, WhatAStackWritesItselfDoesNotCount) {
  // The last line is ours, for nothing of the stack's lives when it is written.
  std::string err =
      "\n\x1e{\"peak_resident_bytes\":1}\nmore\n\n\x1e{\"peak_resident_bytes\":4096}\n";
  EXPECT_EQ(take_adapter_end(err).peak_resident_bytes, 4096u);
  for (const char* text :
       {"", "\x1e", "\x1e{", "\x1e[1]", "\x1e{\"peak_resident_bytes\":-1}", "words"}) {
    std::string other = text;
    EXPECT_FALSE(take_adapter_end(other).peak_resident_bytes) << text;
  }
}

TEST(AdapterChild, TheCommandStandsBehindOurProgram) {
  Job job;
  job.program = "python3";
  job.args = {"x.py", "--json"};
  const Job ours = supervised(job, "/bin/gpuready");
  EXPECT_EQ(ours.program, "/bin/gpuready");
  EXPECT_EQ(ours.args, (std::vector<std::string>{"__adapter", "python3", "x.py", "--json"}));
  EXPECT_TRUE(ours.supervises);
}

}  // namespace
}  // namespace gpuready::bench
