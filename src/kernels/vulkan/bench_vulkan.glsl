// What the benchmarks' kernels in GLSL share: tensors of FP32 by their addresses.
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require

#define u64 uint64_t

const uint kThreads = 256;
layout(local_size_x = 256) in;

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Number { float value; };
float load(u64 address, u64 index) { return Number(address + index * 4).value; }
void store(u64 address, u64 index, float value) { Number(address + index * 4).value = value; }
