// CUDA toolkits and runtimes against what the driver supports.
#include <fmt/format.h>

#include <algorithm>

#include "base/cuda_releases.h"
#include "base/text.h"
#include "doctor/facts.h"

namespace gpuready::doctor {
namespace {

struct Release {
  int major = 0, minor = 0;
  auto operator<=>(const Release&) const = default;
};
std::optional<Release> release_of(std::string_view text) {
  const auto version = parse_version(text);
  if (!version || version->parts.empty()) return std::nullopt;
  return Release{static_cast<int>(version->parts[0]),
                 version->parts.size() > 1 ? static_cast<int>(version->parts[1]) : 0};
}

struct Found {
  Release release;
  std::string where, version;
  bool first = false;  // what a build would take
};

std::vector<Found> cuda_releases(const Machine& machine) {
  std::vector<Found> found;
  for (const auto& toolkit : machine.toolkits)
    if (const auto release = release_of(toolkit.version); release && toolkit.kind == "cuda")
      found.push_back({*release, toolkit.path, toolkit.version, toolkit.on_path});
  if (!found.empty()) return found;
  for (const auto& library : machine.libraries)  // runtimes without a toolkit
    if (library.name.starts_with("libcudart.so") && library.version)
      if (const auto release = release_of(*library.version))
        found.push_back({*release, library.real_path.value_or(library.path), *library.version});
  return found;
}

// What containers are given is what the specification names, not what the host has now.
std::vector<Match> cdi_of_another_driver(const Facts& facts) {
  const auto& machine = facts.machine;
  if (in_container(machine) || !machine.nvidia.module_version) return {};
  std::vector<Match> matches;
  for (const auto& spec : machine.toolkits) {
    if (spec.kind != "cdi" || !spec.driver_version) continue;
    const auto is_here = [&](const LibraryFile& file) {
      return file.version == spec.driver_version;
    };
    if (spec.driver_version == machine.nvidia.module_version ||
        std::ranges::any_of(machine.nvidia.libraries, is_here))
      continue;
    Match match = about_all(machine, Vendor::nvidia);
    match.evidence = {evidence(spec.path, "libcuda.so." + *spec.driver_version),
                      evidence("version of the loaded module", *machine.nvidia.module_version)};
    // read_cdi() reads only files of fixed names.
    if (spec.path.ends_with("/nvidia.yaml"))
      match.command = "nvidia-ctk cdi generate --output=" + spec.path;
    matches.push_back(std::move(match));
  }
  return matches;
}

std::vector<Match> toolkit_newer(const Facts& facts) {
  const auto& machine = facts.machine;
  const auto driver = release_of(machine.nvidia.cuda_version.value_or(""));
  auto found = cuda_releases(machine);
  if (!driver || found.empty() || !any_gpu(machine, Vendor::nvidia)) return {};
  // One toolkit is what PATH chooses; of several without a choice the oldest may serve.
  const auto chosen =
      std::find_if(found.begin(), found.end(), [](const Found& f) { return f.first; });
  const auto& newest =
      chosen != found.end()
          ? *chosen
          : *std::min_element(found.begin(), found.end(),
                              [](const Found& a, const Found& b) { return a.release < b.release; });
  if (newest.release <= *driver) return {};
  Match match = about_all(machine, Vendor::nvidia);
  match.title = fmt::format("CUDA {} is newer than the driver, which supports {}",
                            printable(newest.version), *machine.nvidia.cuda_version);
  match.evidence.push_back(evidence(newest.where, newest.version));
  match.evidence.push_back(
      evidence("cuDriverGetVersion()", "CUDA " + *machine.nvidia.cuda_version));
  if (machine.nvidia.module_version)
    match.evidence.push_back(
        evidence("/proc/driver/nvidia/version", *machine.nvidia.module_version));
  const bool same_major = newest.release.major == driver->major &&
                          newest.release.major >= kFirstCudaWithMinorCompatibility;
  if (same_major) {
    match.severity = Severity::info;
    match.explanation =
        "Programs built with it run, because minor versions are compatible; but PTX that it makes "
        "does not: where a program has no code for this GPU, loading it fails with CUDA error 222.";
    match.cure = "Build code for exactly this GPU (-arch=sm_XX), or install a newer driver.";
  } else {
    if (const auto least = least_driver_of_cuda({{newest.release.major, newest.release.minor}}))
      match.cure = fmt::format(
          "Install driver {} or newer{}; or on a data-centre GPU the package cuda-compat-{}-{}, "
          "with its directory first in LD_LIBRARY_PATH; or use an older toolkit.",
          *least, in_container(machine) ? " on the host" : "", newest.release.major,
          newest.release.minor);
  }
  return {match};
}

}  // namespace

std::vector<Cause> toolkit_causes() {
  return {
      {.id = "toolkit-newer-than-driver",
       .severity = Severity::warning,
       .title = "The CUDA toolkit is newer than the driver",
       .explanation = "Programs built with it stop with CUDA error 35: the driver is too old for "
                      "their CUDA runtime.",
       .cure = "Install a newer driver, or use an older toolkit.",
       .action = Action::configure,
       .terms = kByReload,
       .explains = {"ptx-too-new"},
       .match = toolkit_newer},
      {.id = "cdi-of-another-driver",
       .severity = Severity::warning,
       .title = "A CDI specification was made for another driver",
       .explanation = "Containers that ask for GPUs by their CDI names are given the files that it "
                      "names: libraries that are gone, so they do not start, or of another version "
                      "than the kernel module.",
       .cure = "Generate it again after each change of the driver; from version 1.18 of the "
               "container toolkit on, nvidia-cdi-refresh.service does that. Kubernetes' device "
               "plugin writes its own when it starts.",
       .action = Action::configure,
       .terms = kAsRoot,
       .match = cdi_of_another_driver},
  };
}

}  // namespace gpuready::doctor
