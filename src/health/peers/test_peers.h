// The peers test: two GPUs reach each other's memory by loads, stores, atomics and copies, every
// word checked; how fast; and a sum over both through NCCL. docs/bandwidth-test.md has the rules.
#pragma once

#include "health/test.h"

namespace gpuready {

Verdict test_peers(Device& first, Device& second, const TestOptions& options = {},
                   const TestHooks& hooks = {});

// The transfers in which the fault "peer-copy" may sit (place_transfer_fault): loads, stores, two
// copies by engine and two by kernel, each from the first device to the second and then back.
inline constexpr std::size_t kPeerTransfers = 12;

}  // namespace gpuready
