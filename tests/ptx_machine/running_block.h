// A block while it runs: its warps, and the lanes of a warp that have parted ways.
#pragma once

#include "machine.h"

namespace ptx {

// Lanes of a warp that are at the same place.
struct Group {
  u32 at = 0, mask = 0;
  u32 barrier = kNone;  // it waits there, for the turn that follows this one
  u32 turn = 0;
  bool stalled = false;  // until other lanes of its warp have come on
};

struct Barrier {
  u32 arrived = 0, expected = 0, turn = 0;
};

struct RunningWarp {
  Warp warp;
  std::vector<Group> groups;
};

class RunningBlock {
 public:
  // `before_is_done` is told to a kernel that waits for the one before it.
  RunningBlock(const Launch& launch, const Memory& memory, const bool& before_is_done);
  ~RunningBlock();
  RunningBlock(const RunningBlock&) = delete;
  RunningBlock& operator=(const RunningBlock&) = delete;

  void start(u32 index);
  // Lets every warp go on for a while. Whether any could.
  bool step();
  bool is_done() const { return live_ == 0; }
  bool lets_next_start() const { return is_done() || block_.lets_next_start; }
  [[noreturn]] void deadlock() const;

 private:
  void fill(Warp& warp);
  bool step(RunningWarp& running);
  // Runs the group at `g` until it waits, ends or meets another. Whether it went on.
  bool advance(RunningWarp& running, std::size_t g);
  void arrive(u32 barrier, u32 threads, u32 lanes);
  void release_if_complete(Barrier& barrier);
  void leave(Warp& warp, u32 lanes);

  const Launch& launch_;
  Block block_;
  std::vector<RunningWarp> warps_;
  Barrier barriers_[16];
  u32 live_ = 0;
};

}  // namespace ptx
