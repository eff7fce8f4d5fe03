// Asynchronous copies and the barriers in shared memory that count them. A copy takes effect when
// it is waited for, no earlier: a wait that is missing shows.
#include <algorithm>

#include "lanes.h"
#include "pending.h"

namespace ptx {
namespace {

// mbarrier, in its 64 bits of shared memory.
struct Counter {
  u32 phase : 1, expected : 15, pending : 16;
  i32 bytes;  // still to come
};
static_assert(sizeof(Counter) == 8);

template <class F>
void change(Block& block, u32 address, F f) {
  u8* at = block.in_shared(address, 8);
  Counter counter;
  std::memcpy(&counter, at, 8);
  f(counter);
  if (counter.pending == 0 && counter.bytes == 0) {
    counter.phase = !counter.phase;
    counter.pending = counter.expected;
  }
  std::memcpy(at, &counter, 8);
}
void arrive(Block& block, u32 address, u32 expected_bytes) {
  change(block, address, [&](Counter& c) {
    if (c.pending == 0) throw Fault("more arrivals than the barrier was made for");
    c.bytes += static_cast<i32>(expected_bytes);
    --c.pending;
  });
}

void finish(Warp& w, const PendingCopy& copy) {
  if (copy.bytes == 0) return arrive(*w.block, copy.target, 0);
  u8* to = w.block->in_shared(copy.target, copy.bytes);
  const u32 read = copy.bytes - copy.zeros;
  if (read) std::memcpy(to, w.block->in_memory(copy.source, copy.bytes), read);
  std::memset(to + read, 0, copy.zeros);
}

template <class F>
void finish_if(Warp& w, F chosen) {
  std::erase_if(w.copies, [&](const PendingCopy& copy) {
    const bool now = chosen(copy);
    if (now) finish(w, copy);
    return now;
  });
}

u32 shared_at(Warp& w, const Instruction& i, u32 operand, u32 address, u32 lane) {
  return w.at<u32>(i.operands[operand])[lane] + static_cast<u32>(i.displacements[address]);
}

// operands: target, source, and bytes read of `immediate`, if they may be fewer.
After copy(Warp& w, const Instruction& i) {
  each_lane(w.mask, [&](u32 l) {
    PendingCopy c;
    c.target = shared_at(w, i, 0, 0, l);
    c.source = w.at<u64>(i.operands[1])[l] + static_cast<u64>(i.displacements[1]);
    c.bytes = i.immediate;
    if (i.operands.size() > 2) c.zeros = c.bytes - std::min(c.bytes, w.at<u32>(i.operands[2])[l]);
    c.lane = l;
    c.group = w.copy_group[l];
    w.copies.push_back(c);
  });
  return After::next;
}
After commit(Warp& w, const Instruction&) {
  each_lane(w.mask, [&](u32 l) { ++w.copy_group[l]; });
  return After::next;
}
After wait_group(Warp& w, const Instruction& i) {
  finish_if(w, [&](const PendingCopy& c) {
    return (w.mask >> c.lane & 1) && c.group + i.immediate < w.copy_group[c.lane];
  });
  return After::next;
}
After wait_all(Warp& w, const Instruction&) {
  finish_copies(w, w.mask);
  return After::next;
}
After announce(Warp& w, const Instruction& i) {
  each_lane(w.mask, [&](u32 l) {
    PendingCopy c;
    c.target = shared_at(w, i, 0, 0, l);
    c.lane = l;
    c.group = w.copy_group[l];
    w.copies.push_back(c);
  });
  return After::next;
}

// operands: target, source, bytes, barrier.
After bulk_copy(Warp& w, const Instruction& i) {
  each_lane(w.mask, [&](u32 l) {
    PendingBulk c;
    c.target = shared_at(w, i, 0, 0, l);
    c.source = w.at<u64>(i.operands[1])[l] + static_cast<u64>(i.displacements[1]);
    c.bytes = w.at<u32>(i.operands[2])[l];
    c.barrier = shared_at(w, i, 3, 2, l);
    if (c.bytes % 16 || c.source % 16 || c.target % 16)
      throw Fault("a bulk copy that is not aligned to 16 bytes");
    w.block->bulk.push_back(c);
  });
  return After::next;
}

After init(Warp& w, const Instruction& i) {
  each_lane(w.mask, [&](u32 l) {
    Counter c{};
    const u32 count = w.at<u32>(i.operands[1])[l];
    c.expected = count & 0x7fffu;
    c.pending = count & 0x7fffu;
    std::memcpy(w.block->in_shared(shared_at(w, i, 0, 0, l), 8), &c, 8);
  });
  return After::next;
}
After arrive_plain(Warp& w, const Instruction& i) {
  each_lane(w.mask, [&](u32 l) { arrive(*w.block, shared_at(w, i, 0, 0, l), 0); });
  return After::next;
}
After arrive_expecting(Warp& w, const Instruction& i) {
  each_lane(w.mask, [&](u32 l) {
    arrive(*w.block, shared_at(w, i, 0, 0, l), w.at<u32>(i.operands[1])[l]);
  });
  return After::next;
}
// operands: whether the phase of that parity is over, barrier, parity.
After try_wait(Warp& w, const Instruction& i) {
  u32 over = 0;
  each_lane(w.mask, [&](u32 l) {
    Counter c;
    std::memcpy(&c, w.block->in_shared(shared_at(w, i, 1, 0, l), 8), 8);
    if (c.phase != (w.at<u32>(i.operands[2])[l] & 1)) over |= u32{1} << l;
  });
  u32& d = w.predicate(i.operands[0]);
  d = (d & ~w.mask) | over;
  return over == w.mask ? After::next : After::yield;
}

After await_launch(Warp& w, const Instruction&) {
  return *w.block->before_is_done ? After::next : After::retry;
}
After let_next_start(Warp& w, const Instruction&) {
  w.block->lets_next_start = true;
  return After::yield;
}
After nothing(Warp&, const Instruction&) { return After::next; }

bool make_copy(Builder& b, const Statement& s, Instruction& i) {
  if (s.has("bulk")) {
    if (s.has("prefetch")) {
      i.run = &nothing;
      return true;
    }
    i.operands = {b.address(s.operands[0], i), b.address(s.operands[1], i),
                  b.place(s.operands[2], 4), b.address(s.operands[3], i)};
    i.run = &bulk_copy;
    return true;
  }
  if (s.has("commit_group")) {
    i.run = &commit;
  } else if (s.has("wait_all")) {
    i.run = &wait_all;
  } else if (s.has("wait_group")) {
    i.immediate = static_cast<u32>(std::stoul(std::string(s.operands[0].text)));
    i.run = &wait_group;
  } else if (s.has("mbarrier") && s.has("noinc")) {
    i.operands = {b.address(s.operands[0], i)};
    i.run = &announce;
  } else if (s.has("ca") || s.has("cg")) {
    i.operands = {b.address(s.operands[0], i), b.address(s.operands[1], i)};
    i.immediate = static_cast<u32>(std::stoul(std::string(s.operands[2].text)));
    if (s.operands.size() > 3) i.operands.push_back(b.place(s.operands[3], 4));
    i.run = &copy;
  }
  return i.run != nullptr;
}

}  // namespace

void finish_copies(Warp& w, u32 lanes) {
  finish_if(w, [&](const PendingCopy& c) { return (lanes >> c.lane & 1) != 0; });
}

void finish_announced_copies(Warp& w) {
  u32 last[kLanes] = {};  // of each lane, those up to its last arrival
  for (u32 k = 0; k < w.copies.size(); ++k)
    if (w.copies[k].bytes == 0) last[w.copies[k].lane] = k + 1;
  u32 k = 0;
  finish_if(w, [&](const PendingCopy& c) { return k++ < last[c.lane]; });
}

bool finish_bulk(Block& block) {
  const auto copies = std::exchange(block.bulk, {});
  for (const PendingBulk& c : copies) {
    for (u32 at = 0; at < c.bytes; at += 16)
      std::memcpy(block.in_shared(c.target + at, 16), block.in_memory(c.source + at, 16), 16);
    change(block, c.barrier, [&](Counter& counter) { counter.bytes -= static_cast<i32>(c.bytes); });
  }
  return !copies.empty();
}

bool make_async(Builder& b, const Statement& s, Instruction& i) {
  const auto op = s.opcode[0];
  if (op == "cp" && s.has("async")) return make_copy(b, s, i);
  if (op == "createpolicy" || op == "setmaxnreg" || op == "fence" || op == "membar") {
    i.run = &nothing;  // there is one memory, in order
    return true;
  }
  if (op == "griddepcontrol") {
    i.run = s.has("wait") ? &await_launch : &let_next_start;
    return true;
  }
  if (op != "mbarrier") return false;
  if (s.has("init")) {
    i.operands = {b.address(s.operands[0], i), b.place(s.operands[1], 4)};
    i.run = &init;
  } else if (s.has("try_wait") && s.has("parity")) {
    i.operands = {b.predicate(s.operands[0]), b.address(s.operands[1], i),
                  b.place(s.operands[2], 4)};
    i.run = &try_wait;
  } else if (s.has("arrive")) {
    const bool expects = s.has("expect_tx");
    i.operands = {b.address(s.operands[1], i)};
    if (expects) i.operands.push_back(b.place(s.operands[2], 4));
    i.run = expects ? &arrive_expecting : &arrive_plain;
  }
  return i.run != nullptr;
}

}  // namespace ptx
