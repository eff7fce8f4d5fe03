#include "pack/store/pieces.h"

#include <algorithm>

#include "base/bytes.h"
#include "host/mapped_file.h"

namespace gpuready::pack {

PiecedFile::PiecedFile(const PackedFile& file, Store& store)
    : file_(file), store_(store), whole_((file.frame_bytes + kPieceBytes - 1) / kPieceBytes) {}

ByteRange PiecedFile::range(std::size_t piece) const {
  const auto begin = piece * kPieceBytes;
  return {file_.offset_bytes + begin, std::min(kPieceBytes, file_.frame_bytes - begin)};
}

Result<void> PiecedFile::take(std::size_t piece, const Fetch& fetch) {
  auto wanted = range(piece);
  auto [begun, kept_bytes] = TRY(store_.continue_piece(file_, piece, wanted.length));
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
    reader_.emplace(file_, [this](std::string_view content) {
      auto written = object_->write(content);
      cannot_write_ = !written;
      return written;
    });
  }
  const auto bytes = TRY(MappedFile::open(store_.piece_path(file_, piece)));
  return unless_damaged(reader_->add(text_of(bytes.bytes())));
}

Result<void> PiecedFile::finish() {
  if (!damage_) TRY(unless_damaged(reader_->finish()));
  if (!damage_) TRY(object_->commit());
  reader_.reset();
  object_.reset();
  return store_.remove_pieces(file_, count());
}

// The errors of a reader are damage, but for those of the disk.
Result<void> PiecedFile::unless_damaged(Result<void> read) {
  if (read || cannot_write_) return read;
  damage_ = read.error();
  return {};
}

}  // namespace gpuready::pack
