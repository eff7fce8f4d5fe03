// The order of a kernel's instructions.
#pragma once

#include "machine.h"

namespace ptx {

// Targets of branches are indices into `code`, before and after.
void order_blocks(std::vector<Instruction>& code);

inline Instruction branch_instruction(u32 line) {
  Instruction i;
  i.run = [](Warp&, const Instruction&) { return After::branch; };
  i.flow = Flow::branch;
  i.line = line;
  return i;
}

}  // namespace ptx
