// Which processes hold device files, by the numbers of what they hold: a node may be in any folder,
// under any name, or deleted. Every thread may have descriptors of its own, and a mapping outlives
// the descriptor that it was made with. Only links, numbers and tables of the kernel are read: no
// device is touched.
#include <fcntl.h>
#include <linux/kcmp.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "base/paths.h"
#include "base/text.h"
#include "host/host.h"
#include "probe/mount_namespaces.h"
#include "probe/probes.h"
#include "probe/ring_files.h"

namespace gpuready {
namespace {

constexpr std::size_t kMostTableBytes = 64u << 20;
constexpr std::string_view kVfioDevice = "anon_inode:[vfio-device]",
                           kRing = "anon_inode:[io_uring]";

// What every process has open.
constexpr std::string_view kCommon[] = {
    "/sys/devices/virtual/mem/", "/sys/devices/virtual/misc/", "/sys/devices/virtual/tty/tty",
    "/sys/devices/virtual/tty/ptmx", "/sys/devices/virtual/tty/console"};
constexpr unsigned kFirstPty = 136, kLastPty = 143;  // Linux, Documentation/admin-guide/devices.txt

bool is_vfio_device(std::string_view node) { return node.starts_with(kVfioDevice); }

class OpenFilesProbe {
 public:
  explicit OpenFilesProbe(ProbeWriter& writer) : writer_(writer), host_(make_live_host()) {}

  void run() {
    if (const auto listed = host_->list_directory("/proc"); !listed)
      return writer_.answer("processes()", listed.error().code ? listed.error().code : EIO);
    // A process that was looked at may have started another one and ended.
    constexpr int kMostRounds = 10;
    for (int round = 0; round < kMostRounds && look_at_new_processes(); ++round) {
    }
    look_at_consoles();
    for (const auto& [node, place] : places_) writer_.answer("place(" + node + ")", 0, Json(place));
    writer_.answer("mounts()", 0, Json(spaces_.foreign()));
    Json summary = {{"count", seen_.size()}, {"refused", refused_}};
    if (!unread_.empty()) summary["unread"] = unread_;
    writer_.answer("processes()", 0, summary);
  }

 private:
  bool look_at_new_processes() {
    bool any = false;
    for (const auto& name : host_->list_directory("/proc").value_or(std::vector<std::string>{})) {
      if (!parse_uint(name) || !seen_.insert(name).second) continue;
      any = true;
      look_at(name);
    }
    return any;
  }

  void look_at(const std::string& process) {
    found_.clear();
    bool whole = true, maps_ring = false;
    has_ring_ = false;
    std::string files_of, memory_of, place_of;  // the latest threads whose tables were read
    const auto is_new = [](const std::string& thread, std::string& before, int kind) {
      const auto id = [](const std::string& text) { return static_cast<pid_t>(*parse_uint(text)); };
      const bool same =
          !before.empty() && ::syscall(SYS_kcmp, id(thread), id(before), kind, 0, 0) == 0;
      if (!same) before = thread;
      return !same;
    };
    const std::string tasks = "/proc/" + process + "/task";
    for (const auto& thread : list(tasks, whole)) {
      const auto folder = tasks + "/" + thread;
      if (is_new(thread, files_of, KCMP_FILES)) add_open(folder, whole);
      if (is_new(thread, memory_of, KCMP_VM))
        maps_ring |= add_mapped(folder, "/proc/" + process, whole);
      // Threads that share their root share their mount namespace (clone(2), setns(2)).
      if (is_new(thread, place_of, KCMP_FS)) add_mounts(folder + "/ns/mnt", whole);
    }
    if (maps_ring && !has_ring_)
      note_unknown(tasks + ": an io_uring is mapped, and no descriptor shows what it holds", whole);
    if (!whole) ++refused_;
    if (!found_.empty()) writer_.answer("open(" + process + ")", 0, Json(found_));
  }

  void note_error(const Result<void>& done, bool& whole) {
    if (!done) note_unless_ended(done.error(), whole);
  }

  // What ended meanwhile holds nothing. The first thing that could not be read is kept.
  template <class Message>
  void note_unless_ended(int error, Message message, bool& whole) {
    if (error == ENOENT || error == ESRCH) return;
    whole = false;
    if (unread_.empty()) unread_ = message();
  }
  void note_unless_ended(const Error& error, bool& whole) {
    note_unless_ended(error.code, [&] { return error.message; }, whole);
  }

