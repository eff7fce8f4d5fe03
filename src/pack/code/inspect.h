// Reads what `pack inspect` is given: a file, or every file of a folder.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/host.h"
#include "pack/code/file_report.h"

namespace gpuready::pack {

struct FolderLink {
  std::string path, target;
  bool dangling = false;
};

struct Inspection {
  std::string path;
  std::string kind;               // "file", "folder"
  std::vector<FileReport> files;  // libraries, programs, and all that holds device code; by path
  std::uint64_t files_read = 0, bytes_read = 0;
  std::vector<std::string> names;  // of every regular file and link, relative; sorted
  std::vector<FolderLink> links;   // symbolic ones
  std::vector<std::string> problems;
};

// `progress` hears of each file before it is read. A file that cannot be read is a problem of the
// inspection, and an error where it is the one that was named. Links are not followed within a
// folder.
using Progress = std::function<void(const std::string& path)>;
Result<Inspection> inspect_path(Host& host, const std::string& path, const Progress& progress = {});

}  // namespace gpuready::pack
