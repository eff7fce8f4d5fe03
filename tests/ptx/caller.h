// A program that has a CUDA context and streams of its own, as a caller of the library: the
// driver's functions, used as that program would.
#pragma once

#include <bit>
#include <cstring>
#include <span>
#include <vector>

#include "device/cuda/cuda_driver.h"
#include "ternary_common.h"

namespace gpuready {

struct Caller {
  const CudaDriver& driver;
  CudaHandle context = nullptr, stream = nullptr;

  explicit Caller(int number = 0) : driver(*must(CudaDriver::start())) {
    must(driver.primary_context_retain(&context, number));
    make_current(context);
    must(driver.stream_create(&stream, 1u));
  }
  void make_current(CudaHandle which) const { must(driver.context_set_current(which)); }
  CudaHandle current() const {
    CudaHandle now = nullptr;
    must(driver.context_get_current(&now));
    return now;
  }
  void* allocate(std::size_t bytes) const {
    CudaPointer address = 0;
    must(driver.memory_allocate(&address, bytes));
    return std::bit_cast<void*>(address);
  }
  void write(void* to, const void* from, std::size_t bytes) const {
    must(driver.copy_to_device(std::bit_cast<CudaPointer>(to), from, bytes, stream));
  }
  template <class T>
  void* give(const std::vector<T>& values) const {
    void* at = allocate(values.size() * sizeof(T));
    write(at, values.data(), values.size() * sizeof(T));
    return at;
  }
  template <class T>
  std::vector<T> read(const void* from, std::size_t count) const {
    std::vector<T> values(count);
    must(driver.copy_to_host(values.data(), std::bit_cast<CudaPointer>(from), count * sizeof(T),
                             stream));
    must(driver.stream_synchronize(stream));
    return values;
  }
  void begin_capture() const { must(driver.capture_begin(stream, 1)); }
  CudaHandle end_capture() const {
    CudaHandle graph = nullptr, executable = nullptr;
    must(driver.capture_end(stream, &graph));
    must(driver.graph_instantiate(&executable, graph, 0ull));
    return executable;
  }
};

}  // namespace gpuready
