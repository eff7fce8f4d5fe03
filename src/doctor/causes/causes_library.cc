// NVIDIA's user space against its kernel module: versions, stubs, shadows, missing parts.
// CUDA driver codes: cuda.h (34 stub library, 209 no binary, 221 JIT compiler not found, 222
// unsupported PTX version, 803 system driver mismatch, 804 compat not supported on device).
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/vendor_codes.h"
#include "doctor/commands.h"
#include "doctor/facts.h"
#include "machine/gpu_use.h"
#include "machine/nvidia/architectures.h"

namespace gpuready::doctor {
namespace {

Match all_nvidia(const Facts& facts) { return about_all(facts.machine, Vendor::nvidia); }

void add_library(const Machine& machine, Match& match) {
  if (const auto path = cuda_library_path(machine))
    match.evidence.push_back(evidence("libcuda.so.1", "-> " + *path));
}

bool nvidia_here(const Machine& machine) {
  return any_gpu(machine, Vendor::nvidia) || machine.nvidia.module_loaded || machine.system.wsl2;
}

bool in_compat(const Machine& machine) {
  return contains(cuda_library_path(machine).value_or(""), "/compat/");
}

// Where the system's own copy fits the module, and another installation's copy is found before it.
void explain_other_copy(const Machine& machine, Match& match) {
  const auto& nvidia = machine.nvidia;
  const auto own = std::ranges::find_if(nvidia.libraries, [&](const LibraryFile& file) {
    const auto* first = library(machine, file.name);
    return nvidia.module_version && file.version == nvidia.module_version && first != &file &&
           first->version != file.version;
  });
  if (own == nvidia.libraries.end()) return;
  const auto& path = library(machine, own->name)->path;
  if (path.starts_with("/usr/lib") || path.starts_with("/lib")) return;  // an update of the system
  const std::string nix = path.starts_with("/nix/var/nix/profiles/default/")
                              ? "nix-env -p /nix/var/nix/profiles/default --uninstall nvidia-x11"
                          : contains(path, "/.nix-profile/") ? "nix-env --uninstall nvidia-x11"
                                                             : "";
  match.evidence.push_back(evidence("the system's own " + own->name, own->path));
  match.explanation =
      "The system's own libraries fit the kernel module, and programs find those of another "
      "installation first.";
  match.cure = fmt::format(
      "Remove the installation that {} belongs to{}. Take its folder out of LD_LIBRARY_PATH (unset "
      "it), and out of /etc/ld.so.conf.d, then run ldconfig. The kernel module is the right one, "
      "so neither a reboot nor a reload helps.",
      quote(path), nix.empty() ? "" : " from the Nix profile (" + nix + ")");
  match.command = nix.empty() ? "unset LD_LIBRARY_PATH" : nix;
  match.action = Action::configure;
  match.terms = kAsRoot;
  match.own_cure = true;
}

std::vector<Match> mismatch(const Facts& facts) {
  const auto& nvidia = facts.machine.nvidia;
  Match match = all_nvidia(facts);
  if (const auto* status = failed_start(nvidia.nvml_start, {18}))
    match.evidence.push_back(evidence(*status));
  if (const auto* status = failed_start(nvidia.cuda_start, {803});
      status && !in_compat(facts.machine))
    match.evidence.push_back(evidence(*status));
  const bool starts = nvidia.nvml_start && nvidia.nvml_start->ok();
  // Without a driver's word: the versions themselves. A forward-compatible libcuda is meant to
  // differ.
  std::optional<std::string> user;
  for (const auto& file : nvidia.libraries) {
    if (file.name != "libcuda.so.1" && file.name != "libnvidia-ml.so.1") continue;
    const auto path = file.real_path.value_or(file.path);
    if (!file.version || contains(path, "/compat/") || contains(path, "/stubs/")) continue;
    if (!nvidia.module_version || *file.version == *nvidia.module_version) continue;
    if (!parse_version(*file.version) || facts.machine.system.wsl2) continue;
    if (!user) user = file.version;
    if (starts && match.evidence.empty()) continue;  // it works: another copy was loaded
    match.evidence.push_back(evidence(file.name, "-> " + path));
  }
  if (match.evidence.empty()) return {};
  if (!starts)  // the driver's own word, which proves nothing alone
    for (const auto& hit : log_hits(facts.machine, {"NVRM: API mismatch: "}))
      if (match.evidence.size() < 4) match.evidence.push_back(evidence("kernel log", hit.text));
  if (nvidia.module_version) {
    match.evidence.push_back(evidence("/proc/driver/nvidia/version", *nvidia.module_version));
    if (user)
      match.title = fmt::format("The kernel module is {}, the libraries are {}",
                                printable(*nvidia.module_version), printable(*user));
  }
  explain_other_copy(facts.machine, match);
  if (in_container(facts.machine)) cure_in_container(match, facts.machine, Ask::nvidia_libraries);
  return {match};
}

std::vector<Match> compat(const Facts& facts) {
  const auto* status = failed_start(facts.machine.nvidia.cuda_start, {803, 804});
  const bool older = status && status->code == 803;
  if (!status || (older && !in_compat(facts.machine))) return {};
  Match match = all_nvidia(facts);
  if (in_container(facts.machine)) {
    match.command = "";
    match.terms = kAtLaunch;
    if (!older)
      match.cure =
          "Take the compat directory out of LD_LIBRARY_PATH, or use an image of an older CUDA; or "
          "have the host's driver upgraded.";
  }
  if (older) {
    match.title = "The forward-compatible libcuda does not fit the driver";
    match.explanation =
        "The cuda-compat package's libcuda is in use, and it is older than the driver or of a "
        "branch that does not work with it. The driver brings its own.";
    match.cure = "Take the compat directory out of the library path.";
  }
  match.evidence.push_back(evidence(*status));
  add_library(facts.machine, match);
  return {match};
}

std::vector<Match> stub(const Facts& facts) {
  const auto path = cuda_library_path(facts.machine);
  const bool in_stubs = path && contains(*path, "/stubs/");
  const auto* status = failed_start(facts.machine.nvidia.cuda_start, {34});
  if (!status && !in_stubs) return {};
  Match match = all_nvidia(facts);
  if (status) match.evidence.push_back(evidence(*status));
  add_library(facts.machine, match);
  if (!any_gpu(facts.machine, Vendor::nvidia)) match.severity = Severity::info;
  return {match};
}

std::vector<Match> wsl_shadow(const Facts& facts) {
  if (!facts.machine.system.wsl2) return {};
  const auto path = cuda_library_path(facts.machine);
  if (!path || path->starts_with("/usr/lib/wsl/")) return {};
  Match match = all_nvidia(facts);
  match.evidence.push_back(evidence("libcuda.so.1", "-> " + *path));
  if (const auto& status = facts.machine.nvidia.cuda_start; status && !status->ok())
    match.evidence.push_back(evidence(*status));
  return {match};
}

// Windows hands in no GPU. Whether one is wanted, what was installed says. Versions: "Enable NVIDIA
// CUDA on WSL" of Microsoft's documentation.
std::vector<Match> wsl_without_gpu(const Facts& facts) {
  const auto& machine = facts.machine;
  if (!machine.gpus.empty()) return {};
  const bool asked =
      !machine.nvidia.libraries.empty() || !machine.toolkits.empty() || machine.amd.rocm_version;
  Match match;
  if (in_container(machine)) {
    if (!asked) return {};
    match.title = "The container was given no GPU";
    match.explanation =
        "WSL 2 hands its GPU in as /dev/dxg, if there is one, and the container lacks it.";
    // An image with a toolkit may do work for the processor.
    const auto wanted = machine.visibility.nvidia_visible_devices.value_or("void");
    if (wanted.empty() || wanted == "void" || wanted == "none") match.severity = Severity::warning;
    match.evidence.push_back(evidence("/dev/dxg", "no such device node"));
    cure_in_container(match, machine, Ask::nvidia_gpus);
    return {match};
  }
  if (!asked) match.severity = Severity::info;
  match.title = "Windows hands no GPU to WSL 2";
  match.explanation =
      "WSL 2 gets a GPU as /dev/dxg, from Windows 11 or Windows 10 21H2 on, if a driver for it is "
      "installed in Windows.";
  match.cure =
      "With a GPU in the machine: update Windows, install its vendor's newest driver there (and "
      "none in this distribution), run wsl --update and wsl --shutdown, and start again.";
  if (const auto& folders = machine.system.wsl_drivers; !folders.empty()) {
    match.title = "Windows hands in a GPU's driver, and no GPU reaches WSL 2";
    match.explanation =
        "The driver's libraries are there, and /dev/dxg is not: this kernel lacks dxgkrnl, or "
        "gpuSupport is off.";
    match.cure =
        "Take gpuSupport=false and a kernel of your own out of .wslconfig in Windows, run wsl "
        "--update and wsl --shutdown, and start again.";
    match.evidence.push_back(evidence("/usr/lib/wsl/drivers", folders.front()));
  }
  match.evidence.push_back(evidence("/dev/dxg", "no such device node"));
  match.evidence.push_back(evidence("kernel release", machine.system.kernel_release));
  return {match};
}

// Windows hands its GPUs in as /dev/dxg, and with them the folders of its drivers. Those of other
// vendors have no CUDA, and need none.
std::vector<Match> wsl_driver_missing(const Facts& facts) {
  const auto& machine = facts.machine;
  const auto* dxg = node(machine, "/dev/dxg");
  if (!machine.system.wsl2 || cuda_library_path(machine)) return {};
  if (!dxg || !dxg->exists) return wsl_without_gpu(facts);
  const auto& folders = machine.system.wsl_drivers;
  const auto nvidias = std::find_if(folders.begin(), folders.end(), [](const std::string& folder) {
    return folder.starts_with("nv");
  });
  Match match = all_nvidia(facts);
  match.evidence.push_back(evidence("/dev/dxg", "Windows hands in a GPU"));
  if (!folders.empty() && nvidias == folders.end()) {
    if (machine.amd.start) return {};  // asked through ROCm
    match.severity = Severity::info;
    match.title = "Windows hands in a GPU, and no driver of NVIDIA's";
    match.explanation = "CUDA needs NVIDIA's driver for Windows; the GPU here is another vendor's.";
    match.cure = "With an NVIDIA GPU: install NVIDIA's driver in Windows.";
    match.command = "";
  }
  match.evidence.push_back(evidence("/usr/lib/wsl/lib/libcuda.so.1", "no such file"));
  match.evidence.push_back(evidence("/usr/lib/wsl/drivers", folders.empty() ? "missing or empty"
                                                            : nvidias == folders.end()
                                                                ? folders.front()
                                                                : *nvidias));
  return {match};
}

std::vector<Match> nvml_missing(const Facts& facts) {
  const auto& machine = facts.machine;
  if (!machine.nvidia.module_loaded || !any_gpu(machine, Vendor::nvidia)) return {};
  if (machine.nvidia.nvml_outcome != "no_library" || machine.system.jetson_release) return {};
  const bool given_others = std::ranges::all_of(machine.gpus, [&](const Gpu& gpu) {
    return gpu.vendor != Vendor::nvidia || not_given(machine, gpu);
  });
  if (given_others && !machine.gpus.empty()) return {};
  Match match = all_nvidia(facts);
  if (const auto* inner = in_driver_container(machine)) {
    match.severity = Severity::info;
    match.title = "The driver's libraries are in the driver's container";
    match.explanation =
        "NVIDIA's GPU operator runs the driver in a container. Pods get its libraries; programs of "
        "the host itself do not.";
    match.cure = "To look at the GPUs from the host, use the container's own tools.";
    match.command = "chroot /run/nvidia/driver nvidia-smi";
    match.evidence.push_back(evidence("libnvidia-ml.so.1", "-> " + inner->path));
    return {match};
  }
  match.evidence.push_back(evidence("libnvidia-ml.so.1", "the loader finds no such library"));
  if (in_container(machine)) cure_in_container(match, machine, Ask::nvidia_gpus);
  return {match};
}

std::vector<Match> cuda_missing(const Facts& facts) {
  const auto& machine = facts.machine;
  const auto& nvidia = machine.nvidia;
  if (nvidia.cuda_outcome != "no_library" || !nvidia_here(machine)) return {};
  const bool jetson = machine.system.jetson_release.has_value();
  if (nvidia.nvml_outcome == "no_library" && !jetson) return {};  // nor the rest of the user space
  if (std::ranges::any_of(machine.gpus, is_shared_out)) return {};
  Match match = all_nvidia(facts);
  match.evidence.push_back(evidence("libcuda.so.1", "the loader finds no such library"));
  const auto& capabilities = machine.visibility.nvidia_driver_capabilities;
  if (capabilities)
    match.evidence.push_back(
        evidence("environment", "NVIDIA_DRIVER_CAPABILITIES=" + *capabilities));
  if (in_container(machine))
    cure_in_container(match, machine, jetson ? Ask::tegra_gpu : Ask::nvidia_compute);
  if (in_container(machine) || capabilities) return {match};
  match.title = "The CUDA driver's library is not installed";
  match.explanation = "The kernel module and NVML are here, and libcuda.so.1 is not.";
  match.cure = "Install the package of the driver's CUDA library, in the module's version.";
  match.command = "{do:install-libcuda}";
  match.terms = kAsRoot;
  if (!jetson) return {match};
  match.explanation = "The Jetson's GPU has its driver, and libcuda.so.1 is not here.";
  match.cure = "Install the package nvidia-l4t-cuda of this board's release of Jetson Linux.";
  match.command = "{do:install-tegra-cuda}";
  if (const auto* file = library(machine, "libcuda.so.1.1")) {
    match.title = "The loader does not find the Jetson's CUDA library";
    match.explanation =
        "libcuda.so.1.1 is installed, in a folder that no file of /etc/ld.so.conf.d names. So "
        "neither programs nor NVIDIA's container runtime find libcuda.so.1.";
    match.cure =
        "Name this folder in a file of /etc/ld.so.conf.d, and run ldconfig, which also creates the "
        "link libcuda.so.1 (check: ldconfig -p). The package nvidia-l4t-init brings such a file.";
    // Jetson Linux' folders: another one comes from the machine, and may say anything.
    constexpr std::string_view kFolders[] = {"/usr/lib/aarch64-linux-gnu/tegra",
                                             "/usr/lib/aarch64-linux-gnu/nvidia"};
    const auto* folder = std::ranges::find(kFolders, file->path.substr(0, file->path.rfind('/')));
    match.command =
        folder == std::end(kFolders)
            ? ""
            : fmt::format("echo {} > /etc/ld.so.conf.d/nvidia-tegra.conf && ldconfig", *folder);
    match.evidence.push_back(evidence("libcuda.so.1.1", file->path));
  }
  return {match};
}

// Codes that a program's load of device code met; a worker's or a probe's.
std::vector<Match> load_failed(const Facts& facts, int code) {
  std::vector<Match> matches;
  for (const auto& gpu : facts.machine.gpus)
    if (const auto* status = failed_call(gpu, "cu", code)) {
      Match match = about(gpu);
      match.evidence.push_back(evidence(*status));
      if (const auto& version = facts.machine.nvidia.cuda_version;
          version && code == cuda_code::kUnsupportedPtxVersion) {
        match.evidence.push_back(evidence("cuDriverGetVersion()", "CUDA " + *version));
        match.cure = fmt::format(
            "Install a newer driver{}: this one compiles PTX of CUDA {} and older. Or build the "
            "program with such a CUDA, or with code for exactly this GPU (-arch=sm_XX), which "
            "needs no PTX.",
            in_container(facts.machine) ? " on the host" : "", printable(*version));
      }
      if (gpu.compute_capability && code == cuda_code::kNoBinaryForGpu) {
        match.evidence.push_back(
            evidence("cuDeviceGetAttribute()", "compute capability " + *gpu.compute_capability));
        if (const auto* kind = find_nvidia_architecture(*gpu.compute_capability))
          match.cure = fmt::format(
              "Install a build of the package for this GPU ({}, compute capability {}.{}), which "
              "CUDA from {} {} can make; or build it for that.",
              kind->name, kind->major, kind->minor, kind->first_cuda,
              kind->last_cuda.empty() ? "on" : fmt::format("to {}", kind->last_cuda));
      }
      matches.push_back(std::move(match));
    }
  return matches;
}

std::vector<Match> ptx_too_new(const Facts& facts) { return load_failed(facts, 222); }
std::vector<Match> no_code(const Facts& facts) { return load_failed(facts, 209); }

std::vector<Match> jit_missing(const Facts& facts) {
  const auto& machine = facts.machine;
  auto matches = load_failed(facts, 221);
  const auto path = cuda_library_path(machine);
  // Jetson builds the compiler into libcuda's own directory under other names.
  if (!path || machine.system.jetson_release || contains(*path, "/stubs/") ||
      !any_gpu(machine, Vendor::nvidia) || in_driver_container(machine) ||
      library(machine, "libnvidia-ptxjitcompiler.so.1"))
    return matches;
  if (!matches.empty()) {
    matches.front().evidence.push_back(
        evidence("libnvidia-ptxjitcompiler.so.1", "the loader finds no such library"));
    return matches;
  }
  if (!library(machine, "libcuda.so.1")) return matches;
  Match match = all_nvidia(facts);
  match.severity = Severity::warning;
  match.evidence.push_back(
      evidence("libnvidia-ptxjitcompiler.so.1", "the loader finds no such library"));
  add_library(machine, match);
  if (in_container(machine)) cure_in_container(match, machine, Ask::nvidia_compute);
  return {match};
}

}  // namespace

std::vector<Cause> library_causes() {
  const std::vector<std::string_view> kStarts = {"nvml-start-failed", "cuda-start-failed",
                                                 "gpu-not-listed", "expected-gpu-count"};
  return {
      {.id = "wsl-shadow-driver",
       .title = "A Linux driver shadows the one of WSL",
       .explanation = "Under WSL 2 the driver's libraries come from Windows, under "
                      "/usr/lib/wsl/lib; another libcuda.so.1 is found first.",
       .cure = "Remove the Linux driver's packages from this distribution; only the toolkit "
               "belongs here.",
       .command = "{do:remove-linux-driver}",
       .action = Action::configure,
       .terms = kAsRoot,
       .explains = {"nvml-start-failed", "cuda-start-failed", "driver-library-mismatch",
                    "ptx-jit-missing", "expected-gpu-count"},
       .match = wsl_shadow},
      {.id = "wsl-driver-missing",
       .title = "Windows hands in a GPU without its driver's libraries",
       .explanation = "WSL 2 has /dev/dxg, and the libraries that Windows' driver brings along are "
                      "not here.",
       .cure =
           "Install NVIDIA's newest driver in Windows, run wsl --update and wsl --shutdown, and "
           "start again; /usr/lib/wsl must be mounted.",
       .command = "wsl.exe --update && wsl.exe --shutdown",
       .action = Action::ask_host,
       .terms = kInWindows,
       .own_cure = true,
       .explains = {"nvml-library-missing", "cuda-library-missing", "nvml-start-failed",
                    "cuda-start-failed", "expected-gpu-count"},
       .match = wsl_driver_missing},
      {.id = "stub-library",
       .title = "A stub replaces libcuda.so.1",
       .explanation = "The loader finds the toolkit's stub library, meant only for linking, before "
                      "the driver's own.",
       .cure = "Take the stubs directory out of LD_LIBRARY_PATH and of /etc/ld.so.conf.d, and run "
               "ldconfig. For linking, name it with -L only.",
       .command = "unset LD_LIBRARY_PATH",
       .action = Action::configure,
       .terms = kAsUser,
       .explains = {"cuda-start-failed", "driver-library-mismatch", "ptx-jit-missing",
                    "expected-gpu-count"},
       .match = stub},
      {.id = "compat-library-unsupported",
       .title = "The forward-compatible libcuda does not support this GPU",
       .explanation = "A libcuda newer than the kernel module is in use (the cuda-compat package), "
                      "which works on data-centre GPUs only, and for certain branches.",
       .cure = "Take the compat directory out of the library path, or upgrade the driver.",
       .command = "{do:remove-cuda-compat}",
       .action = Action::configure,
       .terms = kAsRoot,
       .explains = {"cuda-start-failed", "expected-gpu-count"},
       .match = compat},
      {.id = "driver-library-mismatch",
       .title = "The driver's libraries and its kernel module differ in version",
       .explanation = "The driver was updated while the old kernel module was still loaded, or two "
                      "installations are mixed.",
       .cure =
           "Stop what holds the GPUs (lsof /dev/nvidia* lists it) and reload the kernel module, or "
           "reboot. If the versions still differ, the module was not rebuilt, or the initramfs has "
           "the old one: reinstall the driver's kernel module, and rebuild the initramfs. Keep the "
           "driver's packages from automatic updates.",
       .command = "rmmod nvidia_uvm nvidia_drm nvidia_modeset nvidia && modprobe nvidia",
       .action = Action::reload_driver,
       // Of an update that was done in part the firmware lacks, too.
       .explains = both(kStarts, {"gsp-failed"}),
       .match = mismatch},
      {.id = "nvml-library-missing",
       .title = "The driver's libraries are not here",
       .explanation = "NVIDIA's kernel module is loaded, and libnvidia-ml.so.1 is not found: its "
                      "user space is not installed.",
       .cure = "Install the user-space part of the driver, in the kernel module's version.",
       .action = Action::configure,
       .terms = kAsRoot,
       .explains = {"cuda-library-missing", "nvml-start-failed", "cuda-start-failed",
                    "expected-gpu-count"},
       .match = nvml_missing},
      {.id = "cuda-library-missing",
       .title = "The container was given no CUDA driver library",
       .explanation = "NVML is here and libcuda.so.1 is not: the container was started without the "
                      "compute capability.",
       .cure = "Start the container with NVIDIA_DRIVER_CAPABILITIES=compute,utility.",
       .action = Action::configure,
       .terms = kAtLaunch,
       .explains = {"cuda-start-failed", "ptx-jit-missing", "expected-gpu-count"},
       .match = cuda_missing},
      {.id = "ptx-jit-missing",
       .title = "The driver's PTX compiler is missing",
       .explanation = "Programs that carry PTX, and not code for exactly this GPU, cannot be "
                      "loaded without libnvidia-ptxjitcompiler.so.1.",
       .cure = "Install it with the driver's other libraries, or let the container toolkit inject "
               "it (compute capability).",
       .action = Action::configure,
       .terms = kAsRoot,
       .explains = {"gpu-call-failed"},
       .match = jit_missing},
      {.id = "ptx-too-new",
       .title = "PTX newer than the driver",
       .explanation = "A program's PTX is of a newer version than the driver's compiler knows.",
       .cure = "Install a newer driver, or build the program for an older PTX version.",
       .action = Action::configure,
       .terms = kByReload,
       .explains = {"gpu-call-failed"},
       .match = ptx_too_new},
      {.id = "no-code-for-architecture",
       .title = "A program has no code for this GPU's architecture",
       .explanation = "The program holds neither code for this compute capability nor PTX that "
                      "could be compiled for it.",
       .cure = "Install the build of the package that covers this GPU, or rebuild it for this "
               "architecture.",
       .action = Action::configure,
       .terms = kAsUser,
       .explains = {"gpu-call-failed"},
       .match = no_code},
  };
}

}  // namespace gpuready::doctor
