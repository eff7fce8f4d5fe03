// The eight triples of a block of three trits, one after the other, as constants: where a triple's
// bits are depends on which it is. In an unnamed namespace, for each tier compiles it again.
#pragma once

#include "ternary/cpu/kernels.h"

namespace gpuready::ternary::kernels {
namespace {

template <class Body>
inline void for_each_triple(const Body& body) {
  body.template operator()<0>();
  body.template operator()<1>();
  body.template operator()<2>();
  body.template operator()<3>();
  body.template operator()<4>();
  body.template operator()<5>();
  body.template operator()<6>();
  body.template operator()<7>();
}

}  // namespace
}  // namespace gpuready::ternary::kernels
