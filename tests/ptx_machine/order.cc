// Puts a kernel's basic blocks into an order in which lanes that part ways meet again soon when the
// first in the text always goes on first: a block after those that lead to it, all of a loop before
// what follows it (a reverse post-order that leaves loops last).
#include <algorithm>
#include <functional>
#include <set>

#include "order.h"

namespace ptx {
namespace {

struct BasicBlock {
  u32 begin = 0, end = 0;  // instructions
  u32 on = kNone;          // the block that follows, if it does not branch
  u32 branch = kNone;      // or if it does
  u32 depth = 0;           // of loops
};

bool ends_block(const Instruction& i) { return i.flow != Flow::on; }
bool falls_through(const Instruction& last) { return last.flow == Flow::on || last.guard != kNone; }

std::vector<BasicBlock> blocks_of(const std::vector<Instruction>& code) {
  const auto size = static_cast<u32>(code.size());
  std::set<u32> starts = {0};
  for (u32 at = 0; at < size; ++at) {
    if (code[at].flow == Flow::branch) starts.insert(code[at].target);
    if (ends_block(code[at]) && at + 1 < size) starts.insert(at + 1);
  }
  std::vector<BasicBlock> blocks;
  std::vector<u32> block_at(size, kNone);
  for (auto start = starts.begin(); start != starts.end(); ++start) {
    const auto next = std::next(start);
    block_at[*start] = static_cast<u32>(blocks.size());
    blocks.push_back({*start, next == starts.end() ? size : *next});
  }
  for (BasicBlock& block : blocks) {
    const Instruction& last = code[block.end - 1];
    if (falls_through(last) && block.end < size) block.on = block_at[block.end];
    if (last.flow == Flow::branch) block.branch = block_at[last.target];
  }
  return blocks;
}

using Visit = std::function<void(u32)>;

// Calls `found(from, to)` for each branch back within a depth-first walk.
void find_back_branches(const std::vector<BasicBlock>& blocks,
                        const std::function<void(u32, u32)>& found) {
  std::vector<u8> state(blocks.size(), 0);  // 1: on the way, 2: left
  const Visit visit = [&](u32 b) {
    state[b] = 1;
    for (u32 to : {blocks[b].on, blocks[b].branch}) {
      if (to == kNone) continue;
      if (state[to] == 1) found(b, to);
      if (state[to] == 0) visit(to);
    }
    state[b] = 2;
  };
  visit(0);
}

// A loop is what leads to a branch back to its head.
void count_loops(std::vector<BasicBlock>& blocks) {
  std::vector<std::vector<u32>> from(blocks.size());
  for (u32 b = 0; b < blocks.size(); ++b)
    for (u32 to : {blocks[b].on, blocks[b].branch})
      if (to != kNone) from[to].push_back(b);
  std::map<u32, std::set<u32>> loops;  // by their heads
  find_back_branches(blocks, [&](u32 end, u32 head) {
    std::set<u32>& loop = loops[head];
    loop.insert(head);
    std::vector<u32> todo = {end};
    while (!todo.empty()) {
      const u32 b = todo.back();
      todo.pop_back();
      if (!loop.insert(b).second) continue;
      todo.insert(todo.end(), from[b].begin(), from[b].end());
    }
  });
  for (const auto& [head, loop] : loops)
    for (u32 b : loop) ++blocks[b].depth;
}

std::vector<u32> order_of(const std::vector<BasicBlock>& blocks) {
  std::vector<u32> order;
  std::vector<bool> seen(blocks.size());
  const Visit visit = [&](u32 b) {
    seen[b] = true;
    u32 first = blocks[b].branch, second = blocks[b].on;
    if (first != kNone && second != kNone && blocks[second].depth < blocks[first].depth)
      std::swap(first, second);
    for (u32 to : {first, second})
      if (to != kNone && !seen[to]) visit(to);
    order.push_back(b);
  };
  visit(0);
  std::ranges::reverse(order);
  return order;
}

}  // namespace

void order_blocks(std::vector<Instruction>& code) {
  if (code.empty()) return;
  std::vector<BasicBlock> blocks = blocks_of(code);
  count_loops(blocks);
  const std::vector<u32> order = order_of(blocks);
  std::vector<Instruction> ordered;
  std::vector<u32> starts(blocks.size(), kNone);
  std::vector<std::pair<u32, u32>> branches;  // instructions, and the blocks that they go to
  for (std::size_t k = 0; k < order.size(); ++k) {
    const BasicBlock& block = blocks[order[k]];
    starts[order[k]] = static_cast<u32>(ordered.size());
    for (u32 at = block.begin; at < block.end; ++at) ordered.push_back(std::move(code[at]));
    if (block.branch != kNone)
      branches.emplace_back(static_cast<u32>(ordered.size()) - 1, block.branch);
    if (block.on == kNone || (k + 1 < order.size() && order[k + 1] == block.on)) continue;
    branches.emplace_back(static_cast<u32>(ordered.size()), block.on);
    ordered.push_back(branch_instruction(ordered.back().line));
  }
  for (const auto& [at, block] : branches) ordered[at].target = starts[block];
  code = std::move(ordered);
}

}  // namespace ptx
