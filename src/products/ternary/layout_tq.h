// The layouts of ggml's TQ1_0 and TQ2_0: blocks of 256 weights, each with its f16 scale at the end.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpuready::ternary {

inline constexpr std::size_t kTqBlock = 256, kTq1Bytes = 54, kTq2Bytes = 66;

void write_tq1(std::size_t blocks, const std::int8_t* codes, std::uint8_t* bytes);
void write_tq2(std::size_t blocks, const std::int8_t* codes, std::uint8_t* bytes);
// Every byte value has five digits, also the 13 that no encoder writes.
void read_tq1(std::size_t blocks, const std::uint8_t* bytes, std::int8_t* codes);
// The two bits 3, which the format does not define, become the code 2.
void read_tq2(std::size_t blocks, const std::uint8_t* bytes, std::int8_t* codes);

}  // namespace gpuready::ternary
