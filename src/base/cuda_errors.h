// The CUDA driver's error numbers: names, what they mean to a person, and what they say about the
// GPU. Numbers and names are those of NVIDIA's driver API (CUDA 13.0); depends on nothing else, so
// whoever meets such a number can look it up.
#pragma once

#include <string>
#include <string_view>

namespace gpuready {

enum class CudaErrorClass {
  usage,  // the program's own mistake, or a call the driver does not offer
  out_of_memory,
  busy,          // the GPU is there but may not be used now
  unavailable,   // the driver or GPU could not be started
  refused,       // the driver refused the code: image, PTX version, compiler
  cannot_load,   // it loads no code because it is configured not to
  memory_fault,  // the GPU reported that its memory or a link corrupted data
  device_fault,  // a kernel ended in an error
  timed_out,
  unclear,
};

struct CudaErrorInfo {
  int code;
  std::string_view name;     // "CUDA_ERROR_OUT_OF_MEMORY"
  std::string_view meaning;  // one clause, plain words
  CudaErrorClass kind;
  bool sticky;  // the context is unusable from then on
};

const CudaErrorInfo* find_cuda_error(int code);  // nullptr: not in the table
// "CUDA_ERROR_NO_DEVICE"; "CUDA_ERROR_<number>" for one that is not in the table.
std::string cuda_error_name(int code);
// "CUDA_ERROR_OUT_OF_MEMORY (2): not enough free GPU memory"; numbers not in the table are given as
// "CUDA error 1234".
std::string describe_cuda_error(int code);

}  // namespace gpuready
