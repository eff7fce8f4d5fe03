// Other libraries' kernels for bench_ternary_cpu.
//
// A peer is a shared library that benchmarks/peers/build.sh makes of another project's sources and
// of an adapter of ours, with these C functions:
//   int ternary_peer_count(void)            kernels in it
//   const char* ternary_peer_name(int)
//   int ternary_peer_for(int)               1: vectors, 2: matrices, 3: both
//   void* ternary_peer_weights(int, const int8_t* codes, long n, long k)     from -1, 0, +1; null
//                                                    where the kernel does not serve the shape
//   long ternary_peer_row_bytes(int, long n, long k)           of a row of quantised activations
//   void ternary_peer_quantise(int, const float* x, long m, long n, long k, void* rows)
//   void ternary_peer_multiply(int, const void* weights, const void* rows, long m, long n, long k,
//                              long first_n, long last_n, float* out)  out[m][n]: sums of w * x
// and, where a kernel takes bytes of a format of ours,
//   void ternary_peer_encoder(void* (*encode)(const char* format, const int8_t* codes, long n,
//                                             long k))
#pragma once

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

struct Peer {
  void* library;
  int index;
  std::string name;
  int use;
  template <class F>
  F* function(const char* symbol) const {
    return reinterpret_cast<F*>(dlsym(library, symbol));
  }
};

inline std::vector<Peer> open_peer(const char* path) {
  std::vector<Peer> peers;
  void* library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::exit(2);
  }
  Peer peer{library, 0, {}, 0};
  const int count = peer.function<int()>("ternary_peer_count")();
  for (; peer.index < count; ++peer.index) {
    peer.name = peer.function<const char*(int)>("ternary_peer_name")(peer.index);
    peer.use = peer.function<int(int)>("ternary_peer_for")(peer.index);
    peers.push_back(peer);
  }
  return peers;
}
