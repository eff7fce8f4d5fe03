// The mean of many values: each work group sums its share, and the last to end sums theirs.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "bench_vulkan.glsl"

// BenchMeanParams
layout(push_constant, std430) uniform Params {
  u64 address, count, partial_address, counter_address, mean_address;
  uint dtype;
} p;

layout(buffer_reference, std430, buffer_reference_align = 4) coherent volatile buffer Partial {
  float value;
};
layout(buffer_reference, std430, buffer_reference_align = 4) coherent buffer Counter { uint value; };

shared float sums[kThreads];
shared bool is_last;

float group_sum(float value) {
  const uint thread = gl_LocalInvocationID.x;
  sums[thread] = value;
  for (uint distance = kThreads / 2; distance > 0; distance /= 2) {
    barrier();
    if (thread < distance) sums[thread] += sums[thread + distance];
  }
  barrier();
  return sums[0];
}

void main() {
  const uint thread = gl_LocalInvocationID.x, groups = gl_NumWorkGroups.x;
  float sum = 0;
  for (u64 i = u64(gl_WorkGroupID.x) * kThreads + thread; i < p.count; i += u64(groups) * kThreads)
    sum += load(p.address, i);
  sum = group_sum(sum);
  if (thread == 0) {
    Partial(p.partial_address + u64(gl_WorkGroupID.x) * 4).value = sum;
    memoryBarrierBuffer();
    is_last = atomicAdd(Counter(p.counter_address).value, 1) == groups - 1;
  }
  barrier();
  if (!is_last) return;
  memoryBarrierBuffer();
  float total = 0;
  for (uint i = thread; i < groups; i += kThreads)
    total += Partial(p.partial_address + u64(i) * 4).value;
  total = group_sum(total);
  if (thread == 0) {
    store(p.mean_address, 0, total / float(p.count));
    Counter(p.counter_address).value = 0;
  }
}
