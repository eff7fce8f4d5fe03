// y = softmax(q k^T / 8) v for heads of 64: a team of 32 threads takes a row and 32 keys at a time.
// A thread has the score of one key, and then two of the 64 sums. The greatest score so far is
// kept, and the sums are scaled to it.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "bench_vulkan.glsl"

// BenchAttentionParams
layout(push_constant, std430) uniform Params {
  u64 q_address, k_address, v_address, y_address;
  u64 rows, keys;
  uint dtype;
} p;

const uint kTeam = 32, kTeams = kThreads / kTeam, kHead = 64;
const float kLeast = -3.4e38;
shared float queries[kTeams][kHead], weights[kTeams][kTeam];

float dot_head(uint team, u64 row) {
  float sum = 0;
  for (uint i = 0; i < kHead; ++i)
    sum = fma(queries[team][i], load(p.k_address, row * kHead + i), sum);
  return sum;
}

void main() {
  const uint lane = gl_LocalInvocationID.x % kTeam, team = gl_LocalInvocationID.x / kTeam;
  for (u64 first_row = u64(gl_WorkGroupID.x) * kTeams; first_row < p.rows;
       first_row += u64(gl_NumWorkGroups.x) * kTeams) {
    const u64 asked = first_row + team;
    const u64 row = min(asked, p.rows - 1);  // all teams wait at the same barriers
    const u64 first = row / p.keys * p.keys;
    for (uint i = lane; i < kHead; i += kTeam)
      queries[team][i] = load(p.q_address, row * kHead + i) * (1.44269504 / 8);
    barrier();
    float most = kLeast, total = 0, sum[2] = float[2](0, 0);
    for (u64 key = 0; key < p.keys; key += kTeam) {
      const float score = key + lane < p.keys ? dot_head(team, first + key + lane) : kLeast;
      weights[team][lane] = score;
      barrier();
      float greatest = most;
      for (uint i = 0; i < kTeam; ++i) greatest = max(greatest, weights[team][i]);
      barrier();
      weights[team][lane] = exp2(score - greatest);
      barrier();
      const float scale = exp2(most - greatest);
      most = greatest;
      total *= scale;
      for (uint j = 0; j < 2; ++j) sum[j] *= scale;
      for (uint i = 0; i < kTeam && key + i < p.keys; ++i) {
        total += weights[team][i];
        for (uint j = 0; j < 2; ++j)
          sum[j] = fma(weights[team][i],
                       load(p.v_address, (first + key + i) * kHead + 2 * lane + j), sum[j]);
      }
      barrier();
    }
    if (asked < p.rows)
      for (uint j = 0; j < 2; ++j)
        store(p.y_address, row * kHead + 2 * lane + j, sum[j] / total);
  }
}
