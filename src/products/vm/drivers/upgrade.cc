#include "vm/drivers/upgrade.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "base/text.h"
#include "jobs/job.h"
#include "machine/pci/pci_files.h"
#include "value/vendors.h"
#include "vm/device.h"
#include "vm/drivers/catalogue.h"

namespace gpuready::vm {
namespace {

using Names = std::set<std::string>;

// A file's path with the word VERSION where the driver's own version stands: what two drivers have
// in common is then called the same.
std::string without_version(std::string path, const std::string& version) {
  for (auto at = path.find(version); !version.empty() && at != path.npos; at = path.find(version))
    path.replace(at, version.size(), "VERSION");
  return path;
}

Names paths_of(const DriverBundle& bundle) {
  Names out;
  for (const auto& file : bundle.files)
    out.insert(without_version(file.path, bundle.driver_version));
  return out;
}

// Names by which programs load its libraries.
Names libraries_of(const DriverBundle& bundle) {
  Names out;
  for (const auto& file : bundle.files) {
    if (file.kind != DriverFileKind::library) continue;
    if (!file.soname.empty()) out.insert(without_version(file.soname, bundle.driver_version));
    out.insert(file.links.begin(), file.links.end());
  }
  return out;
}

std::vector<std::string> only_in(const Names& these, const Names& not_those) {
  std::vector<std::string> out;
  std::ranges::set_difference(these, not_those, std::back_inserter(out));
  return out;
}

std::int64_t bytes_of(const DriverBundle& bundle) {
  std::int64_t sum = 0;
  for (const auto& file : bundle.files) sum += static_cast<std::int64_t>(file.size_bytes);
  return sum;
}

BundleTest verdict(std::string name, const std::vector<std::string>& problems, std::string good) {
  if (problems.empty()) return {std::move(name), TestResult::passed, std::move(good)};
  constexpr std::size_t kShown = 5;
  auto text = fmt::format(
      "{}",
      fmt::join(problems.begin(),
                problems.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, problems.size())),
                "; "));
  if (problems.size() > kShown) text += fmt::format("; and {} more", problems.size() - kShown);
  return {std::move(name), TestResult::failed, std::move(text)};
}

// A name in the folder: of a bundle that is there, or of a new one.
Result<void> check_bundle_name(const std::string& name, const char* option) {
  if (is_plain_name(name) && !name.starts_with(".") && name != kCurrent) return {};
  return fail(
      ErrorKind::bad_input,
      fmt::format("{} {}: expected the name of a bundle in the folder", option, printable(name)));
}

}  // namespace

Result<void> check_upgrade(const std::vector<std::string>& from,
                           const std::optional<std::string>& name,
                           const std::optional<std::string>& to) {
  if (to.has_value() == !from.empty())
    return fail(
        ErrorKind::bad_input,
        "name either the sources of the new bundle (FROM), or with --to an existing bundle");
  if (name) TRY(check_bundle_name(*name, "--name"));
  return to ? check_bundle_name(*to, "--to") : Result<void>{};
}

Result<std::unique_ptr<Storage::Lock>> lock_bundles(Storage& storage, const std::string& folder) {
  auto lock = storage.lock(folder + "/.lock");
  if (!lock && lock.error().kind == ErrorKind::not_found)
    return fail(ErrorKind::not_found, folder + ": this folder of bundles does not exist");
  if (!lock && lock.error().kind == ErrorKind::busy)
    return fail(ErrorKind::busy, folder + ": another upgrade of it runs now");
  return lock;
}

std::vector<std::pair<std::uint16_t, std::uint16_t>> nvidia_gpus(Host& host) {
  std::vector<std::pair<std::uint16_t, std::uint16_t>> ids;
  const auto names = host.list_directory("/sys/bus/pci/devices");
  for (const auto& name : names.value_or(std::vector<std::string>{})) {
    const auto address = parse_pci_address(name);
    const auto function = address ? read_pci_function(host, *address)
                                  : Result<PciFunction>(fail(ErrorKind::not_found, name));
    if (function && function->vendor_id == pci_vendor::kNvidia && has_memory(*function))
      ids.emplace_back(function->vendor_id, function->device_id);
  }
  return ids;
}

BundleDiff compare_bundles(const DriverBundle& from, const DriverBundle& to) {
  const Names old_kernels(from.kernel_releases.begin(), from.kernel_releases.end());
  const Names new_kernels(to.kernel_releases.begin(), to.kernel_releases.end());
  return {.from = from.driver_version,
          .to = to.driver_version,
          .added = only_in(paths_of(to), paths_of(from)),
          .removed = only_in(paths_of(from), paths_of(to)),
          .lost_libraries = only_in(libraries_of(from), libraries_of(to)),
          .new_kernels = only_in(new_kernels, old_kernels),
          .lost_kernels = only_in(old_kernels, new_kernels),
          .from_cuda = std::string(native_cuda(from.driver_version)),
          .to_cuda = std::string(native_cuda(to.driver_version)),
          .from_open = from.open_modules,
          .to_open = to.open_modules,
          .more_bytes = bytes_of(to) - bytes_of(from)};
}

