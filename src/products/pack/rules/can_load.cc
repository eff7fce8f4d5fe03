#include "pack/rules/can_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "pack/rules/releases.h"

namespace gpuready::pack {
namespace {

LoadAnswer no(Obstacle obstacle, std::string because) {
  return {How::no, obstacle, std::move(because)};
}

// ---- NVIDIA

bool same_architecture(const CudaTarget& code, const CudaTarget& gpu) {
  return code.major == gpu.major && code.minor == gpu.minor;
}

// Machine code runs on its major version from its minor version on; a system on a chip shares it
// with no other GPU. 10.1 became 11.0 in CUDA 13 and is one, so it is in no family but its own.
bool same_binary_family(const CudaTarget& code, const CudaTarget& gpu) {
  if (same_architecture(code, gpu)) return true;
  if (is_tegra(code) || is_tegra(gpu)) return false;
  return code.major == gpu.major && code.minor <= gpu.minor;
}

std::optional<LoadAnswer> wrong_target(const DeviceCode& code, const CudaTarget& gpu) {
  const CudaTarget& target = *code.cuda;
  switch (target.suffix) {
    case 'a':
      if (same_architecture(target, gpu)) return std::nullopt;
      return no(Obstacle::one_architecture,
                fmt::format("{} is only for {}", code.target(), target.capability()));
    case 'f':
      if (same_binary_family(target, gpu)) return std::nullopt;
      return no(Obstacle::family, fmt::format("{} is for the family of {}, from there on",
                                              code.target(), target.capability()));
    default:
      break;
  }
  if (code.kind == CodeKind::ptx) {
    if (std::pair(target.major, target.minor) <= std::pair(gpu.major, gpu.minor))
      return std::nullopt;
    return no(Obstacle::newer_target,
              fmt::format("{} is for {} and newer", code.target(), target.capability()));
  }
  if (same_binary_family(target, gpu)) return std::nullopt;
  if (target.major == gpu.major && (is_tegra(target) || is_tegra(gpu)))
    return no(Obstacle::architecture,
              fmt::format("{} and {} do not share machine code: one is a system on a chip",
                          target.capability(), gpu.capability()));
  return no(Obstacle::architecture,
            fmt::format("{} is machine code for {}.{} to {}.9", code.target(), target.major,
                        target.minor, target.major));
}

std::optional<LoadAnswer> driver_too_old(const DeviceCode& code, const Driver& driver) {
  const auto cuda = driver.cuda_known();
  // Its libcuda unpacks it, which cuda-compat may have replaced.
  if (code.compression == Compression::zstd && cuda && *cuda < *parse_version(kZstdCuda))
    return no(Obstacle::zstd,
              fmt::format("it is packed by zstd, which drivers read from {} on", kZstdDriver));
  if (code.kind != CodeKind::ptx || !cuda || !code.ptx_isa) return std::nullopt;
  const auto isa = ptx_isa_of_cuda(*cuda);
  if (isa && *code.ptx_isa <= *isa) return std::nullopt;
  const CudaRelease* release = release_of_ptx(*code.ptx_isa);
  if (release == nullptr)
    return no(Obstacle::ptx_isa, fmt::format("PTX {} is newer than every CUDA release known here",
                                             version_text(*code.ptx_isa)));
  return no(
      Obstacle::ptx_isa,
      fmt::format("PTX {} needs a driver of CUDA {}{}", version_text(*code.ptx_isa), release->cuda,
                  release->driver.empty() ? ", and gpuready knows none of these"
                                          : fmt::format(" ({})", release->driver)));
}

LoadAnswer can_load_cuda(const DeviceCode& code, const CudaTarget& gpu, const Driver& driver,
                         bool in_container) {
  if (auto wrong = wrong_target(code, gpu)) return *std::move(wrong);
  DeviceCode unpacked = code;
  if (!in_container) unpacked.compression = Compression::none;  // the library unpacks it by itself
  if (auto old = driver_too_old(unpacked, driver)) return *std::move(old);
  return {code.kind == CodeKind::ptx ? How::by_jit : How::by_cubin, Obstacle::none, {}};
}

// ---- AMD

// LLVM, "User Guide for AMDGPU Backend", generic processors.
struct Generic {
  std::string_view name;
  std::array<std::string_view, 12> members;
};
constexpr Generic kGenerics[] = {
    {"gfx9-generic", {"gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"}},
    {"gfx9-4-generic", {"gfx940", "gfx941", "gfx942", "gfx950"}},
    {"gfx10-1-generic", {"gfx1010", "gfx1011", "gfx1012", "gfx1013"}},
    {"gfx10-3-generic",
     {"gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036"}},
    {"gfx11-generic",
     {"gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"}},
    {"gfx12-generic", {"gfx1200", "gfx1201"}},
};

bool same_processor(std::string_view code, std::string_view gpu) {
  if (code == gpu) return true;
  for (const auto& generic : kGenerics)
    if (generic.name == code)
      return std::find(generic.members.begin(), generic.members.end(), gpu) !=
             generic.members.end();
  return false;
}

// Modes in which the driver starts a GPU: ECC of the SRAM on, retry of page faults off.
constexpr bool kSramEccAtStart = true, kXnackAtStart = false;

LoadAnswer can_load_amd(const DeviceCode& code, const GfxTarget& gpu) {
  const GfxTarget& target = *code.gfx;
  if (!same_processor(target.processor, gpu.processor))
    return no(Obstacle::architecture, fmt::format("{} is for {}", target.name(), target.processor));
  if (target.xnack && *target.xnack != gpu.xnack.value_or(kXnackAtStart))
    return no(Obstacle::feature, fmt::format("{} needs XNACK {}", target.name(),
                                             *target.xnack ? "on (HSA_XNACK=1)" : "off"));
  if (target.sramecc && *target.sramecc != gpu.sramecc.value_or(kSramEccAtStart))
    return no(Obstacle::feature,
              fmt::format("{} needs SRAM ECC {}", target.name(), *target.sramecc ? "on" : "off"));
  return {How::by_cubin, Obstacle::none, {}};
}

}  // namespace

std::string TargetGpu::name() const {
  if (cuda) return cuda->capability();
  return gfx ? gfx->name() : "other";
}

std::optional<TargetGpu> parse_target_gpu(std::string_view text) {
  if (auto cuda = parse_cuda_target(text)) {
    cuda->suffix = 0;  // a GPU has none
    return TargetGpu{.cuda = cuda};
  }
  if (auto gfx = parse_gfx_target(text)) return TargetGpu{.gfx = std::move(gfx)};
  return std::nullopt;
}

std::optional<Version> Driver::cuda_known() const {
  if (cuda) return cuda;
  return version ? cuda_of_driver(*version) : std::nullopt;
}

bool Driver::crosses_majors() const {
  const auto own = version ? cuda_of_driver(*version) : std::nullopt;
  return cuda && own && cuda->major() > own->major();
}

LoadAnswer can_load(const DeviceCode& code, const TargetGpu& gpu, const Driver& driver,
                    bool in_container) {
  if (!loadable(code)) {
    if (code.empty) return no(Obstacle::not_loadable, "it holds no kernel");
    if (code.relocatable) return no(Obstacle::not_loadable, "it must be linked first");
    return no(Obstacle::not_loadable, "no driver loads such code");
  }
  if (!code.cuda && !code.gfx)
    return no(Obstacle::unknown_target, "the file does not say what it is for");
  if (code.cuda && gpu.cuda) return can_load_cuda(code, *gpu.cuda, driver, in_container);
  if (code.gfx && gpu.gfx) return can_load_amd(code, *gpu.gfx);
  return no(Obstacle::other_vendor, code.cuda ? "it is for NVIDIA's GPUs" : "it is for AMD's GPUs");
}

bool is_of_target(Obstacle obstacle) {
  return obstacle == Obstacle::one_architecture || obstacle == Obstacle::family ||
         obstacle == Obstacle::newer_target || obstacle == Obstacle::architecture;
}

int distance_of(const DeviceCode& code, const TargetGpu& gpu) {
  if (!code.cuda || !gpu.cuda) return 0;
  const auto number = [](const CudaTarget& target) { return target.major * 10 + target.minor; };
  return std::abs(number(*code.cuda) - number(*gpu.cuda));
}

std::string driver_obstacle(const TargetGpu& gpu, const Driver& driver) {
  if (!gpu.cuda || !driver.version) return {};
  const DriverSpan span = drivers_of(*gpu.cuda);
  if (span.first && driver.version->major() < span.first->major())
    return fmt::format("driver {} does not know GPUs of {}: {} is the first that does",
                       driver_text(*driver.version), gpu.cuda->capability(),
                       driver_text(*span.first));
  if (span.last_branch && driver.version->major() > span.last_branch->major())
    return fmt::format("driver {} no longer drives GPUs of {}: branch {} is the last that does",
                       driver_text(*driver.version), gpu.cuda->capability(),
                       driver_text(*span.last_branch));
  if (driver.crosses_majors() && starts_with_cuda_compat(*gpu.cuda) == false)
    return fmt::format(
        "libcuda is of CUDA {} (cuda-compat) over driver {}: that starts only on data-centre GPUs",
        version_text(*driver.cuda), driver_text(*driver.version));
  return {};
}

}  // namespace gpuready::pack
