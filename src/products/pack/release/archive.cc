#include "pack/release/archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/bytes.h"
#include "host/atomic_file.h"
#include "host/mapped_file.h"
#include "host/recording/tar_writer.h"

namespace gpuready::pack {
namespace {

constexpr std::size_t kPiece = 4u << 20;

// The published files, one after the other, cut at a size. Nothing has its name before all is
// written.
class Parts {
 public:
  Parts(std::string folder, std::string name, std::uint64_t part_bytes, Storage& storage)
      : folder_(std::move(folder)), name_(std::move(name)), limit_(part_bytes), storage_(storage) {}

  Result<void> write(std::string_view bytes) {
    while (!bytes.empty()) {
      if (files_.empty() || done_.back().size_bytes == limit_) TRY(open());
      const auto now = bytes.substr(0, limit_ - done_.back().size_bytes);
      TRY(files_.back().write(now));
      hash_.add(now);
      done_.back().size_bytes += now.size();
      total_ += now.size();
      bytes.remove_prefix(now.size());
    }
    return {};
  }
  std::uint64_t total() const { return total_; }

  Result<std::vector<ArchivePart>> commit() {
    if (!done_.empty()) done_.back().sha256 = to_hex(hash_.finish());
    for (auto& file : files_) TRY(file.commit());
    return std::move(done_);
  }

 private:
  Result<void> open() {
    if (!done_.empty()) done_.back().sha256 = to_hex(hash_.finish());
    hash_ = Sha256Stream();
    const auto name =
        limit_ == UINT64_MAX ? name_ : fmt::format("{}.{:03}", name_, files_.size() + 1);
    files_.push_back(TRY(AtomicFile::create(folder_ + "/" + name, {}, storage_)));
    done_.push_back({name, 0, {}});
    return {};
  }

  std::string folder_, name_;
  std::uint64_t limit_, total_ = 0;
  Storage& storage_;
  std::vector<AtomicFile> files_;
  std::vector<ArchivePart> done_;
  Sha256Stream hash_;
};

class Compressor {
 public:
  explicit Compressor(int level) : context_(ZSTD_createCCtx(), ZSTD_freeCCtx) {
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, level);
    // What one worker writes is what many write, and not what none writes.
    const int workers = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_nbWorkers, workers);
    buffer_.resize(ZSTD_CStreamOutSize());
  }

  void begin(std::uint64_t size) {
    ZSTD_CCtx_reset(context_.get(), ZSTD_reset_session_only);
    ZSTD_CCtx_setPledgedSrcSize(context_.get(), size);
  }

  Result<void> add(std::string_view bytes, bool last, Parts& to) {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    for (;;) {
      ZSTD_outBuffer out{buffer_.data(), buffer_.size(), 0};
      const auto left =
          ZSTD_compressStream2(context_.get(), &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);
      if (ZSTD_isError(left))
        return fail(ErrorKind::io, fmt::format("zstd: {}", ZSTD_getErrorName(left)));
      TRY(to.write({buffer_.data(), out.pos}));
      if (last ? left == 0 : in.pos == in.size) return {};
    }
  }

 private:
  std::unique_ptr<ZSTD_CCtx, std::size_t (*)(ZSTD_CCtx*)> context_;
  std::string buffer_;
};

Result<void> bad(const std::string& path, std::string_view wrong) {
  return fail(ErrorKind::bad_input, fmt::format("{}: {}", path, wrong));
}

Result<void> check(const ArchiveEntry& entry) {
  if (const auto wrong = wrong_with_path(entry.path)) return bad(entry.path, *wrong);
  if (!entry.link) return {};
  if (const auto wrong = wrong_with_link(entry.path, *entry.link)) return bad(entry.path, *wrong);
  if (entry.link->size() > kTarLinkBytes)
    return bad(entry.path, "its link is too long for a tar archive");
  return {};
}