  std::vector<std::string> list(const std::string& folder, bool& whole) {
    auto names = host_->list_directory(folder);
    if (names) return *std::move(names);
    note_unless_ended(names.error(), whole);
    return {};
  }

  static Descriptor folder(const std::string& path) {
    return Descriptor(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }

  void add_open(const std::string& task, bool& whole) {
    const auto files = folder(task + "/fd");
    for (const auto& descriptor : list(task + "/fd", whole))
      add_file({files.get(), task + "/fd/", descriptor}, task + "/fdinfo/" + descriptor, whole);
  }

  // "7f00-7f10 rw-s 00000000 00:05 123 /dev/nvidia0": the numbers are those of the filesystem and
  // the node. A file that many have mapped is looked at once. Whether an io_uring is mapped.
  bool add_mapped(const std::string& task, const std::string& process, bool& whole) {
    const auto maps = host_->read_file(task + "/maps", kMostTableBytes);
    if (!maps) {
      note_unless_ended(maps.error(), whole);
      return false;
    }
    bool ring = false;
    const auto files = folder(process + "/map_files");
    std::string_view last;
    for (const auto line : lines(*maps)) {
      auto file = line;  // from the numbers on: the same for all parts of a file
      for (int word = 0; word < 3; ++word)
        file.remove_prefix(std::min(file.find(' '), file.size() - 1) + 1);
      if (file == last || file.starts_with("00:00 0 ")) continue;
      last = file;
      const auto words = split(file, " ");
      if (words.size() < 3 || words[1] == "0") continue;
      if (contains(line, "anon_inode:")) {  // all of these are one inode
        if (line.ends_with(kVfioDevice) && std::ranges::none_of(found_, is_vfio_device))
          add_vfio_device({});
        ring |= line.ends_with(kRing);
        continue;
      }
      const auto inode = std::string(words[0]) + " " + std::string(words[1]);
      if (plain_.contains(inode)) continue;
      const bool is_device =
          add_file({files.get(), process + "/map_files/", unpadded(line.substr(0, line.find(' ')))},
                   {}, whole);
      if (!is_device) plain_.insert(inode);
    }
    return ring;
  }

  // The names in map_files have no leading zeros.
  static std::string unpadded(std::string_view range) {
    std::string out;
    for (const auto part : split(range, "-")) {
      const auto digit = part.find_first_not_of('0');
      out += out.empty() ? "" : "-";
      out += digit == part.npos ? std::string_view("0") : part.substr(digit);
    }
    return out;
  }

  struct Link {
    int folder;  // open, so that the kernel walks one name and not five
    std::string above, name;
    std::string path() const { return above + name; }
  };
  // Whether the file is a device's.
  bool add_file(const Link& at, const std::string& info, bool& whole) {
    struct statx status = {};
    if (::statx(at.folder, at.name.c_str(), AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO, &status) !=
        0) {
      const int error = at.folder < 0 ? ESRCH : errno;  // it ended before its folder was opened
      note_unless_ended(error, [&] { return fail_errno(at.path(), error).error().message; }, whole);
      return false;
    }
    const bool block = S_ISBLK(status.stx_mode);
    if (block || S_ISCHR(status.stx_mode)) {
      add_node(block, status.stx_rdev_major, status.stx_rdev_minor, at.path());
      return true;
    }
    if (S_ISREG(status.stx_mode) && status.stx_dev_major != 0) return false;
    if (S_ISSOCK(status.stx_mode)) return note_sent_files(info, whole);
    const auto link = at.path();
    if (spaces_.has_device(status.stx_dev_major, status.stx_dev_minor)) {
      note_error(spaces_.add(link, status.stx_ino), whole);
      return false;
    }
    const auto name = host_->read_link(link).value_or("");
    if (name == kRing && !info.empty()) add_ring(info, whole);
    if (name != kVfioDevice) return false;
    add_vfio_device(info.empty() ? "" : host_->read_text(info).value_or(""));
    return true;
  }

  void note_unknown(const std::string& what, bool& whole) {
    whole = false;
    if (unread_.empty()) unread_ = what;
  }

  // Files that were sent through a socket and not yet received are in no process's table (Linux
  // 5.4: "scm_fds:").
  bool note_sent_files(const std::string& info, bool& whole) {
    const auto text = host_->read_text(info).value_or("");
    for (const auto line : lines(text))
      if (const auto sent = after_prefix(line, "scm_fds:"); sent && trim(*sent) != "0")
        note_unknown(info + ": files that were sent through this socket wait in it", whole);
    return false;
  }

  // Nor are files that an io_uring holds.
  void add_ring(const std::string& info, bool& whole) {
    has_ring_ = true;
    const auto text = host_->read_file(info, kMostTableBytes);
    if (!text) return note_unless_ended(text.error(), whole);
    auto held = ring_files(*text);
    const auto root = info.substr(0, info.find("/fdinfo/")) + "/root";
    for (const auto& path : held.registered)
      if (!add_registered(root + path)) held.unknown = printable(path) + " cannot be reached";
    if (!held.unknown.empty())
      note_unknown(info + ": the files that io_uring holds are not known: " + held.unknown, whole);
  }

  bool add_registered(const std::string& path) {
    struct statx status = {};
    if (::statx(AT_FDCWD, path.c_str(), AT_STATX_DONT_SYNC, STATX_TYPE, &status) != 0) return false;
    const bool block = S_ISBLK(status.stx_mode);
    if (block || S_ISCHR(status.stx_mode))
      add_node(block, status.stx_rdev_major, status.stx_rdev_minor, {});
    return true;
  }

  // Newer kernels tell in fdinfo which device it is.
  void add_vfio_device(std::string_view info) {
    std::string node(kVfioDevice);
    for (const auto line : lines(info))
      if (const auto place = after_prefix(line, "vfio-device-syspath:")) {
        node += " " + std::string(base_name(trim(*place)));
        places_[node] = trim(*place);
      }
    found_.insert(node);
  }

  void add_node(bool block, unsigned major, unsigned minor, const std::string& link) {
    const auto key =
        (block ? "block/" : "char/") + std::to_string(major) + ":" + std::to_string(minor);
    const auto known = nodes_.try_emplace(key);
    if (known.second) known.first->second = name_of(key, major, minor, block, link);
    if (!known.first->second.empty()) found_.insert(known.first->second);
  }

  // The name that the kernel gives the node, whatever it is called where it was opened.
  std::string name_of(const std::string& key, unsigned major, unsigned minor, bool block,
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
    places_[name] = *place;
    return name;
  }

  // NVIDIA's driver has no entry in sysfs for its nodes: "195 nvidia", "510 nvidia-nvswitch".
  std::string name_without_place(const std::string& key, unsigned major, unsigned minor, bool block,
                                 const std::string& link) {
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
  void look_at_consoles() {
    found_.clear();
    const auto consoles = host_->read_text("/proc/consoles").value_or("");
    for (const auto line : lines(consoles)) {
      const auto numbers = split(line.substr(line.rfind(' ') + 1), ":");
      if (numbers.size() != 2) continue;
      const auto major = parse_uint(numbers[0]), minor = parse_uint(numbers[1]);
      if (major && minor)
        add_node(false, static_cast<unsigned>(*major), static_cast<unsigned>(*minor), {});
    }
    if (!found_.empty()) writer_.answer("consoles()", 0, Json(found_));
  }

  void add_mounts(const std::string& link, bool& whole) {
    const auto name = host_->read_link(link);
    if (!name) return note_unless_ended(name.error(), whole);
    const auto inode = inode_of_mount_namespace(*name);
    note_error(inode ? spaces_.add(link, *inode) : fail(ErrorKind::io, link + ": " + *name), whole);
  }

  ProbeWriter& writer_;
  std::unique_ptr<Host> host_;
  MountNamespaces spaces_;
  std::set<std::string> seen_, found_, plain_;
  std::map<std::string, std::string> nodes_, places_;
  bool has_ring_ = false;  // the process that is looked at has a descriptor of one
  std::uint64_t refused_ = 0;
  std::string unread_;  // the first thing that could not be read, and why
};

}  // namespace

void probe_open_files(ProbeWriter& writer, std::span<const std::string>) {
  OpenFilesProbe(writer).run();
}

}  // namespace gpuready
