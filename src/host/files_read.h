// The regular files that the live host has read in this process, so that no report replaces one.
#pragma once

#include <sys/stat.h>

#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace gpuready {

class FilesRead {
 public:
  static FilesRead& of_process() {
    static FilesRead files;
    return files;
  }

  void add(const std::string& path, const struct stat& file) {
    const std::lock_guard guard(mutex_);
    paths_.insert_or_assign({file.st_dev, file.st_ino}, path);
  }

  // A removed file's inode number is given to the next new file: only a file that is still where it
  // was read counts.
  bool contains(const struct stat& file) const {
    const std::lock_guard guard(mutex_);
    const auto found = paths_.find({file.st_dev, file.st_ino});
    struct stat now{};
    return found != paths_.end() && ::stat(found->second.c_str(), &now) == 0 &&
           now.st_dev == file.st_dev && now.st_ino == file.st_ino;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<dev_t, ino_t>, std::string> paths_;
};

}  // namespace gpuready
