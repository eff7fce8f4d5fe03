// A machine in memory whose sysfs acts as Linux's does: drivers bind and unbind, overrides count,
// resets are noted. Its files on disk are a MemoryStorage, so power can be cut.
#pragma once

#include <gtest/gtest.h>

#include <cerrno>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "doubles/memory_storage.h"
#include "value/json.h"
#include "vm/attribute_child.h"
#include "vm/inventory.h"
#include "vm/operations.h"
#include "vm/perform.h"

namespace gpuready::vm {

class FakeKernel : public Host, public Storage, public AttributeChild {
 public:
  struct Device {
    std::string native;  // driver that knows its ids; empty: none
    std::string bound;
    std::string override_;
    int group = 0;
    int resets = 0;
    std::string hangs_at = {};  // "unbind", "reset": a write to it never returns
    std::string physical_function = {};
    std::string node = {};  // of its own driver
  };
  struct Options {
    std::string class_code = "0x030200", vendor = "0x10de";
    int group = 1;
    std::string native = "nvidia";
  };

  FakeKernel() {
    files["/proc/sys/kernel/random/boot_id"] = "11111111-1111-1111-1111-111111111111\n";
    files["/proc/self/mountinfo"] = "";
    for (const auto* driver : {"nvidia", "snd_hda_intel", "vfio-pci", "nvme"})
      drivers.insert(driver);
    EXPECT_TRUE(disk.make_folder("/state", 0700));
    EXPECT_TRUE(disk.sync_folder("/"));
  }

  void add(const std::string& address, const Options& options) {
    const std::string folder = kBus + "devices/" + address + "/";
    files[folder + "vendor"] = options.vendor + "\n";
    files[folder + "device"] = "0x2330\n";
    files[folder + "class"] = options.class_code + "\n";
    files[folder + "reset_method"] = "flr bus\n";
    files[folder + "power/control"] = "auto\n";
    files[folder + "d3cold_allowed"] = "1\n";
    devices[address] = {
        .native = options.native, .bound = options.native, .override_ = "", .group = options.group};
  }

  // A card in front gives it another address in the same slot.
  void move(const std::string& from, const std::string& to) {
    auto device = devices.extract(from);
    device.key() = to;
    devices.insert(std::move(device));
    const auto before = kBus + "devices/" + from, now = kBus + "devices/" + to;
    for (auto* texts : {&files, &places})
      for (const auto& [path, text] : std::map(*texts))
        if (path.starts_with(before)) {
          (*texts)[now + path.substr(before.size())] = text;
          texts->erase(path);
        }
  }

  std::map<std::string, std::string> links;  // of no file
  std::map<std::string, std::string> files;
  std::map<std::string, Device> devices;
  std::map<std::string, std::string> places;    // where links lead
  std::map<std::string, std::string> mediated;  // UUID -> the device that it is a part of
  int mediated_made = 0;
  std::string log;                  // of the kernel
  std::set<std::string> forbidden;  // folders that this user may not list
  std::set<std::string> drivers, services, broken_services;
  std::map<std::string, std::vector<std::string>> open;  // pid -> device files
  unsigned refused = 0;                                  // processes that cannot be read
  // What a service holds open while it runs.
  struct Holder {
    std::string pid;
    std::vector<std::string> paths;
  };
  std::map<std::string, Holder> holders;
  std::vector<std::string> commands;  // that were run
  bool clean_passes = true;
  std::string clean_with;                    // of hands()
  std::optional<std::string> guest_fails;    // instead of its report
  std::function<void(Json&)> guest_reports;  // changes it, or the host's
  MemoryStorage disk;
  Storage* outer = nullptr;  // through which children write: a FailingStorage

  // What a restart does: drivers as the kernel chooses them, services started.
  void restart(MemoryStorage::Names names) {
    disk.lose_power(names);
    for (auto& [address, device] : devices) {
      device.override_.clear();
      device.bound = device.native;
      files[kBus + "devices/" + address + "/power/control"] = "auto\n";
      files[kBus + "devices/" + address + "/d3cold_allowed"] = "1\n";
    }
    mediated.clear();
    std::erase_if(devices, [&](const auto& one) {
      if (one.second.physical_function.empty()) return false;
      std::erase_if(files, [&](const auto& file) {
        return file.first.starts_with(kBus + "devices/" + one.first + "/");
      });
      return true;
    });
    services = enabled;
    files["/proc/sys/kernel/random/boot_id"] = "22222222-2222-2222-2222-222222222222\n";
  }
  std::set<std::string> enabled;  // services that a restart starts

