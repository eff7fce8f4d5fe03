// What a person at a terminal sees while a command runs: one progress line, and Ctrl-C that keeps
// what is already known.
#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace gpuready::cli {

// Set by SIGINT, SIGTERM and SIGHUP once catch_interrupts() was called; a second signal ends the
// program.
std::atomic<bool>& interrupted();
void catch_interrupts();
void release_interrupts();  // they end the program again

// One line on standard error that is overwritten, when that is a terminal and the work takes more
// than a moment; nothing otherwise.
class ProgressLine {
 public:
  explicit ProgressLine(bool quiet);
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void show(std::string_view text);
  void clear();

 private:
  bool enabled_;
  bool shown_ = false;
  Clock::time_point start_ = Clock::now(), last_ = start_;
};

}  // namespace gpuready::cli
