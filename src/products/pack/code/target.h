// What device code is built for: NVIDIA's architectures (sm_90a, compute_80) and AMD's targets
// (gfx942:sramecc+:xnack-).
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gpuready::pack {

// An architecture by compute capability. The suffix is NVIDIA's: `a` is for this architecture
// alone, `f` for its family.
struct CudaTarget {
  int major = 0, minor = 0;
  char suffix = 0;  // 'a', 'f', or none
  auto operator<=>(const CudaTarget&) const = default;

  std::string capability() const;  // "9.0"
  std::string number() const;      // "90a"
  std::string sm() const { return "sm_" + number(); }
};
// Accepts "sm_90a", "compute_90a", "90a" and "9.0a", with "lto_" and "-real", "-virtual" of CMake
// and
// "+PTX" of PyTorch left to the caller. Majors have one or two digits, minors one.
std::optional<CudaTarget> parse_cuda_target(std::string_view text);
// Of an architecture number as files hold it: 103 is 10.3.
std::optional<CudaTarget> cuda_target(std::uint32_t number, char suffix);

// A processor of AMD's with the features that its code may depend on; a feature that is absent was
// not named, so the code runs either way.
struct GfxTarget {
  std::string processor;  // "gfx942", "gfx9-4-generic"
  std::optional<bool> sramecc = {}, xnack = {};
  auto operator<=>(const GfxTarget&) const = default;

  std::string name() const;  // "gfx90a:sramecc+:xnack-", as LLVM writes it
};
std::optional<GfxTarget> parse_gfx_target(std::string_view text);

}  // namespace gpuready::pack
