// Rows of activations times ternary weights: a work group a row tile and activation row, by plain
// integer arithmetic.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "ternary_vulkan.glsl"

// TernaryGemvParams
layout(push_constant, std430) uniform Params {
  u64 tiles_address, scales_address, codes_address, rows_address, out_address;
  uint weight_rows, row_tiles, col_tiles, activation_rows, stride;
  uint groups, slices_log2, slice_tiles, chunk_tiles, output_type;
  uint pieces, piece_tiles, rows_per_turn, pieces_per_turn, prefetch_bytes, reserved;
} p;

shared int sums[kThreads * 2];

int signed_byte(uint word, uint b) { return int(word << (24 - 8 * b)) >> 24; }

// Field f of each byte of `word` times the signed bytes of `y`.
int products(uint word, uint f, uint y) {
  int sum = 0;
  for (uint b = 0; b < 4; ++b) sum += int(word >> (8 * b + 2 * f) & 3u) * signed_byte(y, b);
  return sum;
}

void store(u64 index, int sum, uint step, uint scale) {
  if (p.output_type == 0) {
    Word(p.out_address + index * 4).value = uint(sum);
    return;
  }
  const uint value = multiply_f32(int_to_f32(sum), multiply_f32(step, scale));
  if (p.output_type == 1) {
    Word(p.out_address + index * 4).value = value;
    return;
  }
  // Half of a word; the other half may be another work group's.
  const uint half_bits =
      value == kNan ? 0x7FFFu : value + 0x7FFFu + (value >> 16 & 1u) >> 16;
  const u64 word = p.out_address + index / 2 * 4;
  const uint shift = uint(index & 1) * 16;
  atomicAnd(Word(word).value, ~(0xFFFFu << shift));
  atomicOr(Word(word).value, half_bits << shift);
}

void main() {
  const uint lane = gl_LocalInvocationID.x % 32, part = gl_LocalInvocationID.x / 32;
  const uint parts = kThreads / 32;
  const u64 units = u64(p.row_tiles) * u64(p.activation_rows);
  for (u64 unit = u64(gl_WorkGroupID.x); unit < units; unit += u64(gl_NumWorkGroups.x)) {
    const uint m = uint(unit / u64(p.row_tiles)), row_tile = uint(unit % u64(p.row_tiles));
    const u64 tiles = p.tiles_address +
                      u64(row_tile) * u64(p.col_tiles) * u64(kTileBytes) + u64(lane * 16);
    const u64 codes = p.codes_address + u64(m) * u64(p.stride) + u64(lane % 4 * 4);
    int low = 0, high = 0;  // of rows lane / 4 and lane / 4 + 8
    for (uint tile = part; tile < p.col_tiles; tile += parts) {
      const uvec4 w = Words(tiles + u64(tile) * u64(kTileBytes)).value;
      for (uint j = 0; j < 4; ++j) {
        const u64 at = codes + u64(tile) * u64(kTileCols) + u64(32 * j);
        const uint y0 = Word(at).value, y1 = Word(at + 16).value;
        low += products(w[j], 0, y0) + products(w[j], 2, y1);
        high += products(w[j], 1, y0) + products(w[j], 3, y1);
      }
    }
    sums[gl_LocalInvocationID.x * 2] = low;
    sums[gl_LocalInvocationID.x * 2 + 1] = high;
    barrier();
    const uint row = row_tile * kTileRows + gl_LocalInvocationID.x;
    if (gl_LocalInvocationID.x < kTileRows && row < p.weight_rows) {
      const uint g = gl_LocalInvocationID.x % 8, of_high = gl_LocalInvocationID.x / 8;
      int sum = -int(Word(p.rows_address + u64(m) * 16 + 4).value);
      for (uint q = 0; q < parts; ++q)
        for (uint t = 0; t < 4; ++t) sum += sums[(q * 32 + 4 * g + t) * 2 + of_high];
      store(u64(m) * u64(p.weight_rows) + u64(row), sum,
            Word(p.rows_address + u64(m) * 16).value,
            Word(p.scales_address + u64(row) * 4).value);
    }
    barrier();
  }
}
