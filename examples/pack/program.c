/* A program that uses the library wherever the package's variant was installed. */
#include <stdio.h>

#include "ternary_dot.h"

int main(void) {
  enum { kRows = 3, kCols = 8 };
  /* rows of weights: all 1; all -1; 1, 0, -1, 0, ... */
  const uint8_t weights[kRows * kCols / 4] = {0xAA, 0xAA, 0x00, 0x00, 0x46, 0x46};
  const int8_t x[kCols] = {1, 2, 3, 4, 5, 6, 7, 8};
  int32_t out[kRows] = {0};
  const int failed = ternary_dot(weights, x, out, kRows, kCols);
  if (failed) ternary_dot_cpu(weights, x, out, kRows, kCols);
  printf("variant %s on the %s: %d %d %d\n", ternary_dot_variant(), failed ? "CPU" : "GPU", out[0],
         out[1], out[2]);
  return out[0] == 36 && out[1] == -36 && out[2] == -4 ? 0 : 1;
}
