#include "pack/store/pieces.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "host/mapped_file.h"

namespace gpuready::pack {

PiecedFile::PiecedFile(const PackedFile& file, Store& store, std::optional<UpdatePlan> update)
    : file_(file), store_(store), update_(std::move(update)) {
  if (update_)
    ranges_ = update_->ranges;
  else
    for (std::uint64_t at = 0; at < file.frame_bytes; at += kPieceBytes)
      ranges_.push_back({file.offset_bytes + at, std::min(kPieceBytes, file.frame_bytes - at)});
  whole_.resize(ranges_.size());
}

// By where it begins, so that what an earlier process kept is the beginning of the same bytes.
std::string PiecedFile::name(std::size_t piece) const {
  return fmt::format("{}{}", update_ ? "update-" : "",
                     ranges_[piece].offset - (update_ ? 0 : file_.offset_bytes));
}

Result<void> PiecedFile::take(std::size_t piece, const Fetch& fetch) {
  auto wanted = ranges_[piece];
  auto [begun, kept_bytes] = TRY(store_.continue_piece(file_, name(piece), wanted.length));
  wanted.offset += kept_bytes, wanted.length -= kept_bytes;
  if (wanted.length > 0)
    TRY(fetch(wanted, [&](std::string_view bytes) { return begun->write(bytes); }));
  const std::lock_guard lock(mutex_);
  whole_[piece] = true;
  return {};
}

Result<void> PiecedFile::unpack() {
  std::unique_lock lock(mutex_);
  if (is_unpacking_) return {};
  is_unpacking_ = true;
  Result<void> done;
  while (done && next_ < count() && whole_[next_]) {
    lock.unlock();
    done = unpack_piece(next_);
    if (done && next_ + 1 == count()) done = finish();
    lock.lock();
    if (done) ++next_;
  }
  is_unpacking_ = false;
  return done;
}

Result<void> PiecedFile::unpack_piece(std::size_t piece) {
  if (damage_) return {};
  if (!reader_) {
    object_.emplace(TRY(store_.new_object(file_)));
    const auto write = [this](std::string_view content) {
      auto written = object_->write(content);
      cannot_write_ = !written;
      return written;
    };
    if (update_)
      reader_ = std::make_unique<UpdateReader>(file_, *update_, write);
    else
      reader_ = std::make_unique<FrameReader>(file_, write);
  }
  const auto bytes = TRY(MappedFile::open(store_.piece_path(file_, name(piece))));
  return unless_damaged(reader_->add(text_of(bytes.bytes())));
}

Result<void> PiecedFile::finish() {
  if (!damage_) TRY(unless_damaged(reader_->finish()));
  if (!damage_) TRY(object_->commit());
  reader_.reset();
  object_.reset();
  for (std::size_t piece = 0; piece < count(); ++piece)
    TRY(store_.remove_piece(file_, name(piece)));
  return {};
}

// The errors of a reader are damage, but for those of the disk.
Result<void> PiecedFile::unless_damaged(Result<void> read) {
  if (read || cannot_write_) return read;
  damage_ = read.error();
  return {};
}

}  // namespace gpuready::pack
