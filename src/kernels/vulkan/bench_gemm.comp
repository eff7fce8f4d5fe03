// c = act(a b + bias), a 64 x 64 tile a turn of a work group, 4 x 4 a thread.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "bench_vulkan.glsl"

// BenchGemmParams
layout(push_constant, std430) uniform Params {
  u64 a_address, b_address, bias_address, c_address;
  u64 m, n, k;
  uint dtype, b_transposed, gelu;
} p;

const uint kTile = 64, kDepth = 16;
shared float a_tile[kDepth][kTile + 1], b_tile[kDepth][kTile + 1];

// x Phi(x) by erf, as gelu() of cuda/bench.cu.
float gelu(float x) {
  const float a = abs(x), t = 1 / fma(0.231641882, a, 1.0);
  float sum = 0.5307027145;
  sum = fma(t, sum, -0.7265760135);
  sum = fma(t, sum, 0.7107068705);
  sum = fma(t, sum, -0.142248368);
  sum = fma(t, sum, 0.127414796);
  return fma(-a * t, sum * exp2(x * -0.721347520 * x), max(x, 0.0));
}

void fill_tiles(uint thread, u64 row0, u64 column0, u64 k0) {
  for (uint i = thread; i < kTile * kDepth; i += kThreads) {
    const u64 row = row0 + i / kDepth, k = k0 + i % kDepth;
    a_tile[i % kDepth][i / kDepth] =
        row < p.m && k < p.k ? load(p.a_address, row * p.k + k) : 0.0;
    if (p.b_transposed != 0) {
      const u64 column = column0 + i / kDepth;
      b_tile[i % kDepth][i / kDepth] =
          column < p.n && k < p.k ? load(p.b_address, column * p.k + k) : 0.0;
    } else {
      const u64 column = column0 + i % kTile, depth = k0 + i / kTile;
      b_tile[i / kTile][i % kTile] =
          column < p.n && depth < p.k ? load(p.b_address, depth * p.n + column) : 0.0;
    }
  }
}

void main() {
  const uint thread = gl_LocalInvocationID.x;
  const uint my_row = thread / 16 * 4, my_column = thread % 16 * 4;
  const u64 across = (p.n + kTile - 1) / kTile, tiles = (p.m + kTile - 1) / kTile * across;
  for (u64 tile = gl_WorkGroupID.x; tile < tiles; tile += gl_NumWorkGroups.x) {
    const u64 row0 = tile / across * kTile, column0 = tile % across * kTile;
    float sum[4][4];
    for (uint r = 0; r < 4; ++r)
      for (uint c = 0; c < 4; ++c) sum[r][c] = 0;
    for (u64 k0 = 0; k0 < p.k; k0 += kDepth) {
      fill_tiles(thread, row0, column0, k0);
      barrier();
      for (uint k = 0; k < kDepth; ++k)
        for (uint r = 0; r < 4; ++r)
          for (uint c = 0; c < 4; ++c)
            sum[r][c] = fma(a_tile[k][my_row + r], b_tile[k][my_column + c], sum[r][c]);
      barrier();
    }
    for (uint r = 0; r < 4; ++r)
      for (uint c = 0; c < 4; ++c) {
        const u64 row = row0 + my_row + r, column = column0 + my_column + c;
        if (row >= p.m || column >= p.n) continue;
        float value = sum[r][c];
        if (p.bias_address != 0) value += load(p.bias_address, column);
        if (p.gelu != 0) value = gelu(value);
        store(p.c_address, row * p.n + column, value);
      }
  }
}
