// The regular files that the live host has read in this process, so that no report replaces one.
#pragma once

#include <sys/stat.h>

#include <mutex>
#include <set>
#include <utility>

namespace gpuready {

class FilesRead {
 public:
  static FilesRead& of_process() {
    static FilesRead files;
    return files;
  }
  void add(const struct stat& file) {
    const std::lock_guard guard(mutex_);
    files_.emplace(file.st_dev, file.st_ino);
  }
  bool contains(const struct stat& file) const {
    const std::lock_guard guard(mutex_);
    return files_.contains({file.st_dev, file.st_ino});
  }

 private:
  mutable std::mutex mutex_;
  std::set<std::pair<dev_t, ino_t>> files_;
};

}  // namespace gpuready
