// The patterns of the memory test: how the word at an offset is made, and what a word that was read
// names. The same code is compiled for the GPU and for the CPU; docs/memory-test.md explains it.
//
// Each pattern gives a word a *name*, a number that depends on its offset alone; the word stored is
// a one-to-one function of the name, inverted or not. What is read is decoded, and must give the
// name. Four functions a pattern:
//   at(p, index)     the name of the word there and its inversion (0 or all ones), for any index
//   next(name)       the name of the odd word of a pair, whose even word has `name`
//   word(p, named)   the word to store
//   decode(p, inversion, word)   the name
#pragma once

#include "kernel_abi/memory_mix.h"
#include "kernel_abi/memory_params.h"

namespace gpuready {

struct NamedWord {
  unsigned long long name, invert;
};

// key: none. Name: offset + salt. No two words of the range are equal.
struct AddressPattern {
  GPUREADY_HOST_DEVICE static constexpr NamedWord at(const MemoryPassParams& p,
                                                     unsigned long long index) {
    return {index + p.salt, p.invert};
  }
  GPUREADY_HOST_DEVICE static constexpr unsigned long long next(unsigned long long name) {
    return name + 1;
  }
  GPUREADY_HOST_DEVICE static constexpr unsigned long long word(const MemoryPassParams&,
                                                                NamedWord n) {
    return mix_word(n.name, n.invert);
  }
  GPUREADY_HOST_DEVICE static constexpr unsigned long long decode(const MemoryPassParams&,
                                                                  unsigned long long invert,
                                                                  unsigned long long word) {
    return unmix_word(word, invert);
  }
};

// key: any 64 bits. Name: offset + salt, mixed twice with the key in between, so that each key
// gives other neighbours to every bit. No two words of the range are equal.
struct RandomPattern : AddressPattern {
  GPUREADY_HOST_DEVICE static constexpr unsigned long long word(const MemoryPassParams& p,
                                                                NamedWord n) {
    return mix_word(mix_word(n.name, p.key), n.invert);
  }
  GPUREADY_HOST_DEVICE static constexpr unsigned long long decode(const MemoryPassParams& p,
                                                                  unsigned long long invert,
                                                                  unsigned long long word) {
    return unmix_word(unmix_word(word, invert), p.key);
  }
};

// key: 0 to 63. One bit is set, the one after its neighbour's; the name is the word itself.
struct WalkingPattern {
  GPUREADY_HOST_DEVICE static constexpr NamedWord at(const MemoryPassParams& p,
                                                     unsigned long long index) {
    return {1ull << ((index + p.key) & 63), p.invert};
  }
  GPUREADY_HOST_DEVICE static constexpr unsigned long long next(unsigned long long name) {
    return name << 1 | name >> 63;
  }
  GPUREADY_HOST_DEVICE static constexpr unsigned long long word(const MemoryPassParams&,
                                                                NamedWord n) {
    return n.name ^ n.invert;
  }
  GPUREADY_HOST_DEVICE static constexpr unsigned long long decode(const MemoryPassParams&,
                                                                  unsigned long long invert,
                                                                  unsigned long long word) {
    return word ^ invert;
  }
};

// key: 0 to 19. Of every 20 groups one, the key-th, holds its run's word, and the 19 others its
// complement; each run of 20 has another word. A group is the 32 bytes that a GPU's memory
// controller writes without reading them first.
inline constexpr unsigned kModuloGroupWords = 4, kModuloGroups = 20;
struct ModuloPattern : AddressPattern {
  GPUREADY_HOST_DEVICE static constexpr NamedWord at(const MemoryPassParams& p,
                                                     unsigned long long index) {
    const unsigned long long group = index / kModuloGroupWords, run = group / kModuloGroups;
    const bool nth = group - run * kModuloGroups == p.key;
    return {run + p.salt, nth ? p.invert : ~p.invert};
  }
  GPUREADY_HOST_DEVICE static constexpr unsigned long long next(unsigned long long name) {
    return name;  // groups hold whole pairs
  }
};

// Whether a write with p.select writes this word.
GPUREADY_HOST_DEVICE constexpr bool is_selected(const MemoryPassParams& p, NamedWord n) {
  return p.select == kWriteAll || n.invert != p.invert;
}

// `work` is called with the pattern that p names: one loop is compiled for each, and chosen once.
template <class Work>
GPUREADY_HOST_DEVICE constexpr void with_pattern(unsigned long long pattern, Work work) {
  if (pattern == kPatternAddress) {
    work(AddressPattern{});
  } else if (pattern == kPatternRandom) {
    work(RandomPattern{});
  } else if (pattern == kPatternWalking) {
    work(WalkingPattern{});
  } else {
    work(ModuloPattern{});
  }
}

// The word at `index`, whichever the pattern, for the rare places where speed is no matter.
GPUREADY_HOST_DEVICE constexpr unsigned long long word_at(const MemoryPassParams& p,
                                                          unsigned long long index) {
  unsigned long long word = 0;
  with_pattern(p.pattern, [&](auto pattern) __attribute__((always_inline)) {
    word = pattern.word(p, pattern.at(p, index));
  });
  return word;
}

// What an injected fault makes of its word, which now holds `stored`; p tells what was written.
GPUREADY_HOST_DEVICE constexpr unsigned long long faulty_word(const MemoryPassParams& p,
                                                              const MemoryFaultEntry& fault,
                                                              unsigned long long stored) {
  if (fault.kind == kFaultStuck) return (stored & ~fault.bits) | (fault.value & fault.bits);
  if (p.pattern == kPatternModulo && !is_selected(p, ModuloPattern::at(p, fault.word)))
    return stored;
  if (fault.kind == kFaultFlip) return stored ^ fault.bits;
  if (fault.kind == kFaultKeep) return fault.saved;
  const bool triggered = ((word_at(p, fault.aggressor) ^ fault.value) & fault.trigger) == 0;
  return triggered ? stored ^ fault.bits : stored;
}

}  // namespace gpuready
