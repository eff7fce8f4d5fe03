#include "vm/clean/test_in_guest.h"

#include <fmt/format.h>
#include <link.h>

#include <algorithm>

#include "base/paths.h"
#include "base/text.h"
#include "base/units.h"
#include "jobs/helper.h"
#include "jobs/trusted_path.h"
#include "vm/drivers/open_bundle.h"
#include "vm/initrd/initrd.h"

namespace gpuready::vm {
namespace {

// What the driver and the test use. The initrd counts three times: packed, unpacked, and because
// its filesystem takes at most half of the memory.
constexpr std::uint64_t kGuestBytes = 4 * GiB;
constexpr std::uint64_t kInitrdTimes = 3;
constexpr const char* kRoot = "clean";  // a folder of the initrd
// On a port of its own, so that no line of the kernel gets into it.
constexpr const char* kReportPort = "/dev/ttyS1";

// What this process has loaded, by the names of its loader: gpuready needs nothing else.
std::vector<std::string> own_libraries() {
  std::vector<std::string> paths;
  ::dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* to) {
        if (object->dlpi_name != nullptr && object->dlpi_name[0] == '/')
          static_cast<std::vector<std::string>*>(to)->emplace_back(object->dlpi_name);
        return 0;
      },
      &paths);
  return paths;
}

InitrdOptions initrd_options(Host& host, const std::string& bundle, const std::string& release) {
  const auto program = helper_job({}).program;
  const auto real = host.real_path(program).value_or(program);
  InitrdOptions options{.bundle = bundle,
                        .guest = guest_beside(real),
                        .gpuready = real,
                        .kernel_release = release,
                        .capabilities = {Capability::compute, Capability::utility},
                        .verify = true};
  options.extra[fmt::format("{}/tmp", kRoot)] = "";
  for (const auto& library : own_libraries()) {
    options.extra[kRoot + library] = library;
    // Of glibc, and NVIDIA's libraries load it.
    const auto rt = gpuready::folder_of(library) + "/librt.so.1";
    if (base_name(library) == "libc.so.6" && host.exists(rt)) options.extra[kRoot + rt] = rt;
  }
  return options;
}

// QEMU and write_initrd() open again what was checked.
Result<void> check_that_it_stays(Host& host, const std::string& path) {
  if (host.kind() != HostKind::live) return {};
  const auto ours = check_only_ours(path);
  if (ours) return {};
  return fail(ours.error().kind, ours.error().message + ", so no guest is started from it");
}

}  // namespace

std::string console_of(const GuestTest& test) {
  return fmt::format("{}/{}.console", test.folder, test.device.text());
}

Result<GuestKernel> guest_kernel(Host& host, const std::string& bundle) {
  auto releases = TRY(open_bundle(host, bundle)).kernel_releases;
  TRY(check_that_it_stays(host, bundle));
  const auto running = TRY(host.identity()).kernel_release;
  std::ranges::stable_partition(releases, [&](const auto& release) { return release == running; });
  for (const auto& release : releases)
    for (const auto& path : {bundle + "/vmlinuz-" + release, "/boot/vmlinuz-" + release,
                             "/lib/modules/" + release + "/vmlinuz"})
      if (host.exists(path)) {
        TRY(check_that_it_stays(host, path));
        return GuestKernel{release, path};
      }
  if (releases.empty())
    return fail(
        ErrorKind::bad_input,
        printable(bundle) + ": it has no kernel modules; collect it with those of a kernel");
  return fail(ErrorKind::not_found,
              fmt::format("{}: no kernel for its modules; put it there as vmlinuz-{}",
                          printable(bundle), printable(releases.front())));
}

std::vector<std::string> guest_words(const GuestTest& test, const std::string& kernel,
                                     const std::string& initrd, std::uint64_t initrd_bytes) {
  const auto memory_mib = (kGuestBytes + kInitrdTimes * initrd_bytes) / MiB;
  // A GPU whose peers are missing runs without NVLink only. A changed option ROM is not run.
  const auto words = fmt::format(
      "console=ttyS0 panic=-1 HAS_GPU=1 gpuready.check=0 gpuready.root=/{} "
      "gpuready.after=poweroff nvidia.NVreg_NvLinkDisable=1 -- /usr/lib/nvidia/bin/gpuready "
      "check --level standard --json={} --quiet",
      kRoot, kReportPort);
  return {"-nodefaults",
          "-no-user-config",
          "-no-reboot",
          "-machine",
          "q35,accel=kvm",
          "-cpu",
          "host",
          "-smp",
          "4",
          "-m",
          std::to_string(memory_mib),
          "-display",
          "none",
          "-serial",
          "file:" + console_of(test),
          "-serial",
          "stdio",
          "-kernel",
          kernel,
          "-initrd",
          initrd,
          "-append",
          words,
          "-device",
          "pcie-root-port,id=port,chassis=1,slot=1",
          "-device",
          fmt::format("vfio-pci,host={},bus=port,addr=00.0,rombar=0", test.device.text())};
}

Result<Json> test_in_guest(Host& host, Storage& storage, const GuestTest& test) {
  const auto kernel = TRY(guest_kernel(host, test.bundle));
  const auto initrd = test.folder + "/clean.img";
  const auto made =
      TRY(write_initrd(initrd_options(host, test.bundle, kernel.release), initrd, host, storage));
  const Job job{.program = "qemu-system-x86_64",
                .args = guest_words(test, kernel.path, initrd, made.written_bytes),
                .env = {},
                .input = {},
                .limits = {.time = test.deadline},
                .memory = {}};
  const auto outcome = TRY(host.run(job));
  const Json report = Json::parse(outcome.out, nullptr, false);
  if (outcome.end == JobEnd::exited && report.is_object()) return report;
  const auto said = lines(outcome.err);
  return fail(ErrorKind::unsupported,
              fmt::format("the guest that tests it {}{}; gpuready vm doctor --console {} names the "
                          "cause",
                          outcome.end == JobEnd::exited
                              ? "returned no report"
                              : "was stopped: " + std::string(to_string(outcome.end)),
                          said.empty() ? "" : ": " + printable(said.front()), console_of(test)));
}

}  // namespace gpuready::vm
