// The archive of a variant: a tar of zstd frames, one a file, so that a range of its bytes is one
// file; and the end of the archive in a frame of its own. `tar --zstd -x` reads it. The same files
// always give the same bytes: sorted by path, no times, owner root, modes 0644 or 0755.
#pragma once

#include <zstd.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/sha256.h"
#include "host/storage.h"
#include "pack/release/manifest.h"

namespace gpuready::pack {

struct ArchiveEntry {
  std::string path;    // in the package
  std::string source;  // the file that is read; empty for a link
  std::optional<std::string> link;
  bool executable = false;
};

struct ArchiveOptions {
  // Of 1618 MB of CUDA libraries, level 9 leaves 1011 MB, level 3 1047 MB, level 19 984 MB.
  int level = 9;
  std::uint64_t part_bytes = UINT64_MAX;  // where the archive is cut; GitHub: below 2 GiB
  std::function<void(std::uint64_t bytes)> progress = {};  // of content, since the last call
};

struct WrittenArchive {
  std::vector<PackedFile> files;
  std::vector<ArchivePart> parts;
};

// Writes `name` into the folder, or name.001, name.002, ... where it has several parts.
Result<WrittenArchive> write_archive(std::vector<ArchiveEntry> entries, const std::string& folder,
                                     const std::string& name, const ArchiveOptions& options = {},
                                     Storage& storage = live_storage());

// Takes what comes of a file and gives the file's bytes.
class ContentReader {
 public:
  using Sink = std::function<Result<void>(std::string_view bytes)>;
  virtual ~ContentReader() = default;
  virtual Result<void> add(std::string_view bytes) = 0;
  virtual Result<void> finish() = 0;  // all has come: whole, and the right one
};

// Takes the bytes of one frame as they come and gives those of the file; checks size and hash, and
// never gives more than the manifest says. Only the manifest counts: the tar header is passed over.
class FrameReader final : public ContentReader {
 public:
  FrameReader(const PackedFile& file, Sink sink);

  Result<void> add(std::string_view compressed) override;
  Result<void> finish() override;

 private:
  Result<void> take(std::string_view decoded);

  const PackedFile* file_;
  Sink sink_;
  std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> decoder_;
  std::string buffer_;
  Sha256Stream hash_;
  std::uint64_t decoded_bytes_ = 0;
  bool ended_ = false;
};

}  // namespace gpuready::pack
