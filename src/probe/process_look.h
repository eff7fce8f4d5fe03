// What processes hold of devices, by the numbers of what they hold: a node may be in any folder,
// under any name, or deleted. Every thread may have descriptors of its own, and a mapping outlives
// the descriptor that it was made with. Only links, numbers and tables of the kernel are read: no
// device is touched.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "host/host.h"
#include "probe/mount_namespaces.h"
#include "probe/proc_files.h"

namespace gpuready {

struct Held {
  std::map<std::uint32_t, std::set<std::string>> open;  // device files, by process
  std::map<std::string, std::string> places;            // where their devices are in sysfs
  // By process: the first thing that could not be read, and why.
  std::map<std::uint32_t, std::string> unread;

  void add(Held&& others);
};

// For one thread at a time.
class ProcessLook {
 public:
  // `proc` is /proc, open. `spaces` may be shared with other looks.
  ProcessLook(int proc, MountNamespaces& spaces);

  // Whether it holds neither a device nor what may hide one.
  bool look_at(std::uint32_t process);
  // The kernel's, as those of process 0.
  void look_at_consoles();

  Held held;

 private:
  // A descriptor of a thread, or a file that a process has mapped: then `task` is empty.
  struct File {
    int folder;  // open, so that the kernel walks one name and not five
    std::string name, task;
    std::string path() const { return task.empty() ? name : task + "/fd/" + name; }
    std::string info() const { return task + "/fdinfo/" + name; }
  };
  using Device = std::pair<std::uint32_t, std::uint32_t>;
  static Device device_of(const struct statx& status) {
    return {status.stx_dev_major, status.stx_dev_minor};
  }
  static std::optional<Device> anonymous_device();

  void look_at_thread(std::uint32_t thread, const std::string& task);
  bool add_mounts(const std::string& link);
  void add_open(const std::string& task);
  void add_mapped(const std::string& task);
  bool add_file(const File& file);
  bool add_anonymous(const File& file);
  void add_ring(const File& file);
  bool add_registered(const std::string& path);
  void add_vfio_device(std::string_view info);
  void add_node(bool block, unsigned major, unsigned minor, const std::string& link);
  std::string name_of(const std::string& key, unsigned major, unsigned minor, bool block,
                      const std::string& link);
  std::string name_without_place(const std::string& key, unsigned major, unsigned minor, bool block,
                                 const std::string& link);
  std::vector<std::uint32_t> numbers(const Descriptor& folder, const std::string& path);
  void note_sent_files(const std::string& info);
  void note_unknown(const std::string& what) { held.unread.try_emplace(process_, what); }
  void note_unless_ended(const Error& error);
  void note_unread(const std::string& path, int error);

  int proc_;
  MountNamespaces& spaces_;
  std::unique_ptr<Host> host_ = make_live_host();
  std::optional<Device> anonymous_ = anonymous_device();
  TextReader maps_, text_;
  std::set<std::string, std::less<>> plain_;  // inodes of mapped files, none of a device
  std::map<std::string, std::string> nodes_;
  // Of the process that is looked at: a descriptor of an io_uring, a mapping of one, and the latest
  // threads whose tables were read.
  std::uint32_t process_ = 0;
  std::set<std::string> found_;
  bool has_ring_ = false, maps_ring_ = false;
  std::uint32_t place_of_ = 0, files_of_ = 0, memory_of_ = 0;
};

}  // namespace gpuready
