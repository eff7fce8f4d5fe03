#include "host/process_state.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

namespace gpuready {
namespace {

bool stat_file_says_d(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char text[1024];
  const ssize_t size = read(fd, text, sizeof text);
  close(fd);
  return size > 0 && state_in_stat({text, static_cast<std::size_t>(size)}) == 'D';
}

}  // namespace

char state_in_stat(std::string_view stat) {
  const auto name_end = stat.rfind(')');
  if (name_end == std::string_view::npos || name_end + 2 >= stat.size() ||
      stat[name_end + 1] != ' ')
    return 0;
  return stat[name_end + 2];
}

bool in_uninterruptible_sleep(int pid, const std::string& proc_root) {
  const std::string folder = proc_root + "/" + std::to_string(pid);
  if (stat_file_says_d(folder + "/stat")) return true;
  // A killed process whose other thread sleeps in a driver shows its leader as a zombie.
  DIR* tasks = opendir((folder + "/task").c_str());
  if (tasks == nullptr) return false;
  bool found = false;
  while (const dirent* entry = readdir(tasks)) {
    if (entry->d_name[0] == '.') continue;
    if (stat_file_says_d(folder + "/task/" + entry->d_name + "/stat")) {
      found = true;
      break;
    }
  }
  closedir(tasks);
  return found;
}

}  // namespace gpuready
