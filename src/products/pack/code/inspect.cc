#include "pack/code/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/paths.h"
#include "base/text.h"
#include "host/mapped_file.h"
#include "http/url_stream.h"
#include "pack/code/archive.h"
#include "pack/code/image_layers.h"

namespace gpuready::pack {
namespace {

constexpr int kMostDepth = 64;    // of folders
constexpr int kMostArchives = 6;  // in each other
constexpr std::size_t kMostNames = 1u << 20;
constexpr std::size_t kMostNameBytes = 4096;
constexpr std::size_t kMostProblems = 200;
constexpr std::size_t kMostImages = 1000;
// Libraries pack to a third; beyond a gigabyte, what unpacks to this many times its size is made to
// keep readers busy.
constexpr std::uint64_t kFreeBytes = std::uint64_t{1} << 30, kMostRatio = 200;

std::string_view name_fault(std::string_view name) {
  if (name.empty()) return "it has no name";
  if (name.size() > kMostNameBytes) return "its name is too long";
  if (name.front() == '/') return "its name is absolute: it would be unpacked outside the folder";
  for (const auto part : split(name, "/"))
    if (part == "..") return "its name leads out of the folder that it is unpacked into";
  return {};
}

// Of names that no one would give: nothing has to be found by them.
std::string shortened(const std::string& name) {
  constexpr std::size_t kShown = 200;
  return name.size() <= kMostNameBytes ? name : name.substr(0, kShown) + "...";
}

class Reader {
 public:
  Reader(Host& host, const Progress& progress) : host_(host), progress_(progress) {}

  // `named`: by the caller, so that any archive is opened and any file is listed.
  Result<void> read_file(const std::string& path, const std::string& name, bool named) {
    if (progress_) progress_(name);
    const auto mapped = TRY(MappedFile::open(path));
    const Bytes bytes = mapped.bytes();
    const auto kind = archive_kind(slice(bytes, 0, kArchiveHead));
    if (kind && (named || is_archive_name(name))) {
      MemorySource source(bytes, true);
      outermost_ = &source;
      outer_bytes_ = bytes.size();
      unpacked_ = 0;
      bomb_ = bomb_said_ = false;
      read_members(source, *kind, name, 1);
      if (named) found.kind = "archive";
    } else {
      check_name(name, slice(bytes, 0, kArchiveHead));
      if (bytes.size() <= kMostImageDocument) note_image(name, bytes);
      add(inspect_bytes(name, bytes, true), named);
    }
    return {};
  }

  Result<void> read_url(const std::string& url) {
    const auto stream = TRY(open_url_stream(url));
    const std::string name(stream->name());
    if (progress_) progress_(name);
    ElfPieces pieces;
    StreamSource source([&](std::span<std::uint8_t> to) -> Result<std::size_t> {
      const auto got = TRY(stream->read(to));
      pieces.add(to.first(got));
      return got;
    });
    outermost_ = &source;
    const auto kind = archive_kind(source.peek(kArchiveHead));
    if (source.error()) return std::unexpected(*source.error());
    found.kind = kind ? "archive" : "file";
    if (kind) {
      read_members(source, *kind, name, 1);
    } else {
      check_name(name, slice(source.peek(kArchiveHead), 0, kArchiveHead));
      found.names.push_back(name);
      add(inspect_source(name, source, pieces), true);
    }
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
        if (const auto read = read_file(full, shown, false); !read) problem(read.error().message);
      }
    }
  }

  Inspection finish() {
    if (problems_left_out_ > 0)
      found.problems.push_back(fmt::format("and {} problems more", problems_left_out_));
    std::sort(found.names.begin(), found.names.end());
    leave_out_hidden();
    return std::move(found);
  }

  Inspection found = {};

 private:
  // What holds device code, or is a library, and is in no image.
  void leave_out_hidden() {
    const auto hidden = hidden_in_images(images_, found.names);
    std::erase_if(found.files, [&](const FileReport& file) {
      if (!hidden.contains(file.path)) return false;
      found.hidden.push_back(file.path);
      return true;
    });
  }

  void note_image(const std::string& name, Bytes head) {
    if (head.empty() || (head[0] != '{' && head[0] != '[')) return;
    for (auto& stack : layers_of_image(name, text_of(head)))
      if (images_.size() < kMostImages) images_.push_back(std::move(stack));
  }

  void check_name(const std::string& name, Bytes head) {
    if (const auto wrong = not_an_archive(name, head); !wrong.empty())
      problem(fmt::format("{}: {}", name, wrong));
  }

