// Which GPU and driver load which piece of device code: one pure function over the rules that
// docs/pack.md lists.
#pragma once

#include <optional>
#include <string>

#include "base/named.h"
#include "pack/code/code.h"

namespace gpuready::pack {

// A GPU that code is to be loaded on. One of the two is there; the other vendors' have neither.
struct TargetGpu {
  std::optional<CudaTarget> cuda = {};  // without a suffix
  std::optional<GfxTarget> gfx = {};    // modes that are absent are taken as the driver starts them
  auto operator<=>(const TargetGpu&) const = default;
  std::string name() const;  // "8.6", "gfx942"
};
// "8.6", "sm_86", "gfx90a:xnack+".
std::optional<TargetGpu> parse_target_gpu(std::string_view text);

struct Driver {
  std::optional<Version> version = {};  // of NVIDIA's: "535.104.05"
  std::optional<Version> cuda = {};     // that libcuda answers; where absent, the version tells it
  std::optional<Version> cuda_known() const;
  bool crosses_majors() const;  // libcuda is of a newer CUDA major version: cuda-compat is in use
};

enum class How { by_cubin, by_jit, no };

// Why not, by rule.
enum class Obstacle {
  none,
  not_loadable,      // must be linked first, or holds no kernel, or is no code
  other_vendor,      // code of another vendor's GPUs
  architecture,      // machine code of another architecture
  one_architecture,  // suffix a: of another architecture
  family,            // suffix f: of another family
  newer_target,      // PTX for newer GPUs
  ptx_isa,           // PTX of a newer CUDA release than the driver's
  zstd,              // packed in a way that the driver does not know
  feature,           // xnack or sramecc differ
  unknown_target,    // the file does not say what it is for
};

struct LoadAnswer {
  How how = How::no;
  Obstacle obstacle = Obstacle::none;
  std::string because;  // of no: one clause, "PTX 9.1 needs a driver of CUDA 13.1 (590.44.01)"
};

// A driver of which nothing is known is taken to be new enough.
// `in_container`: the driver itself unpacks it.
LoadAnswer can_load(const DeviceCode& code, const TargetGpu& gpu, const Driver& driver,
                    bool in_container = true);

// Whether code for another GPU is what it is; and how many steps of compute capability lie between.
bool is_of_target(Obstacle obstacle);
int distance_of(const DeviceCode& code, const TargetGpu& gpu);

// What stands between this GPU and driver and any code at all: too old a driver for the GPU, or too
// new; empty: nothing.
std::string driver_obstacle(const TargetGpu& gpu, const Driver& driver);

}  // namespace gpuready::pack

namespace gpuready {
NAMES_OF(pack::How, "by_cubin", "by_jit", "no");
NAMES_OF(pack::Obstacle, "none", "not_loadable", "other_vendor", "architecture", "one_architecture",
         "family", "newer_target", "ptx_isa", "zstd", "feature", "unknown_target");
}  // namespace gpuready
