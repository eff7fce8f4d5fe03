// Which container runtime we are in, and the cgroup limits that hold here.
#include "machine/system/container.h"

#include <algorithm>

#include "base/kernel/mount_table.h"
#include "base/text.h"
#include "machine/sources.h"

namespace gpuready {
namespace {
constexpr std::uint64_t kNoLimit = 1ull << 60;

struct Marker {
  std::string_view part, runtime;
};
// Parts of a cgroup path that a runtime gives away, the inner one first.
constexpr Marker kPathMarkers[] = {
    {"kubepods", "kubernetes"},
    {"/docker", "docker"},
    {"docker-", "docker"},
    {"libpod", "podman"},
    {"/lxc", "lxc"},
    {"cri-containerd", "containerd"},
    {"containerd", "containerd"},
    {"crio-", "cri-o"},
    {"/garden", "garden"},
    {"/.lxc", "lxc"},
};
// Folders of the layers that a runtime joins to a container's root. Live systems join layers, too.
constexpr Marker kLayerMarkers[] = {
    {"/containerd/", "containerd"}, {"/docker/", "docker"}, {"/containers/storage/", "podman"}};

std::optional<std::string> find_runtime(Host& host, const std::string& cgroups) {
  if (host.environment("KUBERNETES_SERVICE_HOST")) return "kubernetes";
  if (host.exists("/run/.containerenv")) return "podman";
  if (host.exists("/.dockerenv")) return "docker";
  for (const char* variable : {"APPTAINER_CONTAINER", "SINGULARITY_CONTAINER"})
    if (host.environment(variable)) return "apptainer";
  // systemd's container interface: "lxc", "systemd-nspawn", "podman", ...
  if (const auto name = host.environment("container"); name && !name->empty())
    return printable(*name);
  if (const auto name = host.read_text("/run/systemd/container")) return name;
  for (const auto& marker : kPathMarkers)
    if (contains(cgroups, marker.part)) return std::string(marker.runtime);
  // A session by ssh has none of the container's variables, and cgroup namespaces hide paths.
  if (host.exists("/run/secrets/kubernetes.io")) return "kubernetes";
  if (const auto mounts = host.read_file("/proc/self/mountinfo", 4u << 20)) {
    const auto* marker = std::ranges::find(kLayerMarkers, layers_folder(*mounts), &Marker::part);
    if (marker != std::end(kLayerMarkers)) return std::string(marker->runtime);
  }
  if (maps_whole_system(host.read_text("/proc/self/uid_map").value_or(""))) return "lxc";
  return std::nullopt;
}

struct Files {
  std::string root, limit, usage, inactive_key;
};

// The least limit of the group and its ancestors, and what the group that has it uses. In a
// container the path may name folders that are not mounted; those simply do not answer.
void read_memory(Host& host, const Files& files, const std::string& path, Container& container) {
  std::optional<std::string> limiting;
  for (const auto& group : cgroup_ancestors(path)) {
    const std::string base = files.root + (group == "/" ? "" : group) + "/";
    const auto text = host.read_text(base + files.limit);
    const auto limit = text ? parse_memory_limit(*text) : std::nullopt;
    if (!limit || (container.memory_limit_bytes && *limit >= *container.memory_limit_bytes))
      continue;
    container.memory_limit_bytes = limit;
    limiting = base;
  }
  if (!limiting) return;
  const auto usage = host.read_text(*limiting + files.usage);
  const auto used = usage ? parse_uint(*usage) : std::nullopt;
  if (!used) return;
  // Inactive file pages are given back before anything is killed: they are not in use.
  const auto stat = host.read_file(*limiting + "memory.stat");
  const auto inactive = stat ? parse_stat(*stat, files.inactive_key) : std::nullopt;
  container.memory_used_bytes = *used - std::min(*used, inactive.value_or(0));
}

void read_cpu_v2(Host& host, const std::string& path, Container& container) {
  for (const auto& group : cgroup_ancestors(path)) {
    const auto text = host.read_text("/sys/fs/cgroup" + (group == "/" ? "" : group) + "/cpu.max");
    const auto limit = text ? parse_cpu_max(*text) : std::nullopt;
    if (limit && (!container.cpu_limit || *limit < *container.cpu_limit))
      container.cpu_limit = limit;
  }
}

void read_cpu_v1(Host& host, const std::string& path, Container& container) {
  for (const auto& group : cgroup_ancestors(path)) {
    const std::string base = "/sys/fs/cgroup/cpu" + (group == "/" ? "" : group) + "/";
    const auto quota = host.read_int(base + "cpu.cfs_quota_us");
    const auto period = host.read_int(base + "cpu.cfs_period_us");
    if (!quota || !period || *quota <= 0 || *period <= 0) continue;
    const double limit = static_cast<double>(*quota) / static_cast<double>(*period);
    if (!container.cpu_limit || limit < *container.cpu_limit) container.cpu_limit = limit;
  }
}
}  // namespace

std::vector<std::string_view> cgroup_markers() {
  std::vector<std::string_view> parts{"slurm"};  // by which gpu_use.cc knows a job
  for (const auto& marker : kPathMarkers) parts.push_back(marker.part);
  return parts;
}

std::string_view layers_folder(std::string_view mounts) {
  for (const auto& mount : parse_mounts(mounts))
    for (const auto& marker : kLayerMarkers)
      if (mount.point == "/" && mount.type == "overlay" && contains(mount.options, marker.part))
        return marker.part;
  return {};
}

bool maps_whole_system(std::string_view uid_map) {
  constexpr std::uint64_t kIds = 65536;
  const auto words = split(uid_map, " \t\n");
  return words.size() >= 3 && words[0] == "0" && words[1] != "0" &&
         parse_uint(words[2]).value_or(0) >= kIds;
}

CgroupPaths parse_cgroup_paths(std::string_view text) {
  CgroupPaths out;
  for (const auto line : lines(text)) {
    const auto first = line.find(':');
    const auto second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    const auto controllers = line.substr(first + 1, second - first - 1);
    const auto path = line.substr(second + 1);
    if (!path.starts_with('/')) continue;
    if (controllers.empty() && line.substr(0, first) == "0") out.unified = std::string(path);
    for (const auto controller : split(controllers, ",")) {
      if (controller == "memory") out.memory = std::string(path);
      if (controller == "cpu") out.cpu = std::string(path);
    }
  }
  return out;
}

std::optional<std::uint64_t> parse_memory_limit(std::string_view text) {
  const auto limit = parse_uint(text);
  if (!limit || *limit >= kNoLimit) return std::nullopt;
  return limit;
}

std::optional<double> parse_cpu_max(std::string_view text) {
  const auto words = split(text, " \t\n");
  if (words.size() != 2) return std::nullopt;
  const auto quota = parse_uint(words[0]), period = parse_uint(words[1]);
  if (!quota || !period || *quota == 0 || *period == 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

std::vector<std::string> cgroup_ancestors(std::string_view path) {
  constexpr std::size_t kDeepest = 64;
  std::vector<std::string> out;
  std::string at;
  for (const auto part : split(path, "/")) {
    if (part == "..") {  // a path outside of our cgroup namespace
      at.clear();
      out.clear();
      continue;
    }
    if (part == "." || out.size() == kDeepest) continue;
    at += "/";
    at += part;
    out.push_back(at);
  }
  std::reverse(out.begin(), out.end());
  out.emplace_back("/");
  return out;
}

std::optional<std::uint64_t> parse_stat(std::string_view text, std::string_view key) {
  for (const auto line : lines(text))
    if (const auto rest = after_prefix(line, key); rest && rest->starts_with(' '))
      return parse_uint(*rest);
  return std::nullopt;
}

std::optional<std::uint64_t> available_memory_bytes(const Machine& machine) {
  const auto available = machine.system.memory_available_bytes;
  const auto limit = machine.container.memory_limit_bytes;
  if (!limit) return available;
  const auto left = *limit - std::min(*limit, machine.container.memory_used_bytes.value_or(0));
  return std::min(available.value_or(left), left);
}

void read_container(Host& host, Machine& machine) {
  auto& container = machine.container;
  const auto cgroups = host.read_file("/proc/self/cgroup");
  if (!cgroups) note_unseen(machine, "cgroup limits", cgroups.error());
  container.runtime = find_runtime(host, cgroups.value_or(""));
  if (!cgroups) return;
  const auto paths = parse_cgroup_paths(*cgroups);
  if (paths.memory) {
    container.cgroup_version = "1";
    container.cgroup_path = printable(*paths.memory);
    read_memory(host,
                {"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
                 "total_inactive_file"},
                *paths.memory, container);
  } else if (paths.unified) {
    container.cgroup_version = "2";
    container.cgroup_path = printable(*paths.unified);
    read_memory(host, {"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"},
                *paths.unified, container);
  }
  if (paths.cpu)
    read_cpu_v1(host, *paths.cpu, container);
  else if (paths.unified)
    read_cpu_v2(host, *paths.unified, container);
}

}  // namespace gpuready
