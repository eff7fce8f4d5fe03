// The lines of a console that can tell something of a GPU, found in one pass. Most lines tell
// nothing, and a guest writes as many as it likes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "vm/diagnose/console_causes.h"

namespace gpuready::vm {

// What a line has a word of: only such lines are looked at for it. Bits.
enum LineKind : std::uint8_t {
  kBootLine = 1,
  kStepLine = 2,     // of an init: ours or hypeman's
  kDriverLine = 4,   // NVIDIA's driver starts
  kProgramLine = 8,  // a program runs
  kVersionsLine = 16,
  kBarLine = 32,
  kXidLine = 64,
};

inline constexpr std::string_view kDriverLoads = "NVRM: loading NVIDIA UNIX";

struct ConsoleLine {
  std::size_t number = 0;  // from 1
  std::string_view text;   // without commands to terminals, at most 2000 bytes
  std::uint8_t kinds = 0;
  bool claimed = false;  // a cause explains it
  // The first that fits the line; null: none does.
  const ConsoleCause* cause = nullptr;

  bool is(LineKind kind) const { return (kinds & kind) != 0; }
};

// A line's text lies in `console`, or in `changed` where it is not as it was there.
struct ConsoleLines {
  std::deque<ConsoleLine> lines;
  std::deque<std::string> changed;
};
ConsoleLines lines_of_console(std::string_view console, std::size_t lines_before);

}  // namespace gpuready::vm
