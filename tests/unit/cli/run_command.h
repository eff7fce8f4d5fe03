// Runs a command in this process, as a shell would.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "cli/commands.h"

namespace gpuready::cli::test {

struct Ran {
  int exit = -1;
  std::string out, err;
};

inline Ran run_command(const std::string& product, std::vector<std::string> args) {
  args.insert(args.begin(), product);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Ran ran;
  ran.exit = run_command_line(all_commands(), "check", args);
  ran.out = testing::internal::GetCapturedStdout();
  ran.err = testing::internal::GetCapturedStderr();
  return ran;
}

inline std::string read_file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return std::move(text).str();
}

}  // namespace gpuready::cli::test