Result<PackedFile> write_entry(const ArchiveEntry& entry, Compressor& compressor, Parts& parts,
                               const ArchiveOptions& options) {
  PackedFile file;
  file.path = entry.path;
  file.link = entry.link;
  // A frame of its own, so that the one that the manifest names holds the file as any other.
  if (!tar_name_fits(entry.path)) {
    const auto name = tar_long_name(entry.path);
    compressor.begin(name.size());
    TRY(compressor.add(name, true, parts));
  }
  if (entry.link) {
    compressor.begin(kTarBlock);
    TRY(compressor.add(tar_header({.name = entry.path, .mode = 0777, .link = *entry.link}), true,
                       parts));
    return file;
  }
  const auto source = TRY(MappedFile::open(entry.source));
  auto content = text_of(source.bytes());
  file.size_bytes = content.size();
  file.executable = entry.executable;
  file.offset_bytes = parts.total();
  file.sha256 = to_hex(sha256(source.bytes()));
  const auto padding = tar_padding(content.size());
  compressor.begin(kTarBlock + content.size() + padding);
  TRY(compressor.add(tar_header({.name = entry.path,
                                 .size_bytes = content.size(),
                                 .mode = entry.executable ? 0755u : 0644u}),
                     false, parts));
  while (!content.empty()) {
    const auto now = content.substr(0, kPiece);
    TRY(compressor.add(now, false, parts));
    if (options.progress) options.progress(now.size());
    content.remove_prefix(now.size());
  }
  TRY(compressor.add(std::string(padding, '\0'), true, parts));
  file.frame_bytes = parts.total() - file.offset_bytes;
  return file;
}

}  // namespace

Result<WrittenArchive> write_archive(std::vector<ArchiveEntry> entries, const std::string& folder,
                                     const std::string& name, const ArchiveOptions& options,
                                     Storage& storage) {
  std::ranges::sort(entries, {}, &ArchiveEntry::path);
  WrittenArchive written;
  Parts parts(folder, name, options.part_bytes, storage);
  Compressor compressor(options.level);
  for (const auto& entry : entries) {
    TRY(check(entry));
    written.files.push_back(TRY(write_entry(entry, compressor, parts, options)));
  }
  compressor.begin(2 * kTarBlock);
  TRY(compressor.add(std::string(2 * kTarBlock, '\0'), true, parts));
  written.parts = TRY(parts.commit());
  return written;
}

FrameReader::FrameReader(const PackedFile& file, Sink sink)
    : file_(&file), sink_(std::move(sink)), decoder_(ZSTD_createDCtx(), ZSTD_freeDCtx) {
  buffer_.resize(ZSTD_DStreamOutSize());
}

Result<void> FrameReader::take(std::string_view decoded) {
  const std::uint64_t begin = kTarBlock, end = begin + file_->size_bytes;
  const std::uint64_t from = decoded_bytes_, to = decoded_bytes_ + decoded.size();
  decoded_bytes_ = to;
  if (to > end + tar_padding(file_->size_bytes))
    return bad(file_->path, "the archive holds more than the manifest says");
  if (to <= begin || from >= end) return {};
  const auto first = std::max(from, begin), last = std::min(to, end);
  const auto content = decoded.substr(first - from, last - first);
  hash_.add(content);
  return sink_(content);
}

Result<void> FrameReader::add(std::string_view compressed) {
  if (ended_ && !compressed.empty())
    return bad(file_->path, "bytes follow its frame in the archive");
  ZSTD_inBuffer in{compressed.data(), compressed.size(), 0};
  for (;;) {
    ZSTD_outBuffer out{buffer_.data(), buffer_.size(), 0};
    const auto before = in.pos;
    const auto left = ZSTD_decompressStream(decoder_.get(), &out, &in);
    if (ZSTD_isError(left))
      return bad(file_->path,
                 fmt::format("the archive is damaged (zstd: {})", ZSTD_getErrorName(left)));
    if (out.pos > 0) TRY(take({buffer_.data(), out.pos}));
    if (left == 0) {
      ended_ = true;
      if (in.pos != in.size) return bad(file_->path, "bytes follow its frame in the archive");
      return {};
    }
    if (in.pos == in.size && out.pos < out.size) return {};
    if (in.pos == before && out.pos == 0) return bad(file_->path, "the archive is damaged");
  }
}

Result<void> FrameReader::finish() {
  if (!ended_ || decoded_bytes_ != kTarBlock + file_->size_bytes + tar_padding(file_->size_bytes))
    return bad(file_->path, "the archive ends before the file does");
  if (to_hex(hash_.finish()) != file_->sha256)
    return bad(file_->path, "its SHA-256 is not the one of the manifest");
  return {};
}

}  // namespace gpuready::pack
