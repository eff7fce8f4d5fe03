/* A small GPU library with a C interface, as a program would ship it: see README.md. */
#ifndef TERNARY_DOT_H
#define TERNARY_DOT_H

#include <stdint.h>

/* out[r] = the sum over c of (code(r, c) - 1) * x[c], where code(r, c) is bits 2 (c % 4) and up of
 * weights[r * cols / 4 + c / 4]. `cols` is a multiple of 4. 0: done on the first GPU that the
 * driver offers; else the driver's error, or -1 where no driver is there. */
int ternary_dot(const uint8_t* weights, const int8_t* x, int32_t* out, uint32_t rows,
                uint32_t cols);
/* The same on the CPU. */
void ternary_dot_cpu(const uint8_t* weights, const int8_t* x, int32_t* out, uint32_t rows,
                     uint32_t cols);
/* "legacy", "modern", "latest" or "cpu": the variant that was built. */
const char* ternary_dot_variant(void);

#endif
