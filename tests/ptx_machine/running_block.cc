#include "running_block.h"

#include <algorithm>

#include "pending.h"
#include "text.h"

namespace ptx {
namespace {

// Register files are kept for the next block: what a program does not set has any value.
std::vector<std::vector<u8>>& spare_files() {
  static thread_local std::vector<std::vector<u8>> files;
  return files;
}
std::vector<u8> register_file(u32 bytes) {
  std::vector<u8> file;
  if (auto& spare = spare_files(); !spare.empty()) {
    file = std::move(spare.back());
    spare.pop_back();
  }
  if (file.size() < bytes) file.resize(bytes);
  return file;
}

// Dynamic shared memory follows the static, aligned as the images declare it at most.
u32 dynamic_start(const Kernel& kernel) { return (kernel.shared_bytes + 127) / 128 * 128; }

u64 value_of(const std::string& name, const Launch& launch, const Block& block, u32 thread) {
  if (name == "%tid.x") return thread;
  if (name == "%ntid.x") return launch.threads;
  if (name == "%ctaid.x") return block.index;
  if (name == "%nctaid.x") return launch.blocks;
  if (name == "%laneid") return thread % kLanes;
  if (name == "%smid") return block.index % launch.multiprocessors;
  if (name == "parameters") return reinterpret_cast<u64>(launch.parameters);
  if (name == "local")
    return reinterpret_cast<u64>(block.local.data()) + u64{thread} * launch.kernel->local_bytes;
  if (name == "dynamic") return dynamic_start(*launch.kernel);
  if (name.ends_with(".y") || name.ends_with(".z")) return name.starts_with("%n") ? 1 : 0;
  throw Fault("unknown special register " + name);
}

}  // namespace

RunningBlock::RunningBlock(const Launch& launch, const Memory& memory, const bool& before_is_done)
    : launch_(launch) {
  const Kernel& k = *launch.kernel;
  block_.launch = &launch;
  block_.memory = &memory;
  block_.before_is_done = &before_is_done;
  block_.local.resize(std::size_t{k.local_bytes} * launch.threads);
  warps_.resize((launch.threads + kLanes - 1) / kLanes);
  for (RunningWarp& w : warps_) w.warp.registers = register_file(k.register_bytes);
}
RunningBlock::~RunningBlock() {
  for (RunningWarp& w : warps_) spare_files().push_back(std::move(w.warp.registers));
}

void RunningBlock::fill(Warp& warp) {
  const Kernel& k = *launch_.kernel;
  std::memcpy(warp.registers.data(), k.initial.data(), k.initial.size());
  for (const Kernel::Special& s : k.specials)
    for (u32 lane = 0; lane < kLanes; ++lane) {
      const u64 value = value_of(s.name, launch_, block_, warp.index * kLanes + lane);
      std::memcpy(warp.registers.data() + s.place + lane * s.bytes, &value, s.bytes);
    }
}

void RunningBlock::start(u32 index) {
  block_.index = index;
  block_.lets_next_start = false;
  block_.shared.assign(dynamic_start(*launch_.kernel) + launch_.dynamic_shared_bytes, 0xcd);
  for (Barrier& b : barriers_) b = {};
  live_ = launch_.threads;
  for (u32 w = 0; w < warps_.size(); ++w) {
    RunningWarp& running = warps_[w];
    const u32 lanes = std::min(launch_.threads - w * kLanes, kLanes);
    Warp& warp = running.warp;
    warp.block = &block_;
    warp.index = w;
    warp.alive = lanes == kLanes ? kAllLanes : (u32{1} << lanes) - 1;
    warp.copies.clear();
    warp.products.clear();
    fill(warp);
    running.groups.assign(1, {0, warp.alive});
  }
}

void RunningBlock::release_if_complete(Barrier& barrier) {
  if (barrier.arrived == 0) return;
  if (barrier.arrived < (barrier.expected ? barrier.expected : live_)) return;
  barrier.arrived = 0;
  ++barrier.turn;
}

void RunningBlock::arrive(u32 number, u32 threads, u32 lanes) {
  Barrier& barrier = barriers_[number % 16];
  if (barrier.arrived != 0 && barrier.expected != threads)
    throw Fault("barrier " + std::to_string(number) + " is used with different thread counts");
  barrier.expected = threads;
  barrier.arrived += static_cast<u32>(__builtin_popcount(lanes));
  if (threads && barrier.arrived > threads)
    throw Fault("more threads than expected at barrier " + std::to_string(number));
  release_if_complete(barrier);
}

void RunningBlock::leave(Warp& warp, u32 lanes) {
  finish_copies(warp, lanes);
  if (!warp.products.empty()) throw Fault("a wgmma was never waited for");
  warp.alive &= ~lanes;
  live_ -= static_cast<u32>(__builtin_popcount(lanes));
  for (Barrier& b : barriers_)
    if (b.expected == 0) release_if_complete(b);
}

bool RunningBlock::advance(RunningWarp& running, std::size_t g) {
  Warp& warp = running.warp;
  auto& groups = running.groups;
  u32 at = groups[g].at, mask = groups[g].mask;
  u32 meet = kNone;  // where the next of the others is
  for (std::size_t o = 0; o < groups.size(); ++o)
    if (o != g && groups[o].at > at) meet = std::min(meet, groups[o].at);
  const std::vector<Instruction>& code = launch_.kernel->code;

  bool went_on = false;
  for (u32 budget = launch_.slice; budget-- > 0; went_on = true) {
    if (at >= meet) break;
    ++block_.instructions;
    if (at >= code.size()) throw Fault("runs beyond the end of " + launch_.kernel->name);
    const Instruction& instruction = code[at];
    warp.mask = mask;
    if (instruction.guard != kNone) {
      const u32 guard = warp.predicate(instruction.guard);
      warp.mask &= instruction.guard_not ? ~guard : guard;
      if (warp.mask == 0) {
        ++at;
        continue;
      }
    }
    After after = After::retry;
    try {
      if (!instruction.of_whole_warps || warp.mask == warp.alive)
        after = instruction.run(warp, instruction);
    } catch (const Fault& fault) {
      throw Fault(launch_.kernel->name + ", line " + std::to_string(instruction.line) + ", block " +
                  std::to_string(block_.index) + ", warp " + std::to_string(warp.index) + ": " +
                  fault.what());
    }
    if (after == After::next) {
      ++at;
    } else if (after == After::branch) {
      const u32 rest = mask & ~warp.mask;
      groups[g].at = instruction.target;
      groups[g].mask = warp.mask;
      if (rest) groups.push_back({at + 1, rest});
      if (groups.size() > 1) return true;
      at = instruction.target;
    } else if (after == After::leave) {
      leave(warp, warp.mask);
      mask &= ~warp.mask;
      ++at;
      if (mask) continue;
      groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(g));
      return true;
    } else if (after == After::wait) {
      if (warp.barrier_arrives_only) {
        arrive(warp.barrier, warp.barrier_threads, warp.mask);
        ++at;
        continue;
      }
      if (const u32 rest = mask & ~warp.mask; rest) groups.push_back({at + 1, rest});
      Group& group = groups[g];
      group.at = at + 1;
      group.mask = warp.mask;
      group.barrier = warp.barrier % 16;
      group.turn = barriers_[group.barrier].turn;
      arrive(warp.barrier, warp.barrier_threads, warp.mask);
      return true;
    } else if (after == After::yield) {
      ++at;
      went_on = true;
      break;
    } else {  // retry
      groups[g].stalled = true;
      break;
    }
  }
  groups[g].at = at;
  groups[g].mask = mask;
  return went_on;
}