  // As the kernel chooses a device's driver.
  void load_driver(Device& device) const {
    const auto& wanted = device.override_.empty() ? device.native : device.override_;
    if (device.bound.empty() && drivers.contains(wanted)) device.bound = wanted;
  }

  void serve(const std::string& unit, const std::string& pid, const std::string& process,
             const std::vector<std::string>& paths) {
    services.insert(unit);
    enabled.insert(unit);
    holders[unit] = {pid, paths};
    files["/proc/" + pid + "/comm"] = process + "\n";
  }

  // ---- Host
  HostKind kind() const override { return HostKind::scripted; }
  // The answers hold until others are asked for, as a live host's do.
  void ask_driver(const std::vector<std::string>& paths) override {
    answers_.clear();
    std::map<std::string, Result<std::string>> now;
    for (const auto& path : paths) now.emplace(path, read_file(path, 0));
    answers_ = std::move(now);
  }
  Result<std::string> read_file(const std::string& path, std::size_t most_bytes) override {
    auto content = content_of(path);
    if (content && most_bytes > 0 && content->size() > most_bytes)
      return fail(ErrorKind::too_large, path);
    return content;
  }
  Result<std::string> content_of(const std::string& path) {
    if (const auto answer = answers_.find(path); answer != answers_.end()) return answer->second;
    if (const auto* device = device_of(path); device && path.ends_with("/driver_override"))
      return (device->override_.empty() ? "(null)" : device->override_) + "\n";
    if (const auto found = files.find(path); found != files.end()) return found->second;
    if (auto content = disk.content(path)) return *content;
    return fail_errno(path, ENOENT);
  }
  Result<std::string> read_link(const std::string& path) override {
    if (const auto found = links.find(path); found != links.end()) return found->second;
    if (const auto rest = after_prefix(path, kMediated)) {
      const std::string uuid(rest->substr(0, rest->find('/')));
      const auto found = mediated.find(uuid);
      if (found == mediated.end()) return fail_errno(path, ENOENT);
      if (uuid == *rest) return "../../../devices/pci0000:00/" + found->second + "/" + uuid;
      if (path.ends_with("/mdev_type")) return std::string("../mdev_supported_types/nvidia-63");
      if (path.ends_with("/driver")) return std::string("../../../bus/mdev/drivers/nvidia");
      if (path.ends_with("/iommu_group")) return std::string("../../../kernel/iommu_groups/77");
      return fail_errno(path, ENOENT);
    }
    if (const auto* device = device_of(path)) {
      if (path.ends_with("/physfn") && !device->physical_function.empty())
        return "../" + device->physical_function;
      if (path.ends_with("/driver") && !device->bound.empty())
        return "../../../bus/pci/drivers/" + device->bound;
      if (path.ends_with("/iommu_group"))
        return "../../../kernel/iommu_groups/" + std::to_string(device->group);
    }
    return fail_errno(path, ENOENT);
  }
  Result<std::string> real_path(const std::string& path) override {
    const auto place = places.find(path);
    return place == places.end() ? path : place->second;
  }
  Result<std::vector<std::string>> list_directory(const std::string& path) override {
    if (forbidden.contains(path)) return fail_errno(path, EACCES);
    std::set<std::string> names;
    if (path == kMediated)
      for (const auto& [uuid, parent] : mediated) names.insert(uuid);
    if (path == kBus + "devices")
      for (const auto& [address, device] : devices) names.insert(address);
    if (path == "/sys/kernel/iommu_groups")
      for (const auto& [address, device] : devices) names.insert(std::to_string(device.group));
    for (const auto& [address, device] : devices)
      if (path == "/sys/kernel/iommu_groups/" + std::to_string(device.group) + "/devices")
        names.insert(address);
    const std::string inside = path + "/";
    for (auto file = files.lower_bound(inside);
         file != files.end() && file->first.starts_with(inside); ++file)
      names.insert(
          file->first.substr(inside.size(), file->first.find('/', inside.size()) - inside.size()));
    for (const auto& name : disk.names(path)) names.insert(name.substr(path.size() + 1));
    if (names.empty()) return fail_errno(path, ENOENT);
    return std::vector<std::string>(names.begin(), names.end());
  }
  Result<FileStatus> status(const std::string& path) override {
    if (const auto uuid = after_prefix(path, kMediated))
      return mediated.contains(std::string(*uuid)) ? Result<FileStatus>(FileStatus{})
                                                   : fail_errno(path, ENOENT);
    if (device_of(path + "/x") || files.contains(path)) return FileStatus{};
    if (const auto driver = after_prefix(path, kBus + "drivers/"))
      return drivers.contains(std::string(*driver)) ? Result<FileStatus>(FileStatus{})
                                                    : fail_errno(path, ENOENT);
    if (const auto service = after_prefix(path, "/sys/fs/cgroup/system.slice/"))
      return services.contains(std::string(*service)) ? Result<FileStatus>(FileStatus{})
                                                      : fail_errno(path, ENOENT);
    return disk.status(path);
  }
  Result<void> may_open(const std::string& path) override { return fail_errno(path, ENOENT); }
  Result<FileSystemSpace> space(const std::string& path) override { return disk.space(path); }
  std::optional<std::string> environment(const std::string&) override { return std::nullopt; }
  Result<SystemIdentity> identity() override {
    SystemIdentity root;
    root.kernel_name = "Linux";
    root.kernel_release = "6.1.0";
    root.machine = "x86_64";
    return root;
  }
  Result<std::string> kernel_log() override { return log; }
  Result<JobOutcome> run(const Job& job) override;
  Result<JobOutcome> exchange(const AttributeRequest& request, std::chrono::milliseconds) override;
  std::vector<ProbeDocument> probe(const std::vector<ProbeRequest>& requests) override {
    std::vector<ProbeDocument> documents;
    for (const auto& request : requests) {
      ProbeDocument document;
      document.probe = request.probe;
      document.outcome = ProbeOutcome::no_library;
      if (request.probe == "open-files") {
        document.outcome = ProbeOutcome::completed;
        auto all = open;
        for (const auto& [unit, holder] : holders)
          if (services.contains(unit)) all[holder.pid] = holder.paths;
        for (const auto& [pid, paths] : all) {
          ProbeCall call;
          call.value = paths;
          document.calls["open(" + pid + ")"] = call;
        }
        document.calls["processes()"].value = Json{{"count", 100}, {"refused", refused}};
      }
      documents.push_back(std::move(document));
    }
    return documents;
  }