  void problem(std::string text) {
    if (found.problems.size() < kMostProblems) {
      found.problems.push_back(std::move(text));
    } else {
      ++problems_left_out_;
    }
  }

  void add(FileReport report, bool named) {
    ++found.files_read;
    found.bytes_read += report.bytes;
    if (report.elf || report.has_code() || !report.problems.empty() ||
        (named && !report.foreign.empty()))
      found.files.push_back(std::move(report));
  }

  void read_members(Source& source, ArchiveKind kind, const std::string& name, int depth) {
    if (depth > kMostArchives)
      return problem(fmt::format("{}: more than {} archives in each other", name, kMostArchives));
    std::set<std::string> seen;
    const auto full_name = [&](const std::string& member) { return name + "!" + member; };
    const ArchiveReading reading{
        .name = name,
        .on_member = [&](const Member& member, const StreamSource::Read& read) -> Result<void> {
          const std::string full = full_name(shortened(member.name));
          if (const auto fault = name_fault(member.name); !fault.empty())
            problem(fmt::format("{}: {}", full, fault));
          if (member.kind == Member::Kind::folder) return {};
          if (found.names.size() == kMostNames)
            return fail(ErrorKind::too_large, fmt::format("more than {} files", kMostNames));
          if (!seen.insert(member.name).second)
            problem(full + ": the archive holds this name twice; unpacked, the last one stays");
          if (member.kind == Member::Kind::device) {
            problem(full + ": a device, pipe or socket");
            return {};
          }
          found.names.push_back(full);
          if (member.kind == Member::Kind::file) TRY(read_member(full, member, read, depth));
          if (bomb_)
            return fail(ErrorKind::too_large,
                        fmt::format("it unpacks to more than {} times its size: the rest is not "
                                    "read",
                                    kMostRatio));
          return {};
        },
        .on_fault =
            [&](const std::string& member, const std::string& text) {
              problem(fmt::format("{}: {}", member.empty() ? name : full_name(shortened(member)),
                                  text));
            }};
    const auto read = read_archive(source, kind, reading);
    // What stops the innermost archive stops those around it: one line says so.
    if (!read && !bomb_said_) problem(fmt::format("{}: {}", name, read.error().message));
    bomb_said_ = bomb_;
  }

  Result<void> read_member(const std::string& name, const Member& member,
                           const StreamSource::Read& read, int depth) {
    if (progress_) progress_(name);
    ElfPieces pieces;
    StreamSource source(
        [&](std::span<std::uint8_t> to) -> Result<std::size_t> {
          const auto got = TRY(read(to));
          unpacked_ += got;
          const auto outer = outer_bytes_ > 0 ? outer_bytes_ : outermost_->position();
          if (unpacked_ > kFreeBytes && unpacked_ / kMostRatio > outer) {
            bomb_ = true;
            return 0;
          }
          pieces.add(to.first(got));
          return got;
        },
        member.size, std::move(buffer_));
    const auto kind = archive_kind(source.peek(kArchiveHead));
    if (kind && is_archive_name(name)) {
      read_members(source, *kind, name, depth + 1);
    } else {
      check_name(name, slice(source.peek(kArchiveHead), 0, kArchiveHead));
      if (depth == 1 && member.size.value_or(kMostImageDocument + 1) <= kMostImageDocument)
        note_image(name, source.peek(static_cast<std::size_t>(*member.size)));
      add(inspect_source(name, source, pieces), false);
    }
    buffer_ = source.take_buffer();
    return {};
  }

  Host& host_;
  const Progress& progress_;
  std::vector<std::uint8_t> buffer_ = {};  // of the last member
  const Source* outermost_ = nullptr;
  std::uint64_t outer_bytes_ = 0, unpacked_ = 0;
  std::size_t problems_left_out_ = 0;
  std::vector<LayerStack> images_ = {};
  bool bomb_ = false, bomb_said_ = false;  // of the file that is read
};

}  // namespace

Result<Inspection> inspect_path(Host& host, const std::string& path, const Progress& progress) {
  Reader reader(host, progress);
  if (is_url(path)) {
    TRY(reader.read_url(path));
    reader.found.path = url_without_password(path);
    return reader.finish();
  }
  const auto status = TRY(host.status(path));
  reader.found.path = path;
  if (status.kind == FileKind::directory) {
    reader.found.kind = "folder";
    reader.read_folder(path, "", 0);
  } else {
    reader.found.kind = "file";
    const std::string name(base_name(path));
    TRY(reader.read_file(path, name, true));
    if (reader.found.kind == "file") reader.found.names.push_back(name);
  }
  return reader.finish();
}

}  // namespace gpuready::pack
