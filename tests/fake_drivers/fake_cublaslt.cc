// cuBLASLt for the fake CUDA driver, whose memory is the host's: products computed plainly, and
// strict about what it is given. FAKE_CUBLASLT=first_fails: its first algorithm proposed cannot
// run.
#include <dlfcn.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#define API extern "C" __attribute__((visibility("default"))) int

namespace {

constexpr int kInvalid = 7, kNotSupported = 15;
constexpr int kTransA = 3, kTransB = 4, kEpilogue = 7, kBiasPointer = 8;

struct Operation {
  int transposed_a = 0, transposed_b = 0, epilogue = 1;
  const void* bias = nullptr;
};
struct Layout {
  int type;
  std::uint64_t rows, columns;
  std::int64_t leading;
};
struct Preference {
  std::uint64_t workspace_bytes = 0;
};
struct Heuristic {
  std::uint64_t algorithm[8];
  std::size_t workspace_bytes;
  int state;
  float waves;
  int reserved[4];
};

float load(const void* base, std::uint64_t index, int type) {
  if (type == 0) return static_cast<const float*>(base)[index];
  const std::uint32_t half = static_cast<const std::uint16_t*>(base)[index];
  if (type == 14) return std::bit_cast<float>(half << 16);
  const int exponent = static_cast<int>(half >> 10 & 31);
  const auto fraction = static_cast<float>(half & 1023);
  const float size =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25);
  return (half & 0x8000) != 0 ? -size : size;
}
void store(void* base, std::uint64_t index, float value, int type) {
  if (type == 0) {
    static_cast<float*>(base)[index] = value;
    return;
  }
  std::uint16_t half = 0;
  if (type == 14) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    half = static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  } else {
    int exponent = 0;
    std::frexp(value, &exponent);
    if (value == 0 || exponent < -13) exponent = -13;
    const auto steps =
        static_cast<std::uint32_t>(std::nearbyint(std::ldexp(std::fabs(value), 11 - exponent)));
    half = static_cast<std::uint16_t>((std::signbit(value) ? 0x8000u : 0u) |
                                      (steps + (static_cast<std::uint32_t>(exponent + 13) << 10)));
  }
  static_cast<std::uint16_t*>(base)[index] = half;
}

int ask_driver(const char* function, auto... arguments) {
  const char* path = std::getenv("GPUREADY_LIBCUDA");
  void* driver = dlopen(path == nullptr ? "" : path, RTLD_LAZY | RTLD_NOLOAD);
  const auto call = reinterpret_cast<int (*)(decltype(arguments)...)>(
      driver == nullptr ? nullptr : dlsym(driver, function));
  return call == nullptr ? 0 : call(arguments...);
}
bool captures(void* stream) {
  int status = 0;
  return ask_driver("cuStreamIsCapturing", stream, &status) == 0 && status != 0;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) std::size_t cublasLtGetVersion() {
  return 130100;
}
API cublasLtCreate(void** handle) {
  *handle = new int(0);
  return 0;
}
API cublasLtDestroy(void* handle) {
  delete static_cast<int*>(handle);
  return 0;
}
API cublasLtMatmulDescCreate(Operation** made, int compute, int scale) {
  if ((compute != 68 && compute != 77) || scale != 0) return kInvalid;
  *made = new Operation;
  return 0;
}
API cublasLtMatmulDescDestroy(Operation* operation) {
  delete operation;
  return 0;
}
API cublasLtMatmulDescSetAttribute(Operation* o, int attribute, const void* value,
                                   std::size_t bytes) {
  if (attribute == kBiasPointer) {
    if (bytes != sizeof o->bias) return kInvalid;
    std::memcpy(&o->bias, value, bytes);
    return 0;
  }
  int* const number = attribute == kTransA     ? &o->transposed_a
                      : attribute == kTransB   ? &o->transposed_b
                      : attribute == kEpilogue ? &o->epilogue
                                               : nullptr;
  if (number == nullptr || bytes != sizeof *number) return kInvalid;
  std::memcpy(number, value, bytes);
  return 0;
}
API cublasLtMatrixLayoutCreate(Layout** made, int type, std::uint64_t rows, std::uint64_t columns,
                               std::int64_t leading) {
  if ((type != 0 && type != 2 && type != 14) || leading < static_cast<std::int64_t>(rows))
    return kInvalid;
  *made = new Layout{type, rows, columns, leading};
  return 0;
}
API cublasLtMatrixLayoutDestroy(Layout* layout) {
  delete layout;
  return 0;
}
API cublasLtMatmulPreferenceCreate(Preference** made) {
  *made = new Preference;
  return 0;
}
API cublasLtMatmulPreferenceDestroy(Preference* preference) {
  delete preference;
  return 0;
}
API cublasLtMatmulPreferenceSetAttribute(Preference* preference, int attribute, const void* value,
                                         std::size_t bytes) {
  if (attribute != 1 || bytes != sizeof preference->workspace_bytes) return kInvalid;
  std::memcpy(&preference->workspace_bytes, value, bytes);
  return 0;
}
API cublasLtMatmulAlgoGetHeuristic(void*, Operation*, Layout*, Layout*, Layout*, Layout*,
                                   Preference* preference, int most, Heuristic* found, int* count) {
  *count = most < 3 ? most : 3;
  for (int i = 0; i < *count; ++i) {
    found[i] = {};
    found[i].algorithm[0] = static_cast<std::uint64_t>(i + 1);
    found[i].workspace_bytes = preference->workspace_bytes / 2;
  }
  return 0;
}
API cublasLtMatmul(void*, const Operation* o, const float* alpha, const void* a, const Layout* la,
                   const void* b, const Layout* lb, const float* beta, const void*, const Layout*,
                   void* d, const Layout* ld, const std::uint64_t* algorithm, void* workspace,
                   std::size_t workspace_bytes, void* stream) {
  const bool ta = o->transposed_a != 0, tb = o->transposed_b != 0;
  const std::uint64_t m = ta ? la->columns : la->rows, k = ta ? la->rows : la->columns;
  const std::uint64_t n = tb ? lb->rows : lb->columns;
  if (*alpha != 1 || *beta != 0 || (tb ? lb->columns : lb->rows) != k || ld->rows != m ||
      ld->columns != n || algorithm[0] == 0 || workspace == nullptr || workspace_bytes == 0)
    return kInvalid;
  const char* asked = std::getenv("FAKE_CUBLASLT");
  if (asked != nullptr && std::strcmp(asked, "first_fails") == 0 && algorithm[0] == 1) return 13;
  if (captures(stream)) return kNotSupported;
  // In its turn: launches before it may still run.
  if (const int failed = ask_driver("cuStreamSynchronize", stream); failed != 0) return failed;
  std::memset(workspace, 0xff, workspace_bytes);  // it is ours to write
  for (std::uint64_t column = 0; column < n; ++column)
    for (std::uint64_t row = 0; row < m; ++row) {
      float sum = 0;
      for (std::uint64_t i = 0; i < k; ++i) {
        const auto at_a = static_cast<std::uint64_t>(la->leading) * (ta ? row : i) + (ta ? i : row);
        const auto at_b =
            static_cast<std::uint64_t>(lb->leading) * (tb ? i : column) + (tb ? column : i);
        sum += load(a, at_a, la->type) * load(b, at_b, lb->type);
      }
      if (o->epilogue == 4) sum += load(o->bias, row, ld->type);
      store(d, static_cast<std::uint64_t>(ld->leading) * column + row, sum, ld->type);
    }
  return o->epilogue == 1 || o->epilogue == 4 ? 0 : kNotSupported;
}
