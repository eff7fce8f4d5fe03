#include "ternary/layout_tq.h"

#include <cstring>

namespace gpuready::ternary {
namespace {

using std::int8_t, std::size_t, std::uint8_t;

// A run of `count` bytes of TQ1_0 holds `trits` x `count` weights: byte i has weight i as its most
// significant trit, count + i as the next, and so on. A run of fewer than five is as one of five
// that ends in zeros. Loops of fixed counts over bytes, which compilers turn into vectors.
template <size_t count, int trits>
void write_run(const int8_t* codes, uint8_t* bytes) {
  unsigned short value[count] = {};
  for (int t = 0; t < 5; ++t)
    for (size_t i = 0; i < count; ++i)
      value[i] = static_cast<unsigned short>(
          3 * value[i] + (t < trits ? codes[static_cast<size_t>(t) * count + i] + 1 : 0));
  // ceil(v 256 / 243): exact in 32 bits.
  for (size_t i = 0; i < count; ++i)
    bytes[i] = static_cast<uint8_t>((value[i] * 256u + 242u) / 243u);
}

template <size_t count, int trits>
void read_run(const uint8_t* bytes, int8_t* codes) {
  unsigned short fraction[count];
  for (size_t i = 0; i < count; ++i) fraction[i] = bytes[i];
  for (int t = 0; t < trits; ++t)
    for (size_t i = 0; i < count; ++i) {
      const unsigned product = 3u * fraction[i];
      codes[static_cast<size_t>(t) * count + i] = static_cast<int8_t>((product >> 8) - 1);
      fraction[i] = product & 0xFF;
    }
}

}  // namespace

void write_tq1(size_t blocks, const int8_t* codes, uint8_t* bytes) {
  for (; blocks > 0; --blocks, codes += kTqBlock, bytes += kTq1Bytes) {
    write_run<32, 5>(codes, bytes);
    write_run<16, 5>(codes + 160, bytes + 32);
    write_run<4, 4>(codes + 240, bytes + 48);
  }
}

void read_tq1(size_t blocks, const uint8_t* bytes, int8_t* codes) {
  for (; blocks > 0; --blocks, codes += kTqBlock, bytes += kTq1Bytes) {
    read_run<32, 5>(bytes, codes);
    read_run<16, 5>(bytes + 32, codes + 160);
    read_run<4, 4>(bytes + 48, codes + 240);
  }
}

void write_tq2(size_t blocks, const int8_t* codes, uint8_t* bytes) {
  for (; blocks > 0; --blocks, codes += kTqBlock, bytes += kTq2Bytes)
    for (size_t half = 0; half < 2; ++half) {
      const int8_t* from = codes + 128 * half;
      for (size_t i = 0; i < 32; ++i)
        bytes[32 * half + i] =
            static_cast<uint8_t>((from[i] + 1) | (from[32 + i] + 1) << 2 | (from[64 + i] + 1) << 4 |
                                 (from[96 + i] + 1) << 6);
    }
}

void read_tq2(size_t blocks, const uint8_t* bytes, int8_t* codes) {
  for (; blocks > 0; --blocks, codes += kTqBlock, bytes += kTq2Bytes)
    for (size_t half = 0; half < 2; ++half) {
      uint8_t group[32];  // what is written cannot be the same memory
      std::memcpy(group, bytes + 32 * half, sizeof group);
      for (size_t field = 0; field < 4; ++field)
        for (size_t i = 0; i < sizeof group; ++i)
          codes[128 * half + 32 * field + i] =
              static_cast<int8_t>((group[i] >> (2 * field) & 3) - 1);
    }
}

}  // namespace gpuready::ternary
