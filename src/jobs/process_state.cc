#include "jobs/process_state.h"

#include <dirent.h>
#include <fcntl.h>

#include <charconv>
#include <memory>

#include "base/descriptor.h"

namespace gpuready {
namespace {

std::string start_of(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char text[1024];
  const ssize_t size = file ? read(file.get(), text, sizeof text) : 0;
  return {text, size > 0 ? static_cast<std::size_t>(size) : 0};
}

// Of one process or thread.
std::optional<std::string> sleep_in(const std::string& folder) {
  if (state_in_stat(start_of(folder + "/stat")) != 'D') return std::nullopt;
  std::string function = start_of(folder + "/wchan");
  return function == "0" ? std::string() : function;
}

}  // namespace

char state_in_stat(std::string_view stat) {
  const auto name_end = stat.rfind(')');
  if (name_end == std::string_view::npos || name_end + 2 >= stat.size() ||
      stat[name_end + 1] != ' ')
    return 0;
  return stat[name_end + 2];
}

int parent_in_stat(std::string_view stat) {
  const auto name_end = stat.rfind(')');
  if (state_in_stat(stat) == 0 || name_end + 4 > stat.size()) return -1;
  const auto rest = stat.substr(name_end + 4);
  int parent = -1;
  std::from_chars(rest.data(), rest.data() + rest.size(), parent);
  return parent;
}

std::optional<std::string> uninterruptible_sleep(int pid, const std::string& proc_root) {
  const std::string folder = proc_root + "/" + std::to_string(pid);
  if (auto function = sleep_in(folder)) return function;
  // A killed process whose other thread sleeps in a driver shows its leader as a zombie.
  const std::string tasks = folder + "/task";
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(opendir(tasks.c_str()), closedir);
  while (const dirent* entry = listing ? readdir(listing.get()) : nullptr) {
    if (entry->d_name[0] == '.') continue;
    if (auto function = sleep_in(tasks + "/" + entry->d_name)) return function;
  }
  return std::nullopt;
}

}  // namespace gpuready