bool RunningBlock::step(RunningWarp& running) {
  auto& groups = running.groups;
  bool went_on = false;
  for (Group& group : groups) group.stalled = false;
  for (u32 turns = 0; turns < 256 && !groups.empty(); ++turns) {
    for (Group& group : groups)
      if (group.barrier != kNone && barriers_[group.barrier].turn != group.turn)
        group.barrier = kNone;
    // Those that have met go on as one; then the first of them.
    for (std::size_t a = 0; a < groups.size(); ++a) {
      if (groups[a].barrier != kNone) continue;
      for (std::size_t b = groups.size(); b-- > a + 1;) {
        if (groups[b].barrier != kNone || groups[b].at != groups[a].at) continue;
        groups[a].mask |= groups[b].mask;
        groups[a].stalled = false;
        groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(b));
      }
    }
    std::size_t first = groups.size();
    for (std::size_t a = 0; a < groups.size(); ++a)
      if (groups[a].barrier == kNone && !groups[a].stalled &&
          (first == groups.size() || groups[a].at < groups[first].at))
        first = a;
    if (first == groups.size()) break;
    const bool was_alone = groups.size() == 1;
    const bool now = advance(running, first);
    went_on |= now;
    if (was_alone && groups.size() == 1) break;
    if (now)
      for (std::size_t a = 0; a < groups.size(); ++a)
        if (a != first) groups[a].stalled = false;
  }
  if (finish_bulk(block_)) went_on = true;
  finish_announced_copies(running.warp);
  return went_on;
}

bool RunningBlock::step() {
  bool went_on = false;
  for (RunningWarp& warp : warps_) went_on |= step(warp);
  return went_on;
}

void RunningBlock::deadlock() const {
  std::string text =
      launch_.kernel->name + ": every thread waits, block " + std::to_string(block_.index);
  for (const RunningWarp& w : warps_)
    for (const Group& g : w.groups)
      text += ", warp " + std::to_string(w.warp.index) + " lanes " + hex(g.mask) + " at line " +
              std::to_string(launch_.kernel->code[g.at].line) +
              (g.barrier == kNone ? "" : " after barrier " + std::to_string(g.barrier));
  throw Fault(text);
}

}  // namespace ptx
