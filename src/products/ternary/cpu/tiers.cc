#include "ternary/cpu/tiers.h"

#include <cerrno>
#include <cstring>

#if defined(__linux__)
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "base/cpuid.h"

namespace gpuready::ternary {
namespace {

using kernels::Table;

#if defined(__x86_64__)

bool bit(unsigned word, int index) { return (word >> index & 1) != 0; }

// Register state that the operating system saves (XCR0).
std::uint64_t saved_state() {
  if (!bit(cpuid(1, 0).c, 27)) return 0;  // OSXSAVE
  unsigned low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return std::uint64_t{high} << 32 | low;
}

constexpr std::uint64_t kAvxState = 0x6, kAvx512State = 0xE6, kTileState = 0x60000;

struct Features {
  bool avx2 = false, avx_vnni = false, avx512_vnni = false, vbmi = false, gfni = false, amx = false;
  std::uint64_t saved = 0;
};
const Features& features() {
  static const Features found = [] {
    Features f;
    f.saved = saved_state();
    const Cpuid seven = cpuid(7, 0), seven_one = cpuid(7, 1);
    f.avx2 = bit(seven.b, 5);
    f.avx_vnni = f.avx2 && seven.a >= 1 && bit(seven_one.a, 4);
    f.avx512_vnni = bit(seven.b, 16) && bit(seven.b, 30) && bit(seven.b, 31) && bit(seven.c, 11);
    f.vbmi = f.avx512_vnni && bit(seven.c, 1);
    f.gfni = f.avx512_vnni && bit(seven.c, 8);
    f.amx = f.avx512_vnni && bit(seven.d, 24) && bit(seven.d, 25);
    return f;
  }();
  return found;
}

std::string x86_lacks(bool has, const char* name, std::uint64_t state) {
  if (!has) return std::string("this CPU has no ") + name;
  if ((features().saved & state) != state) {
    return std::string("the operating system does not save the registers of ") + name;
  }
  return {};
}

const Table& avx512_table() {
  static const Table table = [] {
    Table t = kernels::kAvx512;
    if (features().vbmi) t.gemv[1] = kernels::vbmi_gemv_three_trits;
    if (features().gfni) t.grouped_gemv = kernels::gfni_grouped_gemv;
    return t;
  }();
  return table;
}

const Table& amx_table() {
  static const Table table = [] {
    Table t = avx512_table();
    t.gemm = kernels::amx_gemm;
    t.gemm_groups = kernels::amx_gemm_groups;
    return t;
  }();
  return table;
}

#endif

}  // namespace

const Table* table_of(Tier tier) {
  switch (tier) {
    case Tier::scalar:
      return &kernels::kScalar;
#if defined(__x86_64__)
    case Tier::avx2:
      return &kernels::kAvx2;
    case Tier::avx_vnni:
      return &kernels::kAvxVnni;
    case Tier::avx512_vnni:
      return &avx512_table();
    case Tier::amx:
      return &amx_table();
#elif defined(__aarch64__)
    case Tier::neon:
      return &kernels::kNeon;
    case Tier::dotprod:
      return &kernels::kDotprod;
    case Tier::i8mm:
      return &kernels::kI8mm;
#endif
    default:
      return nullptr;
  }
}

std::string why_not(Tier tier) {
  if (static_cast<std::size_t>(tier) >= std::size(kAllTiers)) return "there is no such tier";
  if (table_of(tier) == nullptr) return "it belongs to another architecture";
#if defined(__x86_64__)
  const Features& f = features();
  switch (tier) {
    case Tier::avx2:
      return x86_lacks(f.avx2, "AVX2", kAvxState);
    case Tier::avx_vnni:
      return x86_lacks(f.avx_vnni, "AVX-VNNI", kAvxState);
    case Tier::avx512_vnni:
      return x86_lacks(f.avx512_vnni, "AVX-512 VNNI", kAvx512State);
    case Tier::amx:
      return x86_lacks(f.amx, "AMX int8", kAvx512State | kTileState);
    default:
      return {};
  }
#elif defined(__aarch64__) && defined(__linux__)
  constexpr unsigned long kAsimdDotProduct = 1ul << 20, kI8mm = 1ul << 13;
  if (tier == Tier::dotprod && (getauxval(AT_HWCAP) & kAsimdDotProduct) == 0) {
    return "this CPU has no dot-product instructions";
  }
  if (tier == Tier::i8mm &&
      ((getauxval(AT_HWCAP2) & kI8mm) == 0 || (getauxval(AT_HWCAP) & kAsimdDotProduct) == 0)) {
    return "this CPU has no int8 matrix instructions";
  }
  return {};
#else
  return tier == Tier::scalar || tier == Tier::neon
             ? std::string()
             : "it is not known how to ask this operating system for it";
#endif
}

std::string ask_for_tiles() {
#if defined(__x86_64__) && defined(__linux__) && defined(SYS_arch_prctl)
  // The kernel hands out the tile state only on request, to the whole process (Linux 5.16).
  static const std::string answer = [] {
    constexpr int kRequestPermission = 0x1023, kTileData = 18;
    if (syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0) return std::string();
    return std::string("the kernel refused AMX's tile state: ") + std::strerror(errno);
  }();
  return answer;
#else
  return "this operating system has no way to ask for AMX's tile state";
#endif
}

const Table& vector_table() {
  static const Table& best = *[] {
    const Table* found = &kernels::kScalar;
    for (const Tier tier : kAllTiers) {
      if (tier != Tier::amx && why_not(tier).empty()) found = table_of(tier);
    }
    return found;
  }();
  return best;
}

const kernels::WeightTable& weight_table() {
#if defined(__x86_64__)
  static const bool f16c = bit(cpuid(1, 0).c, 29);  // as every CPU with AVX2
  static const bool avx2 = why_not(Tier::avx2).empty() && f16c;
  if (avx2) return kernels::kWeightsAvx2;
#endif
  return kernels::kWeightsScalar;
}

std::string_view v0::to_string(Tier tier) {
  constexpr std::string_view kNames[] = {"scalar", "avx2", "avx-vnni", "avx512-vnni",
                                         "amx",    "neon", "dotprod",  "i8mm"};
  const auto index = static_cast<std::size_t>(tier);
  return index < std::size(kNames) ? kNames[index] : "unknown tier";
}

std::vector<TierStatus> v0::tiers() {
  std::vector<TierStatus> result;
  for (const Tier tier : kAllTiers) {
    std::string reason = why_not(tier);
    const bool available = reason.empty();
    result.push_back({tier, available, std::move(reason)});
  }
  return result;
}

}  // namespace gpuready::ternary
