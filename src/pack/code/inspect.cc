#include "pack/code/inspect.h"

#include <algorithm>

#include "host/mapped_file.h"

namespace gpuready::pack {
namespace {

constexpr int kMostDepth = 64;

class Reader {
 public:
  Reader(Host& host, const Progress& progress) : host_(host), progress_(progress) {}

  Result<void> read_file(const std::string& path, const std::string& name) {
    if (progress_) progress_(name);
    const auto mapped = TRY(MappedFile::open(path));
    ++found.files_read;
    found.bytes_read += mapped.bytes().size();
    FileReport report = inspect_bytes(name, mapped.bytes(), true);
    if (report.elf || report.has_code() || !report.problems.empty())
      found.files.push_back(std::move(report));
    return {};
  }

  void read_folder(const std::string& path, const std::string& inside, int depth) {
    const auto names = host_.list_directory(path);
    if (!names) return problem(names.error().message);
    if (depth > kMostDepth) return problem(path + ": too many folders in each other");
    for (const std::string& name : *names) {
      const std::string full = path + "/" + name,
                        shown = inside.empty() ? name : inside + "/" + name;
      if (const auto target = host_.read_link(full)) {
        found.names.push_back(shown);
        found.links.push_back({shown, *target, !host_.exists(full)});
        continue;
      }
      const auto status = host_.status(full);
      if (!status) {
        problem(status.error().message);
      } else if (status->kind == FileKind::directory) {
        read_folder(full, shown, depth + 1);
      } else if (status->kind == FileKind::regular) {
        found.names.push_back(shown);
        if (const auto read = read_file(full, shown); !read) problem(read.error().message);
      }
    }
  }

  Inspection found;

 private:
  void problem(std::string text) { found.problems.push_back(std::move(text)); }
  Host& host_;
  const Progress& progress_;
};

}  // namespace

Result<Inspection> inspect_path(Host& host, const std::string& path, const Progress& progress) {
  const auto status = TRY(host.status(path));
  Reader reader(host, progress);
  if (status.kind == FileKind::directory) {
    reader.found.kind = "folder";
    reader.read_folder(path, "", 0);
  } else {
    reader.found.kind = "file";
    const std::string name = path.substr(path.rfind('/') + 1);
    reader.found.names.push_back(name);
    TRY(reader.read_file(path, name));
  }
  reader.found.path = path;
  std::sort(reader.found.names.begin(), reader.found.names.end());
  return std::move(reader.found);
}

}  // namespace gpuready::pack
