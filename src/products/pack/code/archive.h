// Archives of files, read from front to back: zip (wheels, conda packages), tar and cpio, packed or
// not (source archives, container image layers, rpm), single packed files, and Debian's packages.
// Nothing is unpacked to disk, and members are read one after the other through a window.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "pack/code/source.h"

namespace gpuready::pack {

enum class ArchiveKind {
  zip,
  packed,  // tar, cpio, rpm, or one file; under gzip, xz or zstd
  deb,
  unread,  // known, and not read: bzip2, 7-Zip, RAR
};
inline constexpr std::size_t kArchiveHead = 512;
// What these first bytes of a file begin; nothing where that is not an archive. A static library is
// none: its members belong together.
std::optional<ArchiveKind> archive_kind(Bytes head);

// Names that archives have, so that not every file of a folder that begins like one is opened:
// "x.whl", "layer.tar.gz", and names without a dot, as the blobs of container images have them.
bool is_archive_name(std::string_view path);

// Of a file that has the name of an archive and does not begin as one: what is wrong with it.
// Empty: nothing. An empty tar is nothing but zeros.
std::string not_an_archive(std::string_view path, Bytes head);
struct Member {
  enum class Kind { file, link, folder, device };
  std::string name = {};  // as the archive says it: it may lead anywhere
  Kind kind = Kind::file;
  std::optional<std::uint64_t> size = {};  // where it is known beforehand
  // Of a link, where the archive says it here: the text of a symbolic one, or the member that a
  // hard one is another name of.
  std::string symbolic_link = {}, hard_link = {};
  bool executable = false;
};
// Hears of each member in its order. `read` gives its bytes until the call ends, and an error where
// they are damaged. An error of its own ends the reading of the archive.
using OnMember = std::function<Result<void>(const Member&, const StreamSource::Read& read)>;
// What is wrong with one member, or with the archive, that does not hinder reading the rest.
using OnFault = std::function<void(const std::string& member, const std::string& text)>;

struct ArchiveReading {
  std::string name;  // of the archive: of its one member where that has none
  OnMember on_member;
  OnFault on_fault;
};
// Reads an archive that begins here. An error: the rest could not be read.
Result<void> read_archive(Source& source, ArchiveKind kind, const ArchiveReading& reading);
Result<void> read_zip(Source& source, const ArchiveReading& reading);
Result<void> read_packed(Source& source, const ArchiveReading& reading);
Result<void> read_deb(Source& source, const ArchiveReading& reading);

}  // namespace gpuready::pack
