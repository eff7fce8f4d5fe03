// Reads what `pack inspect` is given: a file, an archive, every file of a folder, or any of these
// at a URL.
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
  std::string kind;               // "file", "folder", "archive"
  std::vector<FileReport> files;  // libraries, programs, and all that holds device code
  std::uint64_t files_read = 0, bytes_read = 0;  // members of archives are files, too
  std::vector<std::string> names;                // of every regular file and link, relative; sorted
  std::vector<FolderLink> links;                 // symbolic ones, of a folder
  // Of container images: files that a later layer deletes or replaces. They are not among `files`.
  std::vector<std::string> hidden = {};
  std::vector<std::string> problems;
};

// `progress` hears of each file before it is read. Members of archives are named "wheel!member";
// archives in archives are read, too. Nothing is unpacked to disk, and memory does not grow with
// the size of what is read. What cannot be read is a problem of the inspection, and an error where
// it is what was named. Links are not followed within a folder.
using Progress = std::function<void(const std::string& path)>;
Result<Inspection> inspect_path(Host& host, const std::string& path, const Progress& progress = {});

}  // namespace gpuready::pack
