#include "health/memory/faults.h"

#include "base/random.h"

#include <algorithm>

namespace gpuready {
namespace {

constexpr std::uint64_t kMostAliases = 16;
constexpr std::uint64_t kDrawsPerFault = 4;

// The start of part `index` of `count` equal parts of `size`.
std::uint64_t part_start(std::uint64_t size, std::uint64_t count, std::uint64_t index) {
  return size / count * index + std::min(index, size % count);
}

MemoryFaultEntry entry_of(const Fault& fault, std::uint64_t words, std::uint64_t count,
                          std::uint64_t index) {
  const auto number = [&](std::uint64_t which) {
    return SplitMix64::at(fault.seed, index * kDrawsPerFault + which);
  };
  const std::uint64_t start = part_start(words, count, index),
                      size = part_start(words, count, index + 1) - start;
  MemoryFaultEntry entry{};
  entry.word = start + number(0) % size;
  entry.bits = 1ull << number(1) % 64;
  entry.value = number(2) % 2 ? ~0ull : 0;
  switch (fault.kind) {
    case FaultClass::stuck:
      entry.kind = kFaultStuck;
      break;
    case FaultClass::dropped_write:
      entry.kind = kFaultKeep;
      break;
    case FaultClass::coupling: {
      entry.kind = kFaultCouple;
      // The logical neighbour on either side.
      const bool after = entry.word == 0 || (number(3) % 2 == 0 && entry.word + 1 < words);
      entry.aggressor = after ? entry.word + 1 : entry.word - 1;
      entry.trigger = 1ull << number(3) / 2 % 64;
      break;
    }
    default:
      entry.kind = kFaultFlip;
  }
  return entry;
}

}  // namespace

bool is_memory_fault(FaultClass kind) {
  const auto tests = tests_that_find(kind);
  return !is_device_fault(kind) && std::find(tests.begin(), tests.end(), "memory") != tests.end();
}

std::vector<MemoryFaultEntry> memory_fault_table(const Fault& fault, std::uint64_t words) {
  std::vector<MemoryFaultEntry> table;
  if (!is_memory_fault(fault.kind) || fault.kind == FaultClass::alias) return table;
  const std::uint64_t count = std::min(fault.count, words);
  for (std::uint64_t i = 0; i < count; ++i) table.push_back(entry_of(fault, words, count, i));
  return table;
}

std::vector<FaultyWord> faulty_words(const Fault& fault, std::uint64_t words) {
  std::vector<FaultyWord> faulty;
  for (const MemoryFaultEntry& entry : memory_fault_table(fault, words))
    faulty.push_back({entry.word, entry.kind == kFaultKeep ? 0 : entry.bits});
  return faulty;
}

std::optional<std::size_t> faulty_write(const Fault& fault, std::size_t writes) {
  if (fault.kind == FaultClass::stuck || fault.kind == FaultClass::coupling) return std::nullopt;
  const std::size_t first = fault.kind == FaultClass::dropped_write ? 1 : 0;
  if (writes <= first) return 0;
  return first + static_cast<std::size_t>(SplitMix64::at(~fault.seed, 0) % (writes - first));
}

std::vector<std::uint64_t> alias_offsets(const Fault& fault, std::uint64_t bytes,
                                         std::uint64_t granule_bytes) {
  std::vector<std::uint64_t> offsets;
  const std::uint64_t granules = bytes / granule_bytes;
  const std::uint64_t count = std::clamp<std::uint64_t>(fault.count, 1, kMostAliases);
  if (granules < count) return {0};
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t start = part_start(granules, count, i),
                        size = part_start(granules, count, i + 1) - start;
    offsets.push_back((start + SplitMix64::at(fault.seed, i) % size) * granule_bytes);
  }
  return offsets;
}

}  // namespace gpuready
