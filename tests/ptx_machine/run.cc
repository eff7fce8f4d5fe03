// Runs launches: one after the other, or overlapping as far as they allow it.
#include <memory>

#include "running_block.h"

namespace ptx {
namespace {

class Grid {
 public:
  // `together` blocks at once, unless the launch wants them all.
  Grid(const Launch& launch, const Memory& memory, u32 together) : launch_(launch) {
    if (launch.cooperative) together = launch.blocks;
    while (blocks_.size() < std::min(together, launch.blocks)) {
      blocks_.push_back(std::make_unique<RunningBlock>(launch, memory, before_is_done_));
      blocks_.back()->start(next_++);
    }
  }

  // Lets every block go on for a while. Whether any could.
  bool step() {
    bool went_on = false;
    for (auto& block : blocks_) {
      if (block->is_done()) continue;
      went_on |= block->step();
      if (!block->is_done()) continue;
      ++done_;
      went_on = true;
      if (next_ < launch_.blocks) block->start(next_++);
    }
    return went_on;
  }
  bool is_done() const { return done_ == launch_.blocks; }
  void tell_that_before_is_done() { before_is_done_ = true; }
  bool lets_next_start() const {
    u32 count = done_;
    for (const auto& block : blocks_) count += !block->is_done() && block->lets_next_start();
    return count == launch_.blocks;
  }
  [[noreturn]] void deadlock() const {
    for (const auto& block : blocks_)
      if (!block->is_done()) block->deadlock();
    throw Fault("every block waits");
  }

 private:
  const Launch& launch_;
  bool before_is_done_ = false;
  std::vector<std::unique_ptr<RunningBlock>> blocks_;
  u32 next_ = 0, done_ = 0;
};

inline constexpr std::size_t kMostGrids = 3;  // that have begun and not ended

}  // namespace

// A launch begins as early as those before it let it, and goes on first: what it should have waited
// for is not there.
void run(std::span<const Launch> launches, const Memory& memory) {
  std::vector<std::unique_ptr<Grid>> grids;
  std::size_t first = 0;  // that has not ended
  const auto begin = [&] {
    const Launch& launch = launches[grids.size()];
    const u32 together = launches.size() > 1 ? launch.multiprocessors : 1;
    grids.push_back(std::make_unique<Grid>(launch, memory, together));
    if (first + 1 == grids.size()) grids.back()->tell_that_before_is_done();
  };
  while (first < launches.size()) {
    while (grids.size() < launches.size() && grids.size() < first + kMostGrids &&
           (grids.size() == first || grids.back()->lets_next_start()))
      begin();
    bool went_on = false;
    for (std::size_t k = grids.size(); k-- > first && !went_on;) went_on = grids[k]->step();
    if (!went_on) grids[first]->deadlock();
    for (; first < grids.size() && grids[first]->is_done(); ++first) {
      grids[first].reset();
      if (first + 1 < grids.size()) grids[first + 1]->tell_that_before_is_done();
    }
  }
}

}  // namespace ptx
