#include "vm/guest/boot.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include "base/descriptor.h"
#include "base/text.h"
#include "base/units.h"
#include "jobs/replace.h"
#include "jobs/running_job.h"
#include "vm/guest/inject.h"
#include "vm/guest/load_modules.h"
#include "vm/guest/nodes.h"
#include "vm/guest/volumes.h"

namespace gpuready::vm {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNewRoot = "/newroot";
constexpr const char* kKeptFirmware = "/run/gpuready/firmware";
constexpr auto kRootDeadline = std::chrono::seconds(20);

// A whole file of the kernel's, or nothing.
std::string slurp(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string out;
  char buffer[16 * KiB];
  while (file) {
    const auto size = ::read(file.get(), buffer, sizeof buffer);
    if (size <= 0) break;
    out.append(buffer, static_cast<std::size_t>(size));
  }
  return out;
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

std::string kernel_release() {
  utsname name{};
  return ::uname(&name) == 0 ? name.release : "";
}

bool mount_at(const char* what, const std::string& where, const char* type, unsigned long flags,
              const char* data, Steps& steps) {
  (void)::mkdir(where.c_str(), 0755);
  if (::mount(what, where.c_str(), type, flags, data) == 0 || errno == EBUSY) return true;
  steps.add(StepState::failed, "mount", where,
            fmt::format("{}: {}", type == nullptr ? what : type, std::strerror(errno)));
  return false;
}

bool mount_kernel(const std::string& root, Steps& steps) {
  bool all = mount_at("proc", root + "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "", steps);
  all &= mount_at("sysfs", root + "/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "", steps);
  all &= mount_at("devtmpfs", root + "/dev", "devtmpfs", MS_NOSUID, "mode=0755", steps);
  all &= mount_at("tmpfs", root + "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755", steps);
  return all;
}

void read_disk(GuestConfig& config, Steps& steps) {
  if (config.config_disk.empty()) return;
  const Descriptor disk(::open(config.config_disk.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text(64 * KiB, '\0');
  const auto size = disk ? ::read(disk.get(), text.data(), text.size()) : -1;
  if (size < 0) {
    steps.add(StepState::failed, "config", config.config_disk, std::strerror(errno));
    return;
  }
  text.resize(std::min(static_cast<std::size_t>(size), text.find('\0')));
  read_config(text, config);
  steps.add(StepState::ok, "config", config.config_disk, "read");
}

std::vector<std::string> disk_filesystems() {
  std::vector<std::string> types;
  const auto text = slurp("/proc/filesystems");
  for (const auto line : lines(text))
    if (!line.starts_with("nodev")) types.emplace_back(trim(line));
  return types;
}

// A disk, partition or logical volume by its name; a logical volume is mapped.
Result<std::string> root_device(const std::string& name) {
  const auto volume = TRY(find_volume(name));
  return volume.map ? map_device(*volume.map) : volume.path;
}

bool mount_root(const GuestConfig& config, Steps& steps) {
  (void)::mkdir(kNewRoot, 0755);
  if (!config.root_folder.empty()) {  // a folder of the initrd
    if (::mount(config.root_folder.c_str(), kNewRoot, nullptr, MS_BIND | MS_REC, nullptr) == 0) {
      steps.add(StepState::ok, "root", config.root_folder, "a folder of the initrd");
      return true;
    }
    steps.add(StepState::failed, "root", config.root_folder, std::strerror(errno));
    return false;
  }
  if (config.root.empty()) {
    steps.add(StepState::failed, "root", "-", "neither root= nor gpuready.root= is given");
    return false;
  }
  const unsigned long flags = config.read_only ? static_cast<unsigned long>(MS_RDONLY) : 0;
  const auto until = std::chrono::steady_clock::now() + kRootDeadline;
  std::string why;
  do {
    const auto device = root_device(config.root);
    if (!device) why = device.error().message;
    const auto types =
        config.root_type.empty() ? disk_filesystems() : std::vector<std::string>{config.root_type};
    for (const auto& type : device ? types : std::vector<std::string>()) {
      if (::mount(device->c_str(), kNewRoot, type.c_str(), flags, config.root_flags.c_str()) == 0) {
        steps.add(StepState::ok, "root", config.root,
                  (*device == config.root ? "" : *device + ", ") + "mounted as " + type);
        return true;
      }
      why = type + ": " + std::strerror(errno);
    }
    if (const auto what = device ? container_on(*device) : ""; !what.empty())
      why = fmt::format("{} is {}: {}", *device, what, kNeedsOwnInitrd);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // a disk that is not there yet
  } while (std::chrono::steady_clock::now() < until);
  steps.add(StepState::failed, "root", config.root, why);
  return false;
}

Result<DriverBundle> read_bundle(const std::string& folder) {
  const auto path = folder + "/" + std::string(kBundleFile);
  const auto text = slurp(path);
  if (text.empty()) return fail(ErrorKind::not_found, path + " is missing");
  return bundle_from_text(text, path);
}

Job job_in_root(const std::string& root, const std::string& program,
                std::vector<std::string> args) {
  Job job;
  job.program = "/proc/self/exe";
  job.args = {"__in-root", root, program};
  job.args.insert(job.args.end(), args.begin(), args.end());
  return job;
}

// Runs the command to its end with its output on our console; its exit code, 128 + the signal.
int run_to_end(const std::string& root, const std::vector<std::string>& command) {
  auto job = job_in_root(root, command[0], {command.begin() + 1, command.end()});
  job.limits = {std::nullopt, std::nullopt};
  auto running = RunningJob::start(job);
  if (!running) return 127;
  while (true) {
    poll_jobs({&*running}, Clock::now() + std::chrono::seconds(3600));
    for (const auto stream : {kOut, kErr}) {
      auto& text = running->text(stream);
      (void)!::write(stream == kOut ? STDOUT_FILENO : STDERR_FILENO, text.data(), text.size());
      text.clear();
    }
    if (running->finished()) break;
  }
  const auto& outcome = running->outcome();
  return outcome.end == JobEnd::exited ? outcome.exit_code : 128 + outcome.signal;
}

// The kernel looks for firmware in process 1's root, and a driver may ask for it late: NVIDIA's
// does when the first program opens a GPU. So the initrd's files stay reachable from the next root.
void keep_files(Steps& steps) {
  constexpr const char* kPath = "/sys/module/firmware_class/parameters/path";
  const auto root = RootFolder::open(kNewRoot);
  if (!root) return;
  const auto keep = [&](const char* from, const std::string& to) {
    if (!fs::exists(from)) return false;
    const auto bound = root->bind(from, to, true);
    steps.add(bound ? StepState::ok : StepState::failed, "keep", from,
              bound ? "in " + to : bound.error().message);
    return bound.has_value();
  };
  keep("/lib/modules", "/run/gpuready/modules");
  if (!keep("/lib/firmware", kKeptFirmware)) return;
  if (const auto given = std::string(trim(slurp(kPath))); !given.empty()) {
    steps.add(
        StepState::warning, "keep", "firmware",
        fmt::format("firmware_class.path={} is given: it must lead to {}", given, kKeptFirmware));
    return;
  }
  const Descriptor file(::open(kPath, O_WRONLY | O_CLOEXEC));
  const std::string_view path = kKeptFirmware;
  if (!file || ::write(file.get(), path.data(), path.size()) < 0)
    steps.add(StepState::failed, "keep", "firmware",
              fmt::format("{}: {}", kPath, std::strerror(errno)));
}

// udev's rules for the device mapper (55-dm.rules) ignore a device that was mapped before udev ran,
// unless its database says that the mapping was complete.
void keep_mappings(Steps& steps) {
  const auto root = RootFolder::open(kNewRoot);
  for (const auto& name : names_in("/sys/class/block")) {
    if (!root || !name.starts_with("dm-")) continue;
    const auto number = slurp("/sys/class/block/" + name + "/dev");
    const auto path = "/run/udev/data/b" + std::string(trim(number));
    const auto written = root->write(path, "E:DM_UDEV_PRIMARY_SOURCE_FLAG=1\nV:1\n", 0644);
    if (!written) steps.add(StepState::warning, "keep", name, written.error().message);
  }
}

bool enter_root(Steps& steps) {
  const bool moved = ::chdir(kNewRoot) == 0 && ::mount(".", "/", nullptr, MS_MOVE, nullptr) == 0 &&
                     ::chroot(".") == 0 && ::chdir("/") == 0;
  if (!moved) steps.add(StepState::failed, "start", "root", std::strerror(errno));
  return moved;
}

}  // namespace

std::string check_program(const RootFolder& root) {
  for (const char* path :
       {"/usr/local/bin/gpuready", "/usr/bin/gpuready", "/usr/lib/nvidia/bin/gpuready"})
    if (root.kind(path, true) == EntryKind::file) return path;
  return {};
}

std::vector<std::string> command_of(const GuestConfig& config,
                                    const std::vector<std::string>& given, const RootFolder& root) {
  if (!given.empty()) return given;
  if (!config.init.empty()) return {config.init};
  for (const char* path : {"/sbin/init", "/etc/init", "/bin/init", "/bin/sh"})
    if (root.kind(path, true) == EntryKind::file) return {path};
  return {};
}

int run_in_root(const std::string& root, const std::string& program,
                const std::vector<std::string>& args) {
  if (::chroot(root.c_str()) != 0 || ::chdir("/") != 0) {
    (void)fprintf(stderr, "%s\n", fail_errno(root, errno).error().message.c_str());
    return 126;
  }
  (void)fprintf(stderr, "%s\n", replace_program(program, args).message.c_str());
  return 127;
}

bool make_nodes(const std::string& root, Steps& steps) {
  NodeFacts facts;
  facts.devices = slurp("/proc/devices");
  facts.params = slurp("/proc/driver/nvidia/params");
  for (const auto& gpu : names_in("/proc/driver/nvidia/gpus"))
    facts.gpus.push_back(slurp("/proc/driver/nvidia/gpus/" + gpu + "/information"));
  std::error_code ignored;
  for (const auto& entry :
       fs::recursive_directory_iterator("/proc/driver/nvidia/capabilities", ignored))
    if (entry.is_regular_file(ignored)) facts.capabilities.push_back(slurp(entry.path()));
  const auto plan = plan_nodes(facts);
  const auto folder = RootFolder::open(root);
  if (!folder) {
    steps.add(StepState::failed, "node", root, folder.error().message);
    return false;
  }
  if (plan.empty()) {
    steps.add(StepState::failed, "node", "/dev/nvidiactl",
              "the kernel has no device of NVIDIA's driver (/proc/devices): is its module loaded?");
    return false;
  }
  bool gpu = false;
  for (const auto& node : plan) {
    const auto number = after_prefix(node.path, "/dev/nvidia");
    gpu |= number && parse_uint(*number);
    const auto made = folder->make_node(node);
    steps.add(
        made ? StepState::ok : StepState::failed, "node", node.path,
        made ? fmt::format("{}:{}", node.device_major, node.device_minor) : made.error().message);
    if (!made) return false;
  }
  if (!gpu)
    steps.add(StepState::failed, "node", "/dev/nvidia0",
              "the driver names no GPU in /proc/driver/nvidia/gpus");
  return gpu;
}

void check_root(const std::string& root, Steps& steps) {
  const auto folder = RootFolder::open(root);
  const auto program = folder ? check_program(*folder) : std::string();
  if (program.empty()) {
    steps.add(StepState::skipped, "check", "gpuready", "not in this root");
    return;
  }
  auto job = job_in_root(root, program, {"check", "--level", "quick", "--no-color"});
  job.limits.time = std::chrono::minutes(5);
  const auto outcome = run_job(job);
  if (!outcome) {
    steps.add(StepState::failed, "check", program, outcome.error().message);
    return;
  }
  (void)folder->write("/run/gpuready-check.txt", outcome->out + outcome->err, 0644);
  const bool passed = outcome->end == JobEnd::exited && outcome->exit_code == 0;
  std::string last;
  for (const auto line : lines(outcome->out))
    if (!trim(line).empty()) last = trim(line);
  steps.add(passed ? StepState::ok : StepState::failed, "check", program,
            fmt::format("{} {}: {}; all of it is in /run/gpuready-check.txt",
                        to_string(outcome->end), outcome->exit_code, last));
}

int prepare(const PrepareOptions& options, Steps& steps) {
  const auto bundle = read_bundle(options.bundle);
  if (!bundle) {
    steps.add(StepState::failed, "library", options.bundle, bundle.error().message);
    return 1;
  }
  bool whole = true;
  if (options.load) {
    auto folder = std::string("/lib/modules/") + kernel_release() + "/kernel/drivers/gpu";
    if (fs::exists(options.bundle + "/modules/" + kernel_release()))
      folder = options.bundle + "/modules/" + kernel_release();
    whole = load_modules(*bundle,
                         {kernel_release(), folder, true, module_parameters(options.config.words)},
                         steps) &&
            make_nodes(options.root, steps);
  }
  const auto root = RootFolder::open(options.root);
  const auto report =
      root ? inject(*bundle, options.bundle, *root,
                    {InjectMethod::bind, options.config.capabilities, options.config.replace})
           : std::unexpected(root.error());
  if (!report) {
    steps.add(StepState::failed, "library", options.root, report.error().message);
    return 1;
  }
  for (const auto& warning : report->warnings)
    steps.add(StepState::warning, "library", options.root, warning);
  for (const auto& saved : report->saved)
    steps.add(StepState::warning, "library", saved, "the image's own is now NAME.gpuready-saved");
  steps.add(StepState::ok, "loader", report->loader_folder,
            fmt::format("driver {}: {} names, {} of them there already", bundle->driver_version,
                        report->links + report->kept, report->kept));
  return whole ? 0 : 1;
}

int run_as_init(const std::vector<std::string>& command) {
  Steps steps([](const Step& step) {
    const auto line = to_line(step) + "\n";
    (void)!::write(STDERR_FILENO, line.data(), line.size());
  });
  mount_kernel("", steps);
  GuestConfig config;
  read_config(slurp("/proc/cmdline"), config);
  const auto bundle = read_bundle("/usr/lib/nvidia");
  const auto modules = "/lib/modules/" + kernel_release() + "/kernel/drivers/gpu";
  if (bundle)  // disks may need them
    load_modules(*bundle, {kernel_release(), modules, false, module_parameters(config.words)},
                 steps);
  read_disk(config, steps);
  for (const auto& word : config.unknown)
    steps.add(StepState::warning, "config", word, "not understood");
  steps.add(StepState::ok, "config", "HAS_GPU", config.has_gpu ? "1" : "0");

  int exit_code = 1;
  if (mount_root(config, steps)) {
    mount_kernel(kNewRoot, steps);
    if (config.has_gpu) {
      prepare({"/usr/lib/nvidia", kNewRoot, config, true}, steps);
      if (config.check) check_root(kNewRoot, steps);
      steps.add(steps.any_failed() ? StepState::failed : StepState::ok, "ready", "gpu",
                steps.any_failed() ? "a step before this one failed" : "GPU ready");
    }
    const auto root = RootFolder::open(kNewRoot);
    const auto start = root ? command_of(config, command, *root) : std::vector<std::string>();
    if (start.empty()) {
      steps.add(StepState::failed, "start", "init",
                "the root has no init; name a command after --");
    } else if (config.poweroff) {
      steps.add(StepState::ok, "start", start[0], "to its end");
      exit_code = run_to_end(kNewRoot, start);
      steps.add(exit_code == 0 ? StepState::ok : StepState::failed, "end", start[0],
                fmt::format("exit code {}", exit_code));
    } else if (keep_files(steps), keep_mappings(steps); enter_root(steps)) {
      steps.add(StepState::ok, "start", start[0], "takes over");
      const auto error = replace_program(start[0], {start.begin() + 1, start.end()});
      steps.add(StepState::failed, "start", start[0], error.message);
    }
  }
  ::sync();
  if (config.poweroff) (void)::reboot(RB_POWER_OFF);
  return exit_code;  // as process 1: the kernel stops, as panic= says
}

}  // namespace gpuready::vm