  // ---- Storage: the disk's, but for sysfs
  Result<std::unique_ptr<File>> create(const std::string& path, std::uint32_t mode) override {
    return disk.create(path, mode);
  }
  Result<std::unique_ptr<File>> create_unnamed(const std::string& folder,
                                               std::uint32_t mode) override {
    return disk.create_unnamed(folder, mode);
  }
  Result<void> link(const std::string& from, const std::string& to) override {
    return disk.link(from, to);
  }
  Result<void> rename(const std::string& from, const std::string& to, OnExisting how) override {
    return disk.rename(from, to, how);
  }
  Result<void> symlink(const std::string& target, const std::string& path) override {
    return disk.symlink(target, path);
  }
  Result<void> unlink(const std::string& path) override { return disk.unlink(path); }
  Result<void> remove_folder(const std::string& path) override { return disk.remove_folder(path); }
  Result<void> sync_folder(const std::string& path) override { return disk.sync_folder(path); }
  Result<void> make_folder(const std::string& path, std::uint32_t mode) override {
    return disk.make_folder(path, mode);
  }
  Result<std::unique_ptr<Lock>> lock(const std::string& path) override { return disk.lock(path); }
  Result<void> append(const std::string& path, std::string_view bytes,
                      std::chrono::milliseconds patience) override {
    return disk.append(path, bytes, patience);
  }
  Result<void> write_attribute(const std::string& path, std::string_view bytes) override;

