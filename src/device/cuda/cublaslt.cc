#include "device/cuda/cublaslt.h"

#include <fmt/format.h>

#include <utility>

#include "device/driver_library.h"

namespace gpuready {
namespace {

std::string describe_status(int status) {
  switch (status) {  // cublasStatus_t
    case 1:
      return "not initialised (1)";
    case 3:
      return "allocation failed (3)";
    case 7:
      return "invalid value (7)";
    case 8:
      return "the architecture lacks what is needed (8)";
    case 13:
      return "execution failed (13)";
    case 14:
      return "internal error (14)";
    case 15:
      return "not supported (15)";
    default:
      return fmt::format("status {}", status);
  }
}

}  // namespace

extern const DriverApi kLtApi;
const DriverApi kLtApi{"cuBLASLt", "SMs", describe_status, [](int) { return false; }};

template <class... Args>
using LtFunction = DriverFunction<kLtApi, Args...>;

namespace {

// cublasLtMatmulHeuristicResult_t
struct Heuristic {
  std::array<std::uint64_t, 8> algorithm;
  std::size_t workspace_bytes;
  int state;
  float waves;
  int reserved[4];
};
static_assert(sizeof(Heuristic) == 96);

// cublasLtMatmulDescAttributes_t, cublasLtMatmulPreferenceAttributes_t, cublasLtEpilogue_t,
// cublasOperation_t
constexpr int kTransA = 3, kTransB = 4, kEpilogue = 7, kBiasPointer = 8;
constexpr int kMaxWorkspace = 1;
constexpr int kEpilogueBias = 4;
constexpr int kTransposed = 1;
constexpr int kFp32 = 0;  // of the factors alpha and beta

}  // namespace

struct LtLibrary {
  explicit LtLibrary(DriverLibrary opened) : library(std::move(opened)) {}
  DriverLibrary library;
  LtFunction<void**> create{library, "cublasLtCreate"};
  LtFunction<void*> destroy{library, "cublasLtDestroy"};
  LtFunction<void**, int, int> operation_create{library, "cublasLtMatmulDescCreate"};
  LtFunction<void*> operation_destroy{library, "cublasLtMatmulDescDestroy"};
  LtFunction<void*, int, const void*, std::size_t> operation_set{library,
                                                                 "cublasLtMatmulDescSetAttribute"};
  LtFunction<void**, int, std::uint64_t, std::uint64_t, std::int64_t> layout_create{
      library, "cublasLtMatrixLayoutCreate"};
  LtFunction<void*> layout_destroy{library, "cublasLtMatrixLayoutDestroy"};
  LtFunction<void**> preference_create{library, "cublasLtMatmulPreferenceCreate"};
  LtFunction<void*> preference_destroy{library, "cublasLtMatmulPreferenceDestroy"};
  LtFunction<void*, int, const void*, std::size_t> preference_set{
      library, "cublasLtMatmulPreferenceSetAttribute"};
  LtFunction<void*, void*, void*, void*, void*, void*, void*, int, Heuristic*, int*> heuristics{
      library, "cublasLtMatmulAlgoGetHeuristic"};
  LtFunction<void*, void*, const void*, const void*, void*, const void*, void*, const void*,
             const void*, void*, void*, void*, const void*, void*, std::size_t, void*>
      matmul{library, "cublasLtMatmul"};
};

Result<std::unique_ptr<CublasLt>> CublasLt::open(const std::vector<std::string>& more) {
  static const Result<LtLibrary> library = [&]() -> Result<LtLibrary> {
    std::vector<std::string> paths = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11",
                                      "libcublasLt.so"};
    paths.insert(paths.end(), more.begin(), more.end());
    return LtLibrary(TRY(open_driver_library("cuBLASLt", "GPUREADY_LIBCUBLASLT", paths)));
  }();
  if (!library) return std::unexpected(library.error());
  void* handle = nullptr;
  TRY(library->create(&handle));
  return std::unique_ptr<CublasLt>(new CublasLt(*library, handle));
}

CublasLt::~CublasLt() { (void)library_.destroy(handle_); }

