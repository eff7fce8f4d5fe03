// What a warp has asked for and not yet waited for.
#pragma once

#include "machine.h"

namespace ptx {

// Of these lanes, all of cp.async.
void finish_copies(Warp& warp, u32 lanes);
// What precedes an arrival that cp.async was told to make.
void finish_announced_copies(Warp& warp);
// Of cp.async.bulk. Whether there was any.
bool finish_bulk(Block& block);

}  // namespace ptx
