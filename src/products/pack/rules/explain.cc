#include "pack/rules/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

#include "machine/nvidia/architectures.h"
#include "pack/rules/releases.h"

namespace gpuready::pack {
namespace {

constexpr std::size_t kMostReasons = 3;
// How near code is to a GPU that it does not load on: the reason told is that of the nearest.
constexpr std::array kNearestFirst = {Obstacle::ptx_isa,        Obstacle::zstd,
                                      Obstacle::feature,        Obstacle::one_architecture,
                                      Obstacle::family,         Obstacle::newer_target,
                                      Obstacle::architecture,   Obstacle::other_vendor,
                                      Obstacle::unknown_target, Obstacle::not_loadable};

bool is_container(Carrier carrier) {
  return carrier == Carrier::fat_binary || carrier == Carrier::offload_bundle;
}

std::uint64_t number_of(const CudaTarget& target) {
  return static_cast<std::uint64_t>(target.major * 10 + target.minor);
}

// The best that this code gives: machine code before PTX and the nearest of it, then the nearest
// reason why not: of code for other GPUs, that of the nearest of them.
struct Best : LoadAnswer {
  const DeviceCode* taken = nullptr;
};
Best best_of(const Modules& module, const TargetGpu& gpu, const Driver& driver) {
  using Rank = std::tuple<std::ptrdiff_t, int, std::ptrdiff_t>;
  const auto place = [](Obstacle obstacle) {
    return std::find(kNearestFirst.begin(), kNearestFirst.end(), obstacle) - kNearestFirst.begin();
  };
  const auto rank = [&](const LoadAnswer& answer, int distance) -> Rank {
    if (answer.how != How::no) return {static_cast<std::ptrdiff_t>(answer.how) - 2, distance, 0};
    if (is_of_target(answer.obstacle))
      return {place(Obstacle::one_architecture), distance, place(answer.obstacle)};
    return {place(answer.obstacle), 0, 0};
  };
  Best best{{How::no, Obstacle::not_loadable, {}}};
  Rank best_rank = rank(best, 0);
  for (const DeviceCode& code : module.codes) {
    auto answer = can_load(code, gpu, driver, module.in_container);
    const auto its = rank(answer, distance_of(code, gpu));
    // Of equals, the same in whatever order they are.
    if (its > best_rank || (its == best_rank && best.taken && answer.because >= best.because))
      continue;
    best_rank = its;
    best = {std::move(answer), &code};
  }
  return best;
}

bool any_loadable(std::span<const DeviceCode> codes) {
  return std::any_of(codes.begin(), codes.end(), loadable);
}

std::vector<Modules> modules_of(const FileReport& file) {
  std::vector<Modules> modules;
  Modules bare{.codes = {}, .count = 1, .in_container = false};
  for (const CarrierGroup& group : file.groups) {
    if (!any_loadable(group.codes)) continue;
    if (is_container(group.carrier)) {
      modules.push_back({group.codes, group.count, true});
    } else {
      bare.codes.insert(bare.codes.end(), group.codes.begin(), group.codes.end());
    }
  }
  if (modules.empty() && !bare.codes.empty()) modules.push_back(std::move(bare));
  return modules;
}

// Of libcudart.so.12 and its like among what it needs, whose version is CUDA's own.
std::optional<Version> cuda_of_libraries(const FileReport& file) {
  constexpr std::array<std::string_view, 4> kOfCuda = {"libcudart.so.", "libcublas.so.",
                                                       "libcublasLt.so.", "libnvJitLink.so."};
  if (!file.elf) return std::nullopt;
  std::vector<std::string> names = file.elf->needed;
  names.push_back(file.elf->soname);  // it may be one of them
  for (const std::string& name : names)
    for (const auto prefix : kOfCuda)
      if (const auto rest = after_prefix(name, prefix))
        if (auto version = parse_version(*rest)) return version;
  return std::nullopt;
}

// Of the compiler: a library may hold the runtime of its CUDA without naming it.
std::optional<Version> cuda_of_compiler(const FileReport& file) {
  std::optional<Version> newest;
  for (const CarrierGroup& group : file.groups)
    for (const DeviceCode& code : group.codes) {
      if (!is_container(group.carrier)) continue;
      if (code.of_cuda_13) newest = std::max(newest, std::optional(Version{{13, 0}}));
      const auto* release = code.ptx_isa ? release_of_ptx(*code.ptx_isa) : nullptr;
      if (release) newest = std::max(newest, parse_version(release->cuda));
    }
  return newest;
}

// What a driver is asked to load for a GPU.
struct Work {
  const std::vector<Modules>& modules;
  TargetGpu gpu;
  const std::optional<Version>& built_with;
  const std::optional<Version>& cudnn;
  bool of_cudnn = false;  // a part of one, of whatever version