std::string CublasLt::version() const {
  const auto get =
      reinterpret_cast<std::size_t (*)()>(find_symbol(library_.library, "cublasLtGetVersion"));
  if (get == nullptr) return {};
  const std::size_t number = get();  // 120103 is 12.1.3, and since 13 1300 * 100 likewise
  return fmt::format("{}.{}.{}", number / 10'000, number / 100 % 100, number % 100);
}

LtProduct::LtProduct(LtProduct&& other) noexcept
    : library_(other.library_),
      handle_(other.handle_),
      operation_(std::exchange(other.operation_, nullptr)),
      layout_a_(std::exchange(other.layout_a_, nullptr)),
      layout_b_(std::exchange(other.layout_b_, nullptr)),
      layout_c_(std::exchange(other.layout_c_, nullptr)),
      algorithms_(std::move(other.algorithms_)) {}

LtProduct::~LtProduct() {
  if (operation_) (void)library_->operation_destroy(operation_);
  for (void* layout : {layout_a_, layout_b_, layout_c_})
    if (layout) (void)library_->layout_destroy(layout);
}

// The library counts in columns: a row-major c[m,n] is its c[n,m] = b^T a^T, so b comes first.
Result<LtProduct> CublasLt::prepare(const LtProblem& p, std::uint64_t workspace_bytes,
                                    int most) const {
  LtProduct product(library_, handle_);
  const int type = static_cast<int>(p.type);
  TRY(library_.operation_create(&product.operation_, static_cast<int>(p.compute), kFp32));
  const auto set = [&](int attribute, const auto& value) {
    return library_.operation_set(product.operation_, attribute, &value, sizeof value);
  };
  if (p.b_transposed) TRY(set(kTransA, kTransposed));
  if (p.bias != 0) {
    TRY(set(kEpilogue, kEpilogueBias));
    TRY(set(kBiasPointer, p.bias));
  }
  const auto signed_of = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
  if (p.b_transposed)
    TRY(library_.layout_create(&product.layout_b_, type, p.k, p.n, signed_of(p.k)));
  else
    TRY(library_.layout_create(&product.layout_b_, type, p.n, p.k, signed_of(p.n)));
  TRY(library_.layout_create(&product.layout_a_, type, p.k, p.m, signed_of(p.k)));
  TRY(library_.layout_create(&product.layout_c_, type, p.n, p.m, signed_of(p.n)));

  void* preference = nullptr;
  TRY(library_.preference_create(&preference));
  const std::uint64_t limit = workspace_bytes;
  auto asked = library_.preference_set(preference, kMaxWorkspace, &limit, sizeof limit);
  std::vector<Heuristic> found(static_cast<std::size_t>(most));
  int count = 0;
  if (asked)
    asked = library_.heuristics(handle_, product.operation_, product.layout_b_, product.layout_a_,
                                product.layout_c_, product.layout_c_, preference, most,
                                found.data(), &count);
  (void)library_.preference_destroy(preference);
  if (!asked) return std::unexpected(asked.error());
  for (int i = 0; i < count; ++i)
    if (found[static_cast<std::size_t>(i)].state == 0)
      product.algorithms_.push_back({found[static_cast<std::size_t>(i)].algorithm,
                                     found[static_cast<std::size_t>(i)].workspace_bytes});
  if (product.algorithms_.empty())
    return fail(ErrorKind::unsupported, "cuBLASLt proposes no algorithm for this product");
  return product;
}

Result<void> LtProduct::launch(const LtAddresses& addresses, const LtAlgorithm& algorithm,
                               DeviceAddress workspace, StreamId stream) const {
  const float one = 1, zero = 0;
  const auto pointer = [](DeviceAddress address) { return reinterpret_cast<void*>(address); };
  return library_->matmul(handle_, operation_, &one, pointer(addresses.b), layout_b_,
                          pointer(addresses.a), layout_a_, &zero, pointer(addresses.c), layout_c_,
                          pointer(addresses.c), layout_c_, algorithm.data.data(),
                          pointer(workspace), algorithm.workspace_bytes, pointer(stream.value));
}

}  // namespace gpuready
