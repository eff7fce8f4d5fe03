// verify_pattern() of memory_device.cuh. With kInvert the complement is written in place.
const uint kBadWordCapacity = 4096, kCountSlots = 64;
const uint kSlotsOffset = 128, kSlotBytes = 128;
const uint kEntriesOffset = kSlotsOffset + kCountSlots * kSlotBytes, kEntryBytes = 24;

layout(buffer_reference, std430, buffer_reference_align = 8) coherent volatile buffer Results {
  uvec2 bad_words, first_bad_index, recorded;
  uint lock;  // in the part that is reserved, and zero whenever a launch ends
};
layout(buffer_reference, std430, buffer_reference_align = 8) coherent volatile buffer CountSlot {
  uvec2 words_verified, name_sum;
};
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Entry {
  uvec2 index, expected, actual;
};

// What one thread has found.
u64 tally_words = 0, tally_name_sum = 0, tally_bad_words = 0, tally_first_bad = ~u64(0);
bool buffer_full = false;

void check_word(uint pattern, u64 index, uvec2 actual) {
  const uvec2 expected = word_at(pattern, index);
  if (actual == expected) return;
  ++tally_bad_words;
  tally_first_bad = min(tally_first_bad, index);
  if (buffer_full) return;
  const uint slot = atomicAdd(Results(p.results_address).recorded.x, 1);
  if (slot >= kBadWordCapacity) {
    buffer_full = true;  // a thread that met a full buffer leaves the counter alone
    return;
  }
  Entry entry = Entry(p.results_address + u64(kEntriesOffset + slot * kEntryBytes));
  entry.index = halves(index);
  entry.expected = expected;
  entry.actual = actual;
}

// Adds to 64 bits by two 32-bit atomics: each time the low half wraps, exactly one addition sees it,
// and carries.
#define ADD_64(target, value)                                         \
  {                                                                   \
    const uvec2 addend = halves(value);                               \
    const uint before = atomicAdd(target.x, addend.x);                \
    const uint carry = before + addend.x < before ? 1u : 0u;          \
    if (addend.y + carry != 0) atomicAdd(target.y, addend.y + carry); \
  }

// There is no 32-bit way to lower 64 bits: one block at a time may. Only where words are bad.
void lower_first_bad(u64 index) {
  Results results = Results(p.results_address);
  for (bool done = false; !done;) {
    if (atomicCompSwap(results.lock, 0, 1) == 0) {
      memoryBarrierBuffer();
      if (index < whole(results.first_bad_index)) results.first_bad_index = halves(index);
      memoryBarrierBuffer();
      atomicExchange(results.lock, 0);
      done = true;
    }
  }
}

// Counts of a block: words read in the low half, bad words in the high one.
shared u64 block_counts[kThreads], block_sum[kThreads];

void add_tally() {
  const uint thread = gl_LocalInvocationID.x;
  block_counts[thread] = tally_words + (tally_bad_words << 32);
  block_sum[thread] = tally_name_sum;
  for (uint step = kThreads / 2; step > 0; step /= 2) {
    barrier();
    if (thread < step) {
      block_counts[thread] += block_counts[thread + step];
      block_sum[thread] += block_sum[thread + step];
    }
  }
  barrier();
  const uvec2 counts = halves(block_counts[0]);  // the same for all threads
  const u64 name_sum = block_sum[0];
  if (thread == 0) {
    CountSlot slot = CountSlot(p.results_address +
                               u64(kSlotsOffset + gl_WorkGroupID.x % kCountSlots * kSlotBytes));
    ADD_64(slot.words_verified, u64(counts.x))
    ADD_64(slot.name_sum, name_sum)
  }
  if (counts.y == 0) return;
  barrier();
  block_sum[thread] = tally_first_bad;
  for (uint step = kThreads / 2; step > 0; step /= 2) {
    barrier();
    if (thread < step) block_sum[thread] = min(block_sum[thread], block_sum[thread + step]);
  }
  if (thread == 0) {
    Results results = Results(p.results_address);
    ADD_64(results.bad_words, u64(counts.y))
    lower_first_bad(block_sum[0]);
  }
}

void verify_pattern(const uint pattern) {
  for (u64 tile = tiling_first; tile < tiling_end; ++tile) {
    const u64 pair = first_pair(tile);
    uvec4 read[kUnroll];
    [[unroll]] for (uint k = 0; k < kUnroll; ++k)
      read[k] = Pair(p.base_address + (pair + u64(k * kThreads)) * 16).value;
    u64 differing = 0;
    [[unroll]] for (uint k = 0; k < kUnroll; ++k) {
      const NamedWord own = named_at(pattern, p.first_index + (pair + u64(k * kThreads)) * 2);
      const u64 even = decode(pattern, own.invert, read[k].xy),
                odd = decode(pattern, own.invert, read[k].zw);
      differing |= (even ^ own.name) | (odd ^ name_after(pattern, own.name));
      tally_name_sum += even + odd;
    }
    tally_words += u64(kUnroll * 2);
    if (differing != 0) {
      [[unroll]] for (uint k = 0; k < kUnroll; ++k) {
        const u64 index = p.first_index + (pair + u64(k * kThreads)) * 2;
        check_word(pattern, index, read[k].xy);
        check_word(pattern, index + 1, read[k].zw);
        // A good word's complement is what is to be written; only where one is bad is it made anew.
        if (kInvert) read[k] = pair_of(pattern, named_at(pattern, index));
      }
    }
    if (kInvert) {
      [[unroll]] for (uint k = 0; k < kUnroll; ++k)
        Pair(p.base_address + (pair + u64(k * kThreads)) * 16).value = ~read[k];
    }
  }
  if (!is_last_block()) return;
  for (u64 pair = first_rest_pair(); pair < tiling_pairs; pair += u64(kThreads)) {
    const u64 index = p.first_index + pair * 2;
    const NamedWord own = named_at(pattern, index);
    const uvec4 read = Pair(p.base_address + pair * 16).value;
    tally_name_sum +=
        decode(pattern, own.invert, read.xy) + decode(pattern, own.invert, read.zw);
    tally_words += 2;
    check_word(pattern, index, read.xy);
    check_word(pattern, index + 1, read.zw);
    if (kInvert) Pair(p.base_address + pair * 16).value = ~pair_of(pattern, own);
  }
}

void main() {
  make_tiling(p.words);
  if (kInvert) before_write();
  if (p.pattern == kPatternAddress)
    verify_pattern(kPatternAddress);
  else if (p.pattern == kPatternRandom)
    verify_pattern(kPatternRandom);
  else if (p.pattern == kPatternWalking)
    verify_pattern(kPatternWalking);
  else
    verify_pattern(kPatternModulo);
  // Faults first: after what one thread alone does, not every driver's threads come together again.
  if (kInvert) after_write(~uint(p.invert));
  add_tally();
}
