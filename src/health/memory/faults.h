// Where the faults on purpose of a memory test are, drawn from the fault's seed: what is injected,
// and so what must be reported.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "health/fault.h"
#include "kernel_abi/memory_params.h"

namespace gpuready {

// Whether the memory test can make this fault, and must find it.
bool is_memory_fault(FaultClass kind);

struct FaultyWord {
  std::uint64_t word = 0;  // offset within the tested range, in words
  std::uint64_t bits = 0;  // that are wrong; 0: those in which the word before differs
};
// The words that must be reported, by offset: min(fault.count, words) different ones, one drawn
// from each of that many equal parts of the range. None for an alias, whose words are whole pages.
std::vector<FaultyWord> faulty_words(const Fault& fault, std::uint64_t words);

// The same as the kernels want it.
std::vector<MemoryFaultEntry> memory_fault_table(const Fault& fault, std::uint64_t words);

// Which of a round's `writes` goes wrong, counted from 0; nothing: each of them, of every round.
// The first is never one that is dropped: no one knows what the memory held before.
std::optional<std::size_t> faulty_write(const Fault& fault, std::size_t writes);

// Aliased blocks of `block_bytes` logical bytes in a range of `bytes`: their offsets, ascending,
// multiples of `granule_bytes`, counted without the blocks themselves. At most 16.
std::vector<std::uint64_t> alias_offsets(const Fault& fault, std::uint64_t bytes,
                                         std::uint64_t granule_bytes);

}  // namespace gpuready