  Hands hands(Storage& storage) {
    outer = &storage;
    return {.host = *this,
            .storage = storage,
            .attributes = *this,
            .folder = "/state",
            .clean_with = clean_with,
            .test_in_guest = [this](Host&, Storage&, const GuestTest& test) {
              return run_guest(test);
            }};
  }

  // Every device with the driver that it had, no override, and power management as it was.
  ::testing::AssertionResult is_as_at_first() const;
  // All of `moved` with vfio-pci.
  ::testing::AssertionResult is_given_away(const std::vector<std::string>& moved) const;

  inline static const std::string kBus = "/sys/bus/pci/", kMediated = "/sys/bus/mdev/devices/";

  // What a guest says of the one GPU that it has, as 0000:01:00.0.
  Result<Json> run_guest(const GuestTest& test) {
    commands.push_back("guest of " + test.bundle);
    const auto& device = devices.at(test.device.text());
    EXPECT_EQ(device.bound, "vfio-pci");
    for (const auto& [address, other] : devices)
      EXPECT_TRUE(other.group != device.group || other.bound == "vfio-pci") << address;
    if (guest_fails) return fail(ErrorKind::unsupported, *guest_fails);
    return report_of("0000:01:00.0");
  }

 private:
  Json report_of(const std::string& address) const {
    Verdict verdict;
    verdict.test = "memory";
    verdict.pci_address = address;
    verdict.status = clean_passes ? VerdictStatus::passed : VerdictStatus::failed;
    verdict.coverage = Coverage{.tested_bytes = 99, .total_bytes = 100, .reserved_bytes = {}};
    Gpu gpu;
    gpu.pci = parse_pci_address(address);
    gpu.uuid = "GPU-4b20d080-1b54-4048-85b3-a6a62d165c01";
    gpu.ecc.enabled_now = true;
    gpu.vbios_version = "96.00.5E.00.01";
    Machine machine;
    machine.gpus.push_back(std::move(gpu));
    Json report = {{"exit_code", clean_passes ? 0 : 1},
                   {"verdicts", Json::array({to_json(verdict)})},
                   {"machine", to_json(machine)}};
    if (guest_reports) guest_reports(report);
    return report;
  }

