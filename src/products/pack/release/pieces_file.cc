#include "pack/release/pieces_file.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <set>

#include "base/bytes.h"
#include "base/sha256.h"
#include "base/text.h"
#include "host/atomic_file.h"
#include "host/mapped_file.h"
#include "pack/release/archive.h"
#include "pack/release/cuts.h"

namespace gpuready::pack {
namespace {

constexpr int kLevel = 9;

std::string pieces_name(const Manifest& manifest, std::string_view version,
                        const Variant& variant) {
  return fmt::format("{}-{}-{}.pieces", manifest.name, version, variant.name);
}

// What an installation of an earlier release has.
struct Earlier {
  std::set<std::string, std::less<>> files;   // that are the same now, by SHA-256
  std::set<std::string, std::less<>> pieces;  // of its other files, by digest

  bool lacks(const PackedFile& file, const Cut& cut) const {
    return !files.contains(*file.sha256) && !pieces.contains(cut.digest);
  }
};

Result<Earlier> read_earlier(const std::string& path, const std::set<std::string>& now) {
  const auto file = TRY(MappedFile::open(path));
  const auto text = text_of(file.bytes());
  const auto index_bytes = cut_index_bytes(text);
  Earlier earlier;
  for (const auto& [sha256, runs] : TRY(parse_cut_index(text.substr(text.size() - index_bytes),
                                                        text.size() - index_bytes, path))) {
    if (now.contains(sha256)) {
      earlier.files.insert(sha256);
      continue;
    }
    for (const CutRun& run : runs)
      for (const Cut& cut : run.cuts) earlier.pieces.insert(cut.digest);
  }
  return earlier;
}

// The newest below this version.
Result<std::vector<Earlier>> read_all_earlier(Host& host, const Manifest& manifest,
                                              const Variant& variant, const std::string& folder) {
  std::map<Version, std::string, std::greater<>> paths;
  for (const auto& name : TRY(host.list_directory(folder))) {
    const auto rest = after_prefix(name, manifest.name + "-");
    const auto end = fmt::format("-{}.pieces", variant.name);
    if (!rest || !rest->ends_with(end)) continue;
    const auto version = parse_version(rest->substr(0, rest->size() - end.size()));
    if (version && *version < *parse_version(manifest.version))
      paths.emplace(*version, folder + "/" + name);
  }
  std::set<std::string> now;
  for (const PackedFile& file : variant.files) now.insert(file.sha256.value_or(""));
  std::vector<Earlier> earlier;
  for (const auto& [version, path] : paths)
    if (earlier.size() < kEarlierReleases) earlier.push_back(TRY(read_earlier(path, now)));
  return earlier;
}

class PiecesWriter {
 public:
  PiecesWriter(AtomicFile out, const std::vector<Earlier>& earlier)
      : out_(std::move(out)), earlier_(earlier), context_(ZSTD_createCCtx(), ZSTD_freeCCtx) {}

  Result<void> add(const PackedFile& file, std::string_view frame) {
    runs_ = &index_[*file.sha256];
    if (!runs_->empty()) return {};
    std::string pending;  // content that is not cut yet
    const auto cut = [&](std::size_t least) -> Result<void> {
      std::string_view rest = pending;
      while (rest.size() > least) {
        const auto length = cut_length(rest);
        TRY(take(file, rest.substr(0, length)));
        rest.remove_prefix(length);
      }
      pending.erase(0, pending.size() - rest.size());
      return {};
    };
    FrameReader reader(file, [&](std::string_view bytes) {
      pending += bytes;
      return cut(kMostCutBytes);
    });
    TRY(reader.add(frame));
    TRY(reader.finish());
    TRY(cut(0));
    return end_frame();
  }

  Result<PieceFile> finish() {
    const auto text = cut_index_text(index_);
    PieceFile file;
    TRY(out_.write(text));
    TRY(out_.commit());
    file.size_bytes = frames_bytes_ + text.size();
    file.index_bytes = text.size();
    file.index_sha256 = to_hex(sha256(text));
    return file;
  }

 private:
  Result<void> take(const PackedFile& file, std::string_view content) {
    const Cut cut = cut_of(content);
    const bool needed =
        std::ranges::any_of(earlier_, [&](const Earlier& each) { return each.lacks(file, cut); });
    if (needed != !content_.empty() || runs_->empty() ||
        (needed && content_.size() + content.size() > kMostFrameContent)) {
      TRY(end_frame());
      runs_->emplace_back();
    }
    runs_->back().cuts.push_back(cut);
    if (needed) content_ += content;
    return {};
  }
  Result<void> end_frame() {
    if (content_.empty()) return {};
    std::string frame(ZSTD_compressBound(content_.size()), '\0');
    const auto size = ZSTD_compressCCtx(context_.get(), frame.data(), frame.size(), content_.data(),
                                        content_.size(), kLevel);
    if (ZSTD_isError(size))
      return fail(ErrorKind::io, fmt::format("zstd: {}", ZSTD_getErrorName(size)));
    TRY(out_.write(std::string_view(frame).substr(0, size)));
    runs_->back().offset_bytes = frames_bytes_;
    runs_->back().frame_bytes = size;
    frames_bytes_ += size;
    content_.clear();
    return {};
  }

  AtomicFile out_;
  const std::vector<Earlier>& earlier_;
  std::unique_ptr<ZSTD_CCtx, std::size_t (*)(ZSTD_CCtx*)> context_;
  CutIndex index_;
  std::vector<CutRun>* runs_ = nullptr;  // of the file that is added
  std::string content_;                  // of the frame that is begun
  std::uint64_t frames_bytes_ = 0;
};

}  // namespace

Result<std::vector<PieceFile>> write_pieces(Host& host, const Manifest& manifest,
                                            const Variant& variant, const std::string& archive,
                                            const std::string& folder, Storage& storage) {
  if (std::ranges::none_of(variant.files, &PackedFile::is_cut)) return std::vector<PieceFile>();
  const auto earlier = TRY(read_all_earlier(host, manifest, variant, folder));
  const auto mapped = TRY(MappedFile::open(archive));
  const auto name = pieces_name(manifest, manifest.version, variant);
  PiecesWriter writer(TRY(AtomicFile::create(folder + "/" + name, {}, storage)), earlier);
  for (const PackedFile& file : variant.files)
    if (file.is_cut())
      TRY(writer.add(file, text_of(mapped.bytes()).substr(file.offset_bytes, file.frame_bytes)));
  auto written = TRY(writer.finish());
  written.name = name;
  return std::vector{written};
}

}  // namespace gpuready::pack
