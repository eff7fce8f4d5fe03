// A loop over threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

namespace gpuready::bench {

// body(first, last, index) over [0, count), in at most `threads` pieces.
template <class Body>
void parallel_pieces(std::uint64_t count, unsigned threads, Body&& body) {
  const std::uint64_t pieces =
      std::clamp<std::uint64_t>(threads, 1, std::max<std::uint64_t>(count, 1));
  std::vector<std::jthread> others;
  for (std::uint64_t i = 1; i < pieces; ++i)
    others.emplace_back([&body, count, pieces, i] {
      body(count * i / pieces, count * (i + 1) / pieces, static_cast<unsigned>(i));
    });
  body(0, count / pieces, 0u);
}

}  // namespace gpuready::bench
