// Other libraries' kernels for bench_ternary_cpu.
//
// A peer is a shared library of whoever measures, built outside this project, with these C
// functions:
//   int ternary_peer_count(void)            kernels in it
//   const char* ternary_peer_name(int)
//   int ternary_peer_for(int)               1: vectors, 2: matrices, 3: both
//   void* ternary_peer_weights(int, const int8_t* codes, long n, long k)     from -1, 0, +1
//   void* ternary_peer_rows(int, const int8_t* y, long m, long k)
//   void ternary_peer_multiply(int, const void* weights, const void* rows, long m, long n, long k,
//                              long first_n, long last_n, float* out)  out[m][n]: sums of w * y
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
