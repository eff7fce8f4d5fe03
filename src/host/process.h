// Child processes with a deadline. A child gets its own session and its own pipes, inherits no
// other descriptor, and is killed with its whole group when the deadline passes. One that cannot be
// killed (uninterruptible sleep in a driver) is abandoned: never waited for, and it holds none of
// our pipes.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace gpuready {

struct Command {
  std::string program;            // a path, or a name looked up in PATH
  std::vector<std::string> args;  // without argv[0]
  // Changes to the environment: a value sets the variable, nothing removes it.
  std::vector<std::pair<std::string, std::optional<std::string>>> env;
  std::chrono::milliseconds timeout{30'000};
  std::size_t output_limit_bytes = 16u << 20;  // more is cut, and told in ProcessResult::truncated
  // Give the child a socket as descriptor 3, collect what it writes there in `document`, and let
  // it be told something by tell().
  bool document_pipe = false;
};

enum class ProcessEnd { exited, signalled, timed_out, hung };

struct ProcessResult {
  ProcessEnd end = ProcessEnd::exited;
  int exit_code = 0;     // valid for exited
  int signal = 0;        // valid for signalled
  std::string out, err;  // stdout, stderr
  std::string document;  // what the child wrote to descriptor 3
  bool truncated = false;
  double duration_ms = 0;
};

// A running child. Output is read by poll(); nothing blocks longer than asked.
class Child {
 public:
  static Result<Child> start(const Command& command);
  Child(Child&&) noexcept;
  Child& operator=(Child&&) noexcept;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();  // kills the child's group when it still runs

  int pid() const;
  bool finished() const;
  void kill();  // SIGKILL to the whole group
  // It has told all that is wanted: its end is no longer waited for (closing a driver takes
  // milliseconds). It is killed if it still runs, and reaped when the next child starts.
  void let_go();
  // Text that the child reads from descriptor 3; never blocks. False when it cannot be had there.
  bool tell(std::string_view text);
  void tell_no_more();                  // the child reads the end there
  const ProcessResult& result() const;  // complete once finished()
  std::string& document();              // what arrived so far; a reader may consume it

 private:
  friend void poll_children(std::vector<Child*> children, Deadline until);
  struct State;
  explicit Child(State* state);
  State* state_;
};

// Reads from all children until something arrived, one finished, or `until`; enforces deadlines.
void poll_children(std::vector<Child*> children, Deadline until);

// Runs to the end. Error only when the program could not be started (not_found, no_permission,
// ...).
Result<ProcessResult> run_process(const Command& command);

// The path of our own helper executable: GPUREADY_HELPER, else /proc/self/exe when that is
// gpuready, else the one beside this program or of the installation that this library is part of,
// else the installed one.
std::string helper_path();

}  // namespace gpuready