std::vector<BundleTest> test_bundle(Host& host, const BundleEntry& entry) {
  const auto& bundle = entry.bundle;
  const auto libraries = libraries_of(bundle);
  std::vector<std::string> missing;
  for (const char* name : {"libcuda.so.1", "libnvidia-ml.so.1", "libnvidia-ptxjitcompiler.so.1"})
    if (!libraries.contains(name)) missing.push_back(std::string(name) + " is missing");
  return {
      verdict("parts", inconsistencies(bundle), "Modules, firmware and libraries fit together."),
      verdict("files", verify_bundle(host, entry.folder, bundle),
              fmt::format("{} files have the bytes that were collected.", bundle.files.size())),
      verdict("libraries", missing, "What compute and utility load is there.")};
}

BundleTest test_gpus(const DriverBundle& bundle,
                     const std::vector<std::pair<std::uint16_t, std::uint16_t>>& gpus) {
  std::vector<std::string> problems, unknown;
  for (const auto& [vendor, device] : gpus) {
    const auto support = gpu_support(bundle.driver_version, vendor, device, bundle.supported_gpus);
    if (!support.served)
      unknown.push_back(support.explanation);
    else if (!*support.served)
      problems.push_back(support.explanation);
  }
  if (gpus.empty())
    return {"GPUs", TestResult::not_tested, "No NVIDIA GPU is here to compare it with."};
  if (problems.empty() && !unknown.empty())
    return {"GPUs", TestResult::not_tested, unknown.front()};
  return verdict("GPUs", problems,
                 fmt::format("It serves the {} NVIDIA GPUs of this machine.", gpus.size()));
}

std::vector<BundleTest> test_diff(const BundleDiff& diff) {
  std::vector<std::string> libraries, kernels;
  for (const auto& name : diff.lost_libraries) libraries.push_back(name + " is no longer there");
  for (const auto& release : diff.lost_kernels)
    kernels.push_back("no modules for kernel " + release + ", for which the current one has them");
  std::vector<BundleTest> tests = {
      verdict("names", libraries, "Every library of the current bundle has its successor."),
      verdict("kernels", kernels, "It has modules for every kernel of the current bundle.")};
  const auto from = parse_version(diff.from_cuda), to = parse_version(diff.to_cuda);
  if (!from || !to) {
    tests.push_back({"CUDA", TestResult::not_tested,
                     fmt::format("The catalogue does not know which CUDA driver {} implements.",
                                 from ? diff.to : diff.from)});
  } else {
    std::vector<std::string> older;
    if (*to < *from)
      older.push_back(fmt::format("it implements CUDA {}, and guests have {} now", diff.to_cuda,
                                  diff.from_cuda));
    tests.push_back(verdict(
        "CUDA", older,
        fmt::format("It implements CUDA {}; the current one {}.", diff.to_cuda, diff.from_cuda)));
  }
  return tests;
}

BundleTest test_by_command(Host& host, const std::string& program, const std::string& bundle,
                           std::chrono::milliseconds deadline) {
  const Job job{.program = program,
                .args = {bundle},
                .env = {},
                .input = {},
                .limits = {.time = deadline},
                .memory = {}};
  const auto outcome = host.run(job);
  if (!outcome)
    return {"command", TestResult::failed,
            fmt::format("{}: {}", printable(program), outcome.error().message)};
  if (outcome->end == JobEnd::exited && outcome->exit_code == 0)
    return {"command", TestResult::passed, printable(program) + " ended with 0."};
  const auto said = lines(trim(outcome->err.empty() ? outcome->out : outcome->err));
  return {
      "command", TestResult::failed,
      fmt::format("{}: {}{}", printable(program),
                  outcome->end == JobEnd::exited ? fmt::format("exit code {}", outcome->exit_code)
                                                 : std::string(to_string(outcome->end)),
                  said.empty() ? "" : ": " + printable(said.back()))};
}

Result<void> switch_bundle(Storage& storage, const std::string& folder, const std::string& name) {
  const auto next = folder + "/.next", current = fmt::format("{}/{}", folder, kCurrent);
  // One that a process left when it was killed.
  if (const auto removed = storage.unlink(next); !removed && removed.error().code != ENOENT)
    return removed;
  TRY(storage.symlink(name, next));
  if (const auto renamed = storage.rename(next, current, OnExisting::replace); !renamed) {
    static_cast<void>(storage.unlink(next));
    return renamed;
  }
  return storage.sync_folder(folder);
}

}  // namespace gpuready::vm
