// NVIDIA's cuBLASLt, declared by ourselves and loaded by dlopen, for matrix products. Names,
// argument orders, enumerators and layouts of structures are those of the cuBLASLt API reference
// (cublasLt.h of CUDA 11.4 to 13). It belongs into child processes.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "device/device.h"

namespace gpuready {

enum class LtType : int { fp32 = 0, fp16 = 2, bf16 = 14 };  // cudaDataType_t
enum class LtCompute : int { fp32 = 68, tf32 = 77 };        // cublasComputeType_t

struct LtLibrary;

// c[m,n] = a[m,k] b + bias, row-major; b is [k,n], or [n,k] where `b_transposed`.
struct LtProblem {
  std::uint64_t m = 0, n = 0, k = 0;
  bool b_transposed = false;
  DeviceAddress bias = 0;  // of n values, or none
  LtType type = LtType::fp32;
  LtCompute compute = LtCompute::fp32;
};
struct LtAddresses {
  DeviceAddress a = 0, b = 0, c = 0;
};

// A way to compute a problem, as the library's heuristics propose it.
struct LtAlgorithm {
  std::array<std::uint64_t, 8> data = {};  // cublasLtMatmulAlgo_t
  std::uint64_t workspace_bytes = 0;
};

class LtProduct {
 public:
  // The heuristics' proposals, best first.
  const std::vector<LtAlgorithm>& algorithms() const { return algorithms_; }
  Result<void> launch(const LtAddresses& addresses, const LtAlgorithm& algorithm,
                      DeviceAddress workspace, StreamId stream) const;
  LtProduct(LtProduct&&) noexcept;
  LtProduct& operator=(LtProduct&&) = delete;
  ~LtProduct();

 private:
  friend class CublasLt;
  explicit LtProduct(const LtLibrary& library, void* handle)
      : library_(&library), handle_(handle) {}
  const LtLibrary* library_;
  void* handle_;
  void* operation_ = nullptr;  // cublasLtMatmulDesc_t
  void *layout_a_ = nullptr, *layout_b_ = nullptr, *layout_c_ = nullptr;
  std::vector<LtAlgorithm> algorithms_;
};

class CublasLt {
 public:
  // Opens the library once; the path in GPUREADY_LIBCUBLASLT, if set, is the only one tried, else
  // those of `more` after the loader's own. A CUDA context must be current. not_found when it is
  // not there.
  static Result<std::unique_ptr<CublasLt>> open(const std::vector<std::string>& more);
  ~CublasLt();
  std::string version() const;  // "13.1.0"
  // At most `most` algorithms that need no more workspace than that.
  Result<LtProduct> prepare(const LtProblem& problem, std::uint64_t workspace_bytes,
                            int most) const;

 private:
  CublasLt(const LtLibrary& library, void* handle) : library_(library), handle_(handle) {}
  const LtLibrary& library_;
  void* handle_;
};

}  // namespace gpuready
