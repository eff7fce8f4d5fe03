// What the kernels of a pass share: MemoryPassParams of memory_params.h, the patterns of
// memory_patterns.h, the tiling of memory_device.cuh and the faults of memory_fault_device.cuh.
//
// A pattern is an argument that is constant where these functions are called: compilers of Vulkan
// drivers inline all functions, and one loop for each pattern is left.
layout(push_constant, std430) uniform Params {
  u64 base_address, words, first_index, salt, invert, results_address;
  u64 pattern, key, select, descending, faults_address, fault_count;
} p;

const uint kPatternAddress = 0, kPatternRandom = 1, kPatternWalking = 2, kPatternModulo = 3;
const uint kWriteAll = 0;

struct NamedWord {
  u64 name;
  uint invert;  // 0 or all ones, of both halves
};

// By the reciprocal, which is exact for every 64-bit number: drivers divide 64 bits by a loop.
u64 divide_by_20(u64 value) {
  return multiply_high(value >> 2, 0xCCCCCCCCCCCCCCCDul) >> 2;
}

NamedWord named_at(uint pattern, u64 index) {
  const uint invert = uint(p.invert);
  if (pattern == kPatternWalking)
    return NamedWord(u64(1) << (uint(index + p.key) & 63), invert);
  if (pattern != kPatternModulo) return NamedWord(index + p.salt, invert);
  const u64 group = index / 4, run = divide_by_20(group);
  return NamedWord(run + p.salt, group - run * 20 == p.key ? invert : ~invert);
}
u64 name_after(uint pattern, u64 name) {
  if (pattern == kPatternWalking) return name << 1 | name >> 63;
  return pattern == kPatternModulo ? name : name + 1;
}
uvec2 word_of(uint pattern, u64 name, uint invert) {
  if (pattern == kPatternWalking) return halves(name) ^ invert;
  if (pattern == kPatternRandom)
    return mix_word(whole(mix_word(name, 0) ^ halves(p.key)), invert);
  return mix_word(name, invert);
}
u64 decode(uint pattern, uint invert, uvec2 word) {
  if (pattern == kPatternWalking) return whole(word ^ invert);
  if (pattern == kPatternRandom)
    return unmix_word(halves(unmix_word(word, invert)) ^ halves(p.key), 0);
  return unmix_word(word, invert);
}
uvec4 pair_of(uint pattern, NamedWord even) {
  return uvec4(word_of(pattern, even.name, even.invert),
               word_of(pattern, name_after(pattern, even.name), even.invert));
}
bool is_selected(NamedWord n) {
  return p.select == kWriteAll || n.invert != uint(p.invert);
}
uvec2 word_at(uint pattern, u64 index) {
  const NamedWord n = named_at(pattern, index);
  return word_of(pattern, n.name, n.invert);
}

// The share of a block: tiles that follow each other, and for the last block the rest that is no
// whole tile. In pairs of words, counted from the start of this launch's part.
u64 tiling_pairs, tiling_tiles, tiling_tiles_per_block, tiling_first, tiling_end;

void make_tiling(u64 words) {
  const u64 blocks = u64(gl_NumWorkGroups.x);
  tiling_pairs = words / 2;
  tiling_tiles = tiling_pairs / kTilePairs;
  tiling_tiles_per_block = (tiling_tiles + blocks - 1) / blocks;
  tiling_first = u64(gl_WorkGroupID.x) * tiling_tiles_per_block;
  tiling_end = min(tiling_first + tiling_tiles_per_block, tiling_tiles);
}
bool is_last_block() { return gl_WorkGroupID.x == gl_NumWorkGroups.x - 1; }
u64 first_pair(u64 tile) {
  const u64 placed = p.descending != 0 ? tiling_tiles - 1 - tile : tile;
  return placed * kTilePairs + u64(gl_LocalInvocationID.x);
}
u64 first_rest_pair() { return tiling_tiles * kTilePairs + u64(gl_LocalInvocationID.x); }
bool owns(u64 pair) {
  const u64 tile = pair / kTilePairs;
  if (tile >= tiling_tiles) return is_last_block();
  const u64 placed = p.descending != 0 ? tiling_tiles - 1 - tile : tile;
  return placed / tiling_tiles_per_block == u64(gl_WorkGroupID.x);
}

// Fault injection: each block looks after the words that it writes itself, before and after it
// writes them.
const uint kFaultFlip = 0, kFaultStuck = 1, kFaultKeep = 2;

layout(buffer_reference, std430, buffer_reference_align = 8) coherent volatile buffer FaultEntry {
  u64 kind, word, bits, value, aggressor, trigger, saved, reserved;
};
layout(buffer_reference, std430, buffer_reference_align = 8) coherent volatile buffer FaultyWord {
  uvec2 value;
};
FaultEntry fault_at(u64 i) { return FaultEntry(p.faults_address + i * 64); }
bool is_own_fault(u64 i) {
  const u64 word = fault_at(i).word - p.first_index;
  return word < p.words && owns(word / 2);
}
FaultyWord faulty_word(u64 i) {
  return FaultyWord(p.base_address + (fault_at(i).word - p.first_index) * 8);
}
void block_barrier() {
  memoryBarrierBuffer();
  barrier();
}

void before_write() {
  if (p.fault_count == 0) return;
  for (u64 i = u64(gl_LocalInvocationID.x); i < p.fault_count; i += u64(kThreads))
    if (is_own_fault(i)) fault_at(i).saved = whole(faulty_word(i).value);
  block_barrier();
}

// `invert` is what was written with.
u64 fault_of(FaultEntry fault, u64 stored, uint invert) {
  const uint kind = uint(fault.kind), pattern = uint(p.pattern);
  if (kind == kFaultStuck) return (stored & ~fault.bits) | (fault.value & fault.bits);
  // Of the modulo pattern only: named_at() has p.invert on both sides of the comparison.
  if (pattern == kPatternModulo && !is_selected(named_at(kPatternModulo, fault.word)))
    return stored;
  if (kind == kFaultFlip) return stored ^ fault.bits;
  if (kind == kFaultKeep) return fault.saved;
  const u64 aggressor = whole(word_at(pattern, fault.aggressor) ^ (uint(p.invert) ^ invert));
  return ((aggressor ^ fault.value) & fault.trigger) == 0 ? stored ^ fault.bits : stored;
}

void after_write(uint invert) {
  if (p.fault_count == 0) return;
  block_barrier();
  for (u64 i = u64(gl_LocalInvocationID.x); i < p.fault_count; i += u64(kThreads)) {
    if (!is_own_fault(i)) continue;
    const u64 stored = whole(faulty_word(i).value);
    faulty_word(i).value = halves(fault_of(fault_at(i), stored, invert));
  }
}
