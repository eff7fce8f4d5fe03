// MemoryPassParams and MemoryPassResults of memory_params.h.
layout(push_constant, std430) uniform Params {
  u64 base_address, words, first_index, salt, invert, results_address, fault_index, fault_bits;
} p;
