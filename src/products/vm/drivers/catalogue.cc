#include "vm/drivers/catalogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "base/cuda_releases.h"
#include "base/text.h"
#include "machine/nvidia/architectures.h"
#include "machine/pci/pci_ids.h"
#include "value/vendors.h"
#include "vm/drivers/nvidia_gpus.h"

namespace gpuready::vm {
namespace {

constexpr DriverBranch kBranches[] = {
    {450, "11.0", "long-term support", ""}, {455, "11.1", "new feature", ""},
    {460, "11.2", "production", ""},        {465, "11.3", "new feature", ""},
    {470, "11.4", "long-term support", ""}, {495, "11.5", "new feature", ""},
    {510, "11.6", "production", ""},        {515, "11.7", "production", ""},
    {520, "11.8", "new feature", ""},       {525, "12.0", "production", ""},
    {530, "12.1", "new feature", ""},       {535, "12.2", "long-term support", "2026-06"},
    {545, "12.3", "new feature", ""},       {550, "12.4", "production", ""},
    {555, "12.5", "new feature", ""},       {560, "12.6", "new feature", ""},
    {565, "12.7", "new feature", ""},       {570, "12.8", "production", ""},
    {575, "12.9", "new feature", ""},       {580, "13.0", "long-term support", "2028-06"},
    {590, "13.1", "new feature", ""},       {595, "13.2", "production", "2027-03"},
    {610, "", "new feature", "2026-08"},
};

constexpr ArchitectureSupport kArchitectures[] = {
    {"Kepler", 450, 470},
    {"Maxwell", 450, 580},
    {"Pascal", 450, 580},
    {"Volta", 450, 580},
    // The proprietary driver served them all before the open modules did.
    {"Turing", 450, 0, Unlisted::served},
    {"Ampere", 450, 0, Unlisted::not_known},
    {"Ada Lovelace", 520, 0, Unlisted::not_known},
    {"Hopper", 520, 0, Unlisted::not_known},
    {"Blackwell", 570, 0, Unlisted::not_served},  // by the open modules alone
};

// The branch of a driver: 550 of 550.163.01; 590 and 591 are of one.
const DriverBranch* branch_of(const Version& driver) {
  const DriverBranch* found = nullptr;
  for (const auto& branch : kBranches)
    if (branch.branch <= driver.major()) found = &branch;
  if (found == nullptr || driver.major() - found->branch > 4) return nullptr;
  return found;
}

// The first branch that implements this CUDA release.
const DriverBranch* first_branch_with(const Version& release) {
  const auto found = std::ranges::find_if(kBranches, [&](const DriverBranch& branch) {
    const auto native = parse_version(branch.native_cuda);
    return native && *native >= release;
  });
  return found == std::end(kBranches) ? nullptr : found;
}

// The newest branch of which the catalogue knows what it implements.
const DriverBranch& last_with_cuda() {
  return *std::ranges::find_if(kBranches | std::views::reverse, [](const DriverBranch& branch) {
    return !branch.native_cuda.empty();
  });
}

// NVIDIA, "CUDA Compatibility": data-center GPUs, and some of the professional ones, are served by
// forward compatibility packages.
bool is_consumers(std::string_view name) {
  constexpr std::string_view kBrands[] = {"GeForce", "GTX ", "TITAN", "CMP "};
  return std::ranges::any_of(kBrands, [&](auto brand) { return contains(name, brand); });
}

std::string by_lists(const KnownGpu& gpu, const Version& driver) {
  const auto first = first_driver(gpu);
  return fmt::format("NVIDIA's lists of GPUs name it from {} on{}", first,
                     driver < *parse_version(first)
                         ? ""
                         : fmt::format(", but not for this release of branch {}", driver.major()));
}

// Whether the driver's branch serves the architecture of `out.gpu`.
void judge_by_branch(const ArchitectureSupport* support, std::string_view driver_version,
                     const DriverBranch* branch, GpuSupport& out) {
  if (support == std::end(kArchitectures) || branch == nullptr) {
    out.explanation =
        fmt::format("Whether driver {} serves {} is not known: {} is not in the catalogue.",
                    driver_version, out.gpu, branch == nullptr ? "the driver's branch" : "the GPU");
    return;
  }
  const bool ended = support->last_branch != 0 && branch->branch > support->last_branch;
  out.served = branch->branch >= support->first_branch && !ended;
  out.explanation =
      *out.served ? fmt::format("Driver {} serves {}.", driver_version, out.gpu)
      : ended     ? fmt::format("Driver {} no longer serves {}: branch {} is the last for {}.",
                                driver_version, out.gpu, support->last_branch, support->architecture)
                  : fmt::format("Driver {} is too old for {}: branch {} is the first for {}.",
                                driver_version, out.gpu, support->first_branch, support->architecture);
}

}  // namespace

std::span<const DriverBranch> driver_branches() { return kBranches; }
std::span<const ArchitectureSupport> architecture_support() { return kArchitectures; }

const DriverBranch* find_branch(int branch) {
  for (const auto& known : kBranches)
    if (known.branch == branch) return &known;
  return nullptr;
}

GpuSupport gpu_support(std::string_view driver_version, std::uint16_t vendor, std::uint16_t device,
                       std::span<const std::uint16_t> listed) {
  GpuSupport out;
  const auto name = nvidia_name(vendor, device);
  out.gpu =
      fmt::format("{:04x}:{:04x}{}", vendor, device, name ? " (" + *name + ")" : std::string());
  if (vendor != pci_vendor::kNvidia) {
    out.served = false;
    out.explanation = out.gpu + " is not NVIDIA's, so NVIDIA's driver does not serve it.";
    return out;
  }
  const auto driver = parse_version(driver_version);
  const auto* branch = driver ? branch_of(*driver) : nullptr;
  const auto capability = name ? nvidia_chip_capability(*name) : std::nullopt;
  const auto architecture = capability ? nvidia_architecture_name(*capability)
                                       : std::optional(architecture_of_id(device));
  const auto support = std::ranges::find(kArchitectures, architecture.value_or(""),
                                         &ArchitectureSupport::architecture);
  if (support != std::end(kArchitectures)) out.architecture = support->architecture;
  if (name && is_consumers(*name)) out.forward_compatible = false;
  if (!listed.empty()) {
    out.served = std::ranges::find(listed, device) != listed.end();
    out.explanation = fmt::format("Driver {} {} {}, by its own list of GPUs.", driver_version,
                                  *out.served ? "serves" : "does not serve", out.gpu);
    return out;
  }
  const auto* known = find_known_gpu(device);
  const auto by_list = known && driver ? is_listed(*known, *driver) : std::nullopt;
  if (by_list && *by_list) {
    out.served = true;
    out.explanation = fmt::format("Driver {} serves {}: NVIDIA's lists of GPUs name it from {} on.",
                                  driver_version, out.gpu, first_driver(*known));
    return out;
  }
  judge_by_branch(support, driver_version, branch, out);
  if (!by_list || !out.served.value_or(false) || support->unlisted == Unlisted::served) return out;
  if (support->unlisted == Unlisted::not_served) {
    out.served = false;
    out.explanation = fmt::format("Driver {} does not serve {}: {}.", driver_version, out.gpu,
                                  by_lists(*known, *driver));
  } else {
    out.served = std::nullopt;
    out.explanation = fmt::format(
        "Whether driver {} serves {} is not known: it serves {}, and {}; those are of the open "
        "modules, and say nothing of the proprietary ones.",
        driver_version, out.gpu, support->architecture, by_lists(*known, *driver));
  }
  return out;
}

GpuSupport capability_support(std::string_view driver_version, const NvidiaArchitecture& of) {
  GpuSupport out;
  out.gpu = fmt::format("capability {}.{} ({})", of.major, of.minor, of.name);
  const auto support =
      std::ranges::find(kArchitectures, of.name, &ArchitectureSupport::architecture);
  if (support != std::end(kArchitectures)) out.architecture = support->architecture;
  const auto driver = parse_version(driver_version);
  judge_by_branch(support, driver_version, driver ? branch_of(*driver) : nullptr, out);
  return out;
}

std::string_view native_cuda(std::string_view driver_version) {
  const auto driver = parse_version(driver_version);
  const auto* branch = driver ? branch_of(*driver) : nullptr;
  return branch == nullptr ? std::string_view() : branch->native_cuda;
}

Result<CudaCompatibility> compare_cuda(std::string_view image_cuda,
                                       std::string_view driver_version) {
  const auto cuda = parse_version(image_cuda), driver = parse_version(driver_version);
  if (!cuda || cuda->parts.size() < 2 || cuda->parts.size() > 3)
    return fail(ErrorKind::bad_input,
                fmt::format("\"{}\" is not a CUDA version with its minor number, such as 12.9",
                            printable(image_cuda)));
  if (!driver)
    return fail(ErrorKind::bad_input,
                fmt::format("\"{}\" is not a driver version such as 550 or 580.65.06",
                            printable(driver_version)));
  // Branches are reported by major and minor number: 12.9.1 is of 12.9.
  const Version release{{cuda->parts[0], cuda->parts[1]}};
  CudaCompatibility out;
  out.image_cuda = image_cuda;
  out.driver_version = driver_version;
  const auto* branch = branch_of(*driver);
  if (branch != nullptr) out.native_cuda = branch->native_cuda;
  const auto least = least_driver_of_cuda(release);
  if (least) out.least_driver = *least;
  const auto* first = first_branch_with(release);
  const auto& last = last_with_cuda();
  if (first != nullptr && driver->major() >= first->branch) {
    out.fit = CudaFit::native;
    out.explanation =
        !out.native_cuda.empty()
            ? fmt::format("Driver {} implements CUDA {}: all of CUDA {} runs.", driver_version,
                          out.native_cuda, image_cuda)
            : fmt::format(
                  "CUDA {} is implemented from branch {} on, and driver {} is newer: all "
                  "of it runs.",
                  image_cuda, first->branch, driver_version);
  } else if (!least) {
    out.explanation = fmt::format(
        "CUDA {} is not in the catalogue: compare it with NVIDIA's table of CUDA "
        "compatibility.",
        image_cuda);
  } else if (first == nullptr && driver->major() > last.branch && out.native_cuda.empty()) {
    out.fit = CudaFit::minor_version;
    out.explanation = fmt::format(
        "Programs of CUDA {} run on driver {}. Whether it also loads PTX of this release is not "
        "known: it is newer than branch {}, and so than the catalogue. Where it does not (CUDA "
        "error 222), they need code for exactly this GPU.",
        image_cuda, driver_version, last.branch);
  } else if (*driver >= *parse_version(*least)) {
    out.fit = CudaFit::minor_version;
    out.explanation = fmt::format(
        "Programs of CUDA {} run on driver {} by minor version compatibility. What they compile "
        "from PTX of this release does not load (CUDA error 222): they need code for exactly this "
        "GPU, or a driver that implements CUDA {}.",
        image_cuda, driver_version, image_cuda);
  } else {
    out.fit = CudaFit::too_old;
    out.explanation = fmt::format(
        "Programs of CUDA {} need driver {} or newer and stop on {} with CUDA error 35. On a "
        "data-centre GPU the package cuda-compat-{}-{} in the image may help.",
        image_cuda, *least, driver_version, release.parts[0], release.parts[1]);
  }
  return out;
}

}  // namespace gpuready::vm
