#include "probe/process_look.h"

#include <fcntl.h>
#include <linux/kcmp.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/descriptor.h"
#include "base/paths.h"
#include "base/text.h"
#include "probe/ring_files.h"

namespace gpuready {
namespace {

constexpr std::string_view kVfioDevice = "anon_inode:[vfio-device]",
                           kRing = "anon_inode:[io_uring]";

// What every process has open.
constexpr std::string_view kCommon[] = {
    "/sys/devices/virtual/mem/", "/sys/devices/virtual/misc/", "/sys/devices/virtual/tty/tty",
    "/sys/devices/virtual/tty/ptmx", "/sys/devices/virtual/tty/console"};
constexpr unsigned kFirstPty = 136, kLastPty = 143;  // Linux, Documentation/admin-guide/devices.txt

bool is_vfio_device(std::string_view node) { return node.starts_with(kVfioDevice); }

bool is_new(std::uint32_t thread, std::uint32_t& before, int kind) {
  if (before != 0 && share(thread, before, kind)) return false;
  before = thread;
  return true;
}

// The names in map_files have no leading zeros.
std::string unpadded(std::string_view range) {
  std::string out;
  for (const auto part : split(range, "-")) {
    const auto digit = part.find_first_not_of('0');
    out += out.empty() ? "" : "-";
    out += digit == part.npos ? std::string_view("0") : part.substr(digit);
  }
  return out;
}

}  // namespace

void Held::add(Held&& others) {
  open.merge(others.open);
  places.merge(others.places);
  unread.merge(others.unread);
}

ProcessLook::ProcessLook(int proc, MountNamespaces& spaces) : proc_(proc), spaces_(spaces) {}

bool ProcessLook::look_at(std::uint32_t process) {
  process_ = process;
  found_.clear();
  has_ring_ = maps_ring_ = false;
  place_of_ = files_of_ = memory_of_ = 0;
  const auto tasks = std::to_string(process) + "/task";
  for (const auto thread : numbers(open_at(proc_, tasks, O_RDONLY), tasks))
    look_at_thread(thread, tasks + "/" + std::to_string(thread));
  if (maps_ring_ && !has_ring_)
    note_unknown("/proc/" + tasks +
                 ": an io_uring is mapped, and no descriptor shows what it holds");
  const bool nothing = found_.empty() && !has_ring_ && !held.unread.contains(process);
  if (!found_.empty()) held.open[process] = std::move(found_);
  return nothing;
}

void ProcessLook::look_at_thread(std::uint32_t thread, const std::string& task) {
  // Threads that share their root share their mount namespace (clone(2), setns(2)).
  if (is_new(thread, place_of_, KCMP_FS) && !add_mounts(task + "/ns/mnt")) return;
  if (is_new(thread, files_of_, KCMP_FILES)) add_open(task);
  if (is_new(thread, memory_of_, KCMP_VM)) add_mapped(task);
}

// What ended meanwhile holds nothing.
void ProcessLook::note_unless_ended(const Error& error) {
  if (error.code != ENOENT && error.code != ESRCH) note_unknown(error.message);
}
void ProcessLook::note_unread(const std::string& path, int error) {
  note_unless_ended(fail_errno("/proc/" + path, error).error());
}

std::vector<std::uint32_t> ProcessLook::numbers(const Descriptor& folder, const std::string& path) {
  auto listed = list_numbers(folder);
  if (listed) return *std::move(listed);
  note_unread(path, listed.error());
  return {};
}

// Whether the thread may be looked into: what this link needs, descriptors and mappings need.
bool ProcessLook::add_mounts(const std::string& link) {
  const auto name = text_.read_link(proc_, link);
  if (!name) {
    note_unread(link, name.error());
    return name.error() != EACCES;
  }
  const auto path = "/proc/" + link;
  const auto inode = inode_of_mount_namespace(*name);
  const auto done =
      inode ? spaces_.add(path, *inode) : fail(ErrorKind::io, path + ": " + std::string(*name));
  if (!done) note_unless_ended(done.error());
  return true;
}

void ProcessLook::add_open(const std::string& task) {
  const auto path = task + "/fd";
  const auto files = open_at(proc_, path, O_RDONLY);
  for (const auto descriptor : numbers(files, path))
    add_file({files.get(), std::to_string(descriptor), task});
}

// "7f00-7f10 rw-s 00000000 00:05 123 /dev/nvidia0": the numbers are those of the filesystem and the
// node. A file that many have mapped is looked at once.
void ProcessLook::add_mapped(const std::string& task) {
  const auto maps = maps_.read(proc_, task + "/maps");
  if (!maps) return note_unread(task + "/maps", maps.error());
  std::string_view last;
  for (auto rest = *maps; !rest.empty();) {
    const auto line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    auto file = line;  // from the numbers on: the same for all parts of a file
    for (int word = 0; word < 3; ++word)
      file.remove_prefix(std::min(file.find(' '), file.size() - 1) + 1);
    if (file == last || file.starts_with("00:00 0 ")) continue;
    last = file;
    const auto inode = file.substr(0, file.find(' ', file.find(' ') + 1));
    const auto name = trim(file.substr(inode.size()));
    if (name.starts_with("anon_inode:")) {  // all of these are one inode
      if (name == kVfioDevice && std::ranges::none_of(found_, is_vfio_device)) add_vfio_device({});
      maps_ring_ |= name == kRing;
      continue;
    }
    if (inode.ends_with(" 0") || plain_.contains(inode)) continue;
    const auto range = unpadded(line.substr(0, line.find(' ')));
    if (add_file({proc_, std::to_string(process_) + "/map_files/" + range, {}}))
      plain_.emplace(inode);
    else
      last = {};  // another part of it may be mapped still
  }
}

// Whether the file was seen and is not a device's.
bool ProcessLook::add_file(const File& file) {
  struct statx status = {};
  if (::statx(file.folder, file.name.c_str(), AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO,
              &status) != 0) {
    note_unread(file.path(), errno);
    return false;
  }
  const bool block = S_ISBLK(status.stx_mode);
  if (block || S_ISCHR(status.stx_mode)) {
    add_node(block, status.stx_rdev_major, status.stx_rdev_minor, "/proc/" + file.path());
    return false;
  }
  if (S_ISSOCK(status.stx_mode)) {
    if (!file.task.empty()) note_sent_files(file.info());
  } else if (spaces_.has_device(status.stx_dev_major, status.stx_dev_minor)) {
    if (const auto done = spaces_.add("/proc/" + file.path(), status.stx_ino); !done)
      note_unless_ended(done.error());
  } else if (!anonymous_ || *anonymous_ == device_of(status)) {
    return add_anonymous(file);
  }
  return true;
}

// The filesystem of all files "anon_inode:".
std::optional<ProcessLook::Device> ProcessLook::anonymous_device() {
  const Descriptor file(::eventfd(0, EFD_CLOEXEC));
  struct statx status = {};
  if (::statx(file.get(), "", AT_EMPTY_PATH, STATX_INO, &status) != 0) return std::nullopt;
  return device_of(status);
}

bool ProcessLook::add_anonymous(const File& file) {
  const auto link = text_.read_link(file.folder, file.name);
  if (!link) {
    note_unread(file.path(), link.error());
    return false;
  }
  const std::string name(*link);
  const bool is_open = !file.task.empty();
  if (name == kRing && is_open) add_ring(file);
  if (name != kVfioDevice) return true;
  add_vfio_device(is_open ? text_.read(proc_, file.info()).value_or("") : "");
  return false;
}

// Files that were sent through a socket and not yet received are in no process's table (Linux 5.4:
// "scm_fds:").
void ProcessLook::note_sent_files(const std::string& info) {
  const auto text = text_.read(proc_, info);
  if (!text) return note_unread(info, text.error());
  for (const auto line : lines(*text))
    if (const auto sent = after_prefix(line, "scm_fds:"); sent && trim(*sent) != "0")
      note_unknown("/proc/" + info + ": files that were sent through this socket wait in it");
}

// Nor are files that an io_uring holds.
void ProcessLook::add_ring(const File& file) {
  has_ring_ = true;
  const auto text = text_.read(proc_, file.info());
  if (!text) return note_unread(file.info(), text.error());
  auto held_by_ring = ring_files(*text);
  for (const auto& path : held_by_ring.registered)
    if (!add_registered("/proc/" + file.task + "/root" + path))
      held_by_ring.unknown = printable(path) + " cannot be reached";
  if (!held_by_ring.unknown.empty())
    note_unknown("/proc/" + file.info() +
                 ": the files that io_uring holds are not known: " + held_by_ring.unknown);
}

bool ProcessLook::add_registered(const std::string& path) {
  struct statx status = {};
  if (::statx(AT_FDCWD, path.c_str(), AT_STATX_DONT_SYNC, STATX_TYPE, &status) != 0) return false;
  const bool block = S_ISBLK(status.stx_mode);
  if (block || S_ISCHR(status.stx_mode))
    add_node(block, status.stx_rdev_major, status.stx_rdev_minor, {});
  return true;
}

// Newer kernels tell in fdinfo which device it is.
void ProcessLook::add_vfio_device(std::string_view info) {
  std::string node(kVfioDevice);
  for (const auto line : lines(info))
    if (const auto place = after_prefix(line, "vfio-device-syspath:")) {
      node += " " + std::string(base_name(trim(*place)));
      held.places[node] = trim(*place);
    }
  found_.insert(node);
}

void ProcessLook::add_node(bool block, unsigned major, unsigned minor, const std::string& link) {
  const auto key =
      (block ? "block/" : "char/") + std::to_string(major) + ":" + std::to_string(minor);
  const auto known = nodes_.try_emplace(key);
  if (known.second) known.first->second = name_of(key, major, minor, block, link);
  if (!known.first->second.empty()) found_.insert(known.first->second);
}

// The name that the kernel gives the node, whatever it is called where it was opened.
std::string ProcessLook::name_of(const std::string& key, unsigned major, unsigned minor, bool block,
                                 const std::string& link) {
  const auto place = host_->real_path("/sys/dev/" + key);
  if (!place) {
    if (!block && major >= kFirstPty && major <= kLastPty) return {};
    return name_without_place(key, major, minor, block, link);
  }
  for (const auto common : kCommon)
    if (place->starts_with(common)) return {};
  std::string name(base_name(*place));
  const auto event = host_->read_text(*place + "/uevent").value_or("");
  for (const auto line : lines(event))
    if (const auto told = after_prefix(line, "DEVNAME=")) name = *told;
  name = "/dev/" + name;
  held.places[name] = *place;
  return name;
}

// NVIDIA's driver has no entry in sysfs for its nodes: "195 nvidia", "510 nvidia-nvswitch".
std::string ProcessLook::name_without_place(const std::string& key, unsigned major, unsigned minor,
                                            bool block, const std::string& link) {
  constexpr unsigned kGpus = 195, kModeset = 254, kControl = 255;
  const auto devices = block ? std::string() : host_->read_text("/proc/devices").value_or("");
  for (const auto line : lines(devices)) {
    const auto words = split(line, " ");
    if (words.size() != 2 || parse_uint(words[0]) != major || !words[1].starts_with("nvidia"))
      continue;
    if (major == kGpus && minor == kModeset) return "/dev/nvidia-modeset";
    return "/dev/" + std::string(major == kGpus ? "nvidia" : words[1]) +
           (minor == kControl ? "ctl" : std::to_string(minor));
  }
  const auto path = host_->read_link(link).value_or("");
  return path.starts_with("/dev/") ? path : "/dev/" + key;
}

// Consoles of the kernel: "hvc0  -W- (EC p a)  229:0".
void ProcessLook::look_at_consoles() {
  found_.clear();
  const auto consoles = host_->read_text("/proc/consoles").value_or("");
  for (const auto line : lines(consoles)) {
    const auto numbers = split(line.substr(line.rfind(' ') + 1), ":");
    if (numbers.size() != 2) continue;
    const auto major = parse_uint(numbers[0]), minor = parse_uint(numbers[1]);
    if (major && minor)
      add_node(false, static_cast<unsigned>(*major), static_cast<unsigned>(*minor), {});
  }
  if (!found_.empty()) held.open[0] = std::move(found_);
}

}  // namespace gpuready
