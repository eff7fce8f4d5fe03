#include "pack/store/update.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/parallel.h"

namespace gpuready::pack {
namespace {

// One request; a fetch that is killed goes on within it. Of a small update each is a small share,
// so that the first have come, and are unpacked, while others still come.
constexpr std::uint64_t kLeastRangeBytes = 256u << 10, kMostRangeBytes = 4u << 20,
                        kUsualRanges = 16;

constexpr std::size_t kSegmentBytes = 64u << 20, kReadOnBytes = 32 * kMostCutBytes;
constexpr unsigned kMostThreads = 8;

std::uint64_t content_bytes(const std::vector<CutRun>& runs) {
  std::uint64_t sum = 0;
  for (const CutRun& run : runs) sum += run.content_bytes();
  return sum;
}

bool is_here(const CutRun& run, const LocalPieces& local) {
  return std::ranges::all_of(run.cuts, [&](const Cut& cut) { return local.find(cut).has_value(); });
}

}  // namespace

// Cuts depend on the bytes before them only as far as the next usual cut, so segments are cut at
// the same time, and find the cuts of the whole file within the first pieces. The one before reads
// on until then.
LocalPieces::LocalPieces(const std::vector<OldFile>& files) {
  struct Segment {
    std::string_view rest;  // from its first byte to the end of the file
    std::vector<std::pair<std::string, std::string_view>> pieces = {};
  };
  std::vector<Segment> segments;
  for (const auto& [path, runs] : files) {
    auto file = MappedFile::open(path);
    if (!file) continue;
    auto content = text_of(file->bytes());
    files_.push_back(std::move(*file));
    if (content_bytes(runs) == content.size()) {
      for (const CutRun& run : runs)
        for (const Cut& cut : run.cuts) {
          pieces_.emplace(cut.digest, content.substr(0, cut.bytes));
          content.remove_prefix(cut.bytes);
        }
      continue;
    }
    for (std::size_t at = 0; at < content.size(); at += kSegmentBytes)
      segments.push_back({content.substr(at)});
  }
  in_parallel(segments.size(), kMostThreads, [&](std::size_t i) {
    auto& [rest, pieces] = segments[i];
    for (auto left = rest.substr(0, kSegmentBytes + kReadOnBytes); !left.empty();) {
      const auto piece = rest.substr(0, cut_length(rest));
      pieces.emplace_back(cut_of(piece).digest, piece);
      rest.remove_prefix(piece.size());
      left.remove_prefix(std::min(piece.size(), left.size()));
    }
  });
  for (auto& segment : segments)
    for (auto& [digest, piece] : segment.pieces) pieces_.emplace(std::move(digest), piece);
}

std::optional<std::string_view> LocalPieces::find(const Cut& cut) const {
  const auto found = pieces_.find(cut.digest);
  if (found == pieces_.end() || found->second.size() != cut.bytes) return std::nullopt;
  return found->second;
}

std::uint64_t UpdatePlan::bytes() const {
  std::uint64_t sum = 0;
  for (const ByteRange& range : ranges) sum += range.length;
  return sum;
}

std::optional<UpdatePlan> plan_update(const PackedFile& file, std::vector<CutRun> runs,
                                      const PieceFile& from,
                                      std::shared_ptr<const LocalPieces> local) {
  UpdatePlan plan{from, std::move(runs), {}, {}, std::move(local)};
  std::uint64_t sum = 0;
  for (const CutRun& run : plan.runs) {
    plan.fetched.push_back(!is_here(run, *plan.local));
    if (plan.fetched.back() && run.frame_bytes == 0) return std::nullopt;
    if (plan.fetched.back()) sum += run.frame_bytes;
  }
  const auto most = std::clamp(sum / kUsualRanges, kLeastRangeBytes, kMostRangeBytes);
  for (std::size_t i = 0; i < plan.runs.size(); ++i) {
    const CutRun& run = plan.runs[i];
    if (!plan.fetched[i]) continue;
    const bool joins = !plan.ranges.empty() &&
                       plan.ranges.back().offset + plan.ranges.back().length == run.offset_bytes &&
                       plan.ranges.back().length + run.frame_bytes <= most;
    if (joins)
      plan.ranges.back().length += run.frame_bytes;
    else
      plan.ranges.push_back({run.offset_bytes, run.frame_bytes});
  }
  if (content_bytes(plan.runs) != file.size_bytes || sum >= file.frame_bytes) return std::nullopt;
  // Something is added to the reader in any case.
  if (plan.ranges.empty()) plan.ranges.push_back({0, 0});
  return plan;
}

Result<void> UpdateReader::give(std::string_view content) {
  hash_.add(content);
  return sink_(content);
}

Result<void> UpdateReader::add_local() {
  for (; next_ < plan_.runs.size() && !plan_.fetched[next_]; ++next_)
    for (const Cut& cut : plan_.runs[next_].cuts) TRY(give(*plan_.local->find(cut)));
  return {};
}

Result<void> UpdateReader::add(std::string_view frames) {
  while (!frames.empty()) {
    TRY(add_local());
    if (next_ == plan_.runs.size() || plan_.runs[next_].frame_bytes > frames.size())
      return fail(ErrorKind::bad_input, file_.path + ": its pieces do not follow their index");
    const CutRun& run = plan_.runs[next_++];
    buffer_.resize(run.content_bytes());
    const auto size =
        ZSTD_decompress(buffer_.data(), buffer_.size(), frames.data(), run.frame_bytes);
    if (ZSTD_isError(size) || size != buffer_.size())
      return fail(ErrorKind::bad_input, file_.path + ": its pieces are damaged");
    frames.remove_prefix(run.frame_bytes);
    TRY(give(buffer_));
  }
  return {};
}

Result<void> UpdateReader::finish() {
  TRY(add_local());
  if (next_ == plan_.runs.size() && to_hex(hash_.finish()) == file_.sha256) return {};
  return fail(ErrorKind::bad_input, file_.path + ": its pieces are not the file of the manifest");
}

}  // namespace gpuready::pack
