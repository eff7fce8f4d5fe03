// Rows of weights in {-1, 0, 1}, four a byte as codes 0, 1 and 2, times one vector of int8: what
// the library ships as device code. Compiled by clang without any CUDA header.
#define global __attribute__((global))

extern "C" global void ternary_dot(const unsigned char* weights, const signed char* x, int* out,
                                   unsigned rows, unsigned cols) {
  const unsigned row =
      __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x();
  if (row >= rows) return;
  const unsigned char* codes = weights + static_cast<unsigned long long>(row) * (cols / 4);
  int sum = 0;
  for (unsigned i = 0; i < cols; ++i) sum += ((codes[i / 4] >> i % 4 * 2 & 3) - 1) * x[i];
  out[row] = sum;
}
