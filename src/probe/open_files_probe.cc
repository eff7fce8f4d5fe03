// Which processes hold device files: those that are open, and those that are mapped, for a mapping
// outlives the descriptor that it was made with. Only links and tables of the kernel are read: no
// device is touched.
#include <cerrno>
#include <set>
#include <string>
#include <string_view>

#include "base/text.h"
#include "host/host.h"
#include "probe/probes.h"

namespace gpuready {
namespace {

constexpr std::size_t kMostMapBytes = 64u << 20;

// What every process has open.
constexpr std::string_view kCommon[] = {
    "/dev/null", "/dev/zero", "/dev/full",  "/dev/random",  "/dev/urandom", "/dev/tty",
    "/dev/pts/", "/dev/ptmx", "/dev/shm/",  "/dev/console", "/dev/mqueue",  "/dev/fuse",
    "/dev/kmsg", "/dev/log",  "/dev/input", "/dev/pmsg",    "/dev/rtc",     "/dev/hugepages"};

bool is_device(std::string_view path) {
  if (!path.starts_with("/dev/")) return false;
  for (const auto common : kCommon)
    if (path.starts_with(common)) return false;
  return true;
}

// False: not permitted. A process that ended meanwhile holds nothing.
bool add_open(Host& host, const std::string& process, std::set<std::string>& found) {
  const auto descriptors = host.list_directory(process + "/fd");
  if (!descriptors) return descriptors.error().kind != ErrorKind::no_permission;
  for (const auto& descriptor : *descriptors)
    if (const auto path = host.read_link(process + "/fd/" + descriptor); path && is_device(*path))
      found.insert(*path);
  return true;
}

void add_mapped(Host& host, const std::string& process, std::set<std::string>& found) {
  const auto maps = host.read_file(process + "/maps", kMostMapBytes);
  if (!maps) return;
  for (const auto line : lines(*maps))
    if (const auto start = line.find("/dev/");
        start != line.npos && is_device(trim(line.substr(start))))
      found.emplace(trim(line.substr(start)));
}

}  // namespace

void probe_open_files(ProbeWriter& writer, std::span<const std::string>) {
  const auto host = make_live_host();
  const auto processes = host->list_directory("/proc");
  if (!processes) {
    writer.answer("processes()", processes.error().code ? processes.error().code : EIO);
    return;
  }
  std::uint64_t count = 0, refused = 0;
  for (const auto& name : *processes) {
    if (!parse_uint(name)) continue;
    ++count;
    std::set<std::string> found;
    if (!add_open(*host, "/proc/" + name, found)) ++refused;
    add_mapped(*host, "/proc/" + name, found);
    if (!found.empty()) writer.answer("open(" + name + ")", 0, Json(found));
  }
  writer.answer("processes()", 0, Json{{"count", count}, {"refused", refused}});
}

}  // namespace gpuready