  std::map<std::string, Result<std::string>> answers_;  // of ask_driver()
  const Device* device_of(const std::string& path) const {
    const auto rest = after_prefix(path, kBus + "devices/");
    if (!rest) return nullptr;
    const auto found = devices.find(std::string(rest->substr(0, rest->find('/'))));
    return found == devices.end() ? nullptr : &found->second;
  }
};

inline Result<void> FakeKernel::write_attribute(const std::string& path, std::string_view bytes) {
  const std::string value(trim(bytes));
  if (const auto rest = after_prefix(path, kMediated); rest && path.ends_with("/remove"))
    return mediated.erase(std::string(rest->substr(0, rest->find('/')))) == 1
               ? Result<void>{}
               : fail_errno(path, ENOENT);
  if (const auto rest = after_prefix(path, "/sys/class/mdev_bus/"); rest) {
    const std::string parent(rest->substr(0, rest->find('/')));
    if (path != "/sys/class/mdev_bus/" + parent + "/mdev_supported_types/nvidia-63/create" ||
        !devices.contains(parent) || mediated.contains(value))
      return fail_errno(path, EINVAL);
    mediated[value] = parent;
    ++mediated_made;
    return {};
  }
  if (path == kBus + "drivers_probe") {
    const auto device = devices.find(value);
    if (device == devices.end()) return fail_errno(path, ENODEV);
    load_driver(device->second);
    return {};
  }
  if (const auto rest = after_prefix(path, kBus + "drivers/")) {
    const std::string driver(rest->substr(0, rest->find('/')));
    const auto device = devices.find(value);
    if (!drivers.contains(driver) || device == devices.end()) return fail_errno(path, ENODEV);
    if (rest->ends_with("/unbind")) {
      if (device->second.bound != driver) return fail_errno(path, ENODEV);
      for (const auto& [pid, paths] : open)
        for (const auto& node : paths)
          EXPECT_NE(node, driver == "vfio-pci" ? "/dev/vfio/" + std::to_string(device->second.group)
                                               : device->second.node)
              << "unbound under a user's feet";
      device->second.bound.clear();
      return {};
    }
    const auto& wanted =
        device->second.override_.empty() ? device->second.native : device->second.override_;
    if (!device->second.bound.empty()) return fail_errno(path, EBUSY);
    if (wanted != driver) return fail_errno(path, ENODEV);
    device->second.bound = driver;
    return {};
  }
  if (const auto* found = device_of(path)) {
    auto& device = const_cast<Device&>(*found);
    if (path.ends_with("/driver_override")) {
      device.override_ = value;
      return {};
    }
    if (path.ends_with("/rom") && files.contains(path)) return {};  // 1 opens it, 0 closes it
    if (path.ends_with("/reset")) {
      EXPECT_TRUE(device.bound.empty() || device.bound == "vfio-pci")
          << "reset under a driver's feet";
      ++device.resets;
      return {};
    }
  }
  if (!files.contains(path)) return fail_errno(path, ENOENT);
  files[path] = value + "\n";
  return {};
}

inline Result<JobOutcome> FakeKernel::exchange(const AttributeRequest& request,
                                               std::chrono::milliseconds) {
  JobOutcome out;
  // unbind is a driver's, and names the device in what is written.
  const auto named = devices.find(request.value);
  const auto* device = named == devices.end() ? device_of(request.path) : &named->second;
  if (device && !device->hangs_at.empty() && request.path.ends_with("/" + device->hangs_at)) {
    out.end = JobEnd::hung;
    out.abandoned = true;
    out.waits_in = "nv_pci_remove";
    return out;
  }
  if (request.verb != attribute::kHotReset) {
    out.channel = attribute_answer(*this, *outer, request);
    return out;
  }
  for (const auto address : split(request.value, " ")) {
    auto& reset = devices.at(std::string(address));
    EXPECT_EQ(reset.bound, "vfio-pci") << address;
    ++reset.resets;
  }
  out.channel = R"({"code":0,"text":""})";
  return out;
}

inline Result<JobOutcome> FakeKernel::run(const Job& job) {
  JobOutcome out;
  if (!job.args.empty() && job.args[0] == "check") {
    commands.push_back("check");
    out.out = dump(report_of(job.args[4]));
    return out;
  }
  commands.push_back(job.program + " " + join(job.args, " "));
  if (job.program == "systemctl" && broken_services.contains(job.args[1])) {
    out.exit_code = 1;
  } else if (job.program == "systemctl") {
    if (job.args[0] == "stop")
      services.erase(job.args[1]);
    else
      services.insert(job.args[1]);
  }
  if (job.program == "modprobe") drivers.insert(job.args.back());
  return out;
}

inline ::testing::AssertionResult FakeKernel::is_as_at_first() const {
  for (const auto& [address, device] : devices) {
    const std::string folder = kBus + "devices/" + address;
    if (device.bound != device.native)
      return ::testing::AssertionFailure() << address << " is bound to '" << device.bound << "'";
    if (!device.override_.empty())
      return ::testing::AssertionFailure() << address << " has the override " << device.override_;
    if (files.at(folder + "/power/control") != "auto\n" ||
        files.at(folder + "/d3cold_allowed") != "1\n")
      return ::testing::AssertionFailure() << address << " has other power management";
  }
  if (services != enabled) return ::testing::AssertionFailure() << "services differ";
  return ::testing::AssertionSuccess();
}

inline ::testing::AssertionResult FakeKernel::is_given_away(
    const std::vector<std::string>& moved) const {
  for (const auto& address : moved)
    if (devices.at(address).bound != "vfio-pci")
      return ::testing::AssertionFailure() << address << " is not with vfio-pci";
  return ::testing::AssertionSuccess();
}

// What a restart does where hold() runs before drivers load.
inline void restart_and_hold(FakeKernel& kernel, Hands& hands) {
  kernel.restart(MemoryStorage::Names::all);
  for (auto& [address, device] : kernel.devices) device.bound.clear();
  const auto held = hold(hands);
  ASSERT_TRUE(held) << held.error().message;
  for (const auto& done : *held) EXPECT_TRUE(done.ok());
  for (auto& [address, device] : kernel.devices) kernel.load_driver(device);
}

}  // namespace gpuready::vm