  // Why nothing at all loads with this driver.
  std::string obstacle(const Driver& driver) const {
    if (auto text = driver_obstacle(gpu, driver); !text.empty()) return text;
    if (auto text = cudnn && gpu.cuda ? cudnn_obstacle(*cudnn, *gpu.cuda) : ""; !text.empty())
      return text;
    if (!built_with || !gpu.cuda || !driver.version) return {};
    const auto least = least_driver_of_cuda(*built_with);
    if (!least || reaches(*driver.version, *parse_version(*least))) return {};
    const int major = built_with->major();
    if (driver.crosses_majors() && driver.cuda->major() >= major) return {};  // cuda-compat
    return fmt::format("it needs CUDA {}: driver {} or newer{}",
                       major < kFirstCudaWithMinorCompatibility ? version_text(*built_with)
                                                                : std::to_string(major),
                       *least,
                       starts_with_cuda_compat(*gpu.cuda) == true
                           ? ", or NVIDIA's cuda-compat package of that CUDA"
                           : "");
  }
  std::uint64_t loads(const Driver& driver) const {
    std::uint64_t count = 0;
    for (const Modules& module : modules)
      if (best_of(module, gpu, driver).how != How::no) count += module.count;
    return count;
  }
};

// A newer driver, if one loads more: the first that loads as much as any would. Else the last
// branch that still drives the GPU.
std::string driver_that_helps(const Work& work, const Driver& driver) {
  if (!work.gpu.cuda || (!driver.version && !driver.cuda)) return {};
  const std::uint64_t most = work.loads({});
  if (most == 0 || (most <= work.loads(driver) && work.obstacle(driver).empty())) return {};
  const auto now = driver.cuda_known();
  std::string older;
  for (const CudaRelease& release : cuda_releases()) {
    if (release.driver.empty()) continue;  // no one can install it
    const Driver other{.version = parse_version(release.driver),
                       .cuda = parse_version(release.cuda)};
    if (!work.obstacle(other).empty() || work.loads(other) < most) continue;
    if (!now || *other.cuda >= *now) return std::string(release.driver);
    older = fmt::format("{}", other.version->major());
  }
  return older;
}

// Compilers for an architecture, as "CUDA 11.1 or newer".
std::string compilers_of(const CudaTarget& gpu) {
  const auto* known = find_nvidia_architecture(gpu.capability());
  if (known == nullptr) return {};
  return known->last_cuda.empty()
             ? fmt::format(" with CUDA {} or newer", known->first_cuda)
             : fmt::format(" with CUDA {} to {}", known->first_cuda, known->last_cuda);
}

// A newer driver where one helps, since it is the smaller change; else another build.
Change change_for(const Work& work, const Driver& driver) {
  Change change;
  change.driver = driver_that_helps(work, driver);
  if (!change.driver.empty()) {
    const bool is_branch = change.driver.find('.') == change.driver.npos;
    const auto last = work.gpu.cuda ? drivers_of(*work.gpu.cuda).last_branch : std::nullopt;
    change.text = is_branch && last && driver.version && *driver.version > *last
                      ? fmt::format("a driver of branch {}", change.driver)
                      : fmt::format("driver {} or newer", change.driver);
    return change;
  }
  // NVIDIA's library cannot be built again; an older one holds the code.
  const auto last = work.of_cudnn && work.gpu.cuda ? last_cudnn_of(*work.gpu.cuda) : "";
  if (!last.empty() &&
      (work.cudnn ? !cudnn_obstacle(*work.cudnn, *work.gpu.cuda).empty() : work.loads({}) == 0)) {
    change.text = fmt::format("cuDNN {} or older", last);
    return change;
  }
  change.build = work.gpu.cuda ? work.gpu.cuda->sm() : work.gpu.name();
  change.text = fmt::format("a build for {}{}", change.build,
                            work.gpu.cuda ? compilers_of(*work.gpu.cuda) : "");
  return change;
}

}  // namespace

FileCode code_of(const FileReport& file) {
  return {file.path, modules_of(file), std::max(cuda_of_libraries(file), cuda_of_compiler(file)),
          cudnn_of_part(file.path)};
}

std::vector<FileCode> code_of(const Inspection& inspection) {
  std::vector<FileCode> files;
  for (const FileReport& file : inspection.files) files.push_back(code_of(file));
  set_cudnn(files, inspection.names);
  return files;
}

void set_cudnn(std::vector<FileCode>& files, std::span<const std::string> names,
               const std::optional<Version>& declared) {
  std::vector<std::pair<std::string_view, Version>> told;
  for (const std::string& name : names)
    if (auto version = cudnn_of_path(name)) told.emplace_back(name, *std::move(version));
  if (told.empty() && !declared) return;
  const auto common = [](std::string_view a, std::string_view b) {
    return std::ranges::mismatch(a, b).in1 - a.begin();
  };
  const bool any_part = std::ranges::any_of(files, [](const FileCode& file) {
    return is_part_of_cudnn(file.path) && !file.modules.empty();
  });
  for (FileCode& file : files) {
    if (any_part && !is_part_of_cudnn(file.path)) continue;
    if (declared)
      file.cudnn = declared;
    else if (!file.cudnn)
      file.cudnn = std::ranges::max_element(told, {}, [&](const auto& each) {
                     return common(each.first, file.path);
                   })->second;
  }
}

std::string FileAnswer::why_none() const {
  if (!driver.empty()) return driver;
  return reasons.empty() ? "it holds no code that is known" : reasons.front().because;
}

FileAnswer explain(const FileCode& file, const TargetGpu& gpu, const Driver& driver) {
  FileAnswer answer;
  const Work work{file.modules, gpu, file.cuda, file.cudnn, is_part_of_cudnn(file.path)};
  std::map<std::pair<Obstacle, std::string>, std::uint64_t> reasons;
  for (const Modules& module : work.modules) {
    answer.modules += module.count;
    const auto load = best_of(module, gpu, driver);
    if (load.how == How::by_cubin) answer.by_cubin += module.count;
    if (load.how == How::by_jit) answer.by_jit += module.count;
    if (load.how != How::no && load.taken->cuda)
      answer.taken += module.count * number_of(*load.taken->cuda);
    if (load.how == How::no) reasons[{load.obstacle, load.because}] += module.count;
  }
  for (const auto& [reason, count] : reasons)
    answer.reasons.push_back({reason.first, reason.second, count});
  std::stable_sort(answer.reasons.begin(), answer.reasons.end(),
                   [](const auto& a, const auto& b) { return a.modules > b.modules; });
  if (answer.reasons.size() > kMostReasons) answer.reasons.resize(kMostReasons);
  if (answer.modules == 0) return answer;
  answer.driver = work.obstacle(driver);
  const std::uint64_t can = answer.driver.empty() ? answer.loads() : 0;
  answer.runs = can == answer.modules ? Runs::all : can > 0 ? Runs::part : Runs::none;
  if (answer.runs != Runs::all) answer.change = change_for(work, driver);
  return answer;
}

std::vector<TargetGpu> interesting_gpus(std::span<const FileReport> files) {
  std::set<TargetGpu> gpus;
  bool nvidia = false;
  for (const FileReport& file : files)
    for (const CarrierGroup& group : file.groups)
      for (const DeviceCode& code : group.codes) {
        nvidia |= code.cuda.has_value();
        if (code.cuda && code.kind == CodeKind::cubin)
          gpus.insert({.cuda = CudaTarget{code.cuda->major, code.cuda->minor, 0}});
        if (code.gfx && !code.gfx->processor.ends_with("generic"))
          gpus.insert({.gfx = GfxTarget{.processor = code.gfx->processor}});
      }
  if (nvidia)
    for (const auto& known : nvidia_architectures())
      if (known.major >= 5) gpus.insert({.cuda = CudaTarget{known.major, known.minor, 0}});
  return {gpus.begin(), gpus.end()};
}

}  // namespace gpuready::pack
