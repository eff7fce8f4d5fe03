// What a person at a terminal sees while a command runs: one progress line, and Ctrl-C.
#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace gpuready::cli {

// SIGINT, SIGTERM and SIGHUP end every command with Exit::interrupted: at once, since
// run_command_line() calls this; or, from catch_interrupts() on, as soon as the command has seen
// interrupted() and has told what it knows. A signal more than a second after the first ends the
// program at once.
void end_at_interrupts();
void catch_interrupts();
std::atomic<bool>& interrupted();

// Whether it is a terminal that understands colours and clearing: TERM is set, and is not "dumb".
bool takes_escapes(int descriptor);

// One line on standard error that is overwritten, when that is such a terminal and the work takes
// more than a moment; nothing otherwise.
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
