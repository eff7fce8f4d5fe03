// A large file, fetched in pieces: several at once, and each kept as it comes, so that a process
// that is killed loses nothing of it. As soon as the first pieces are here they are unpacked. They
// are ranges of its frame in the archive; of an update, ranges of the file of pieces.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "http/origin.h"
#include "pack/release/archive.h"
#include "pack/store/async_writer.h"
#include "pack/store/store.h"
#include "pack/store/update.h"

namespace gpuready::pack {

inline constexpr std::uint64_t kPieceBytes = 8u << 20;

class PiecedFile {
 public:
  PiecedFile(const PackedFile& file, Store& store, std::optional<UpdatePlan> update = {});

  const PackedFile& file() const { return file_; }
  const std::optional<UpdatePlan>& update() const { return update_; }
  std::size_t count() const { return whole_.size(); }
  // Fetches what is missing of a piece. `fetch` gives the bytes of a range, in order.
  using Fetch = std::function<Result<void>(ByteRange wanted, const ByteSink& sink)>;
  Result<void> take(std::size_t piece, const Fetch& fetch);
  // Unpacks the pieces that are next, unless another thread does. The last one makes the object.
  Result<void> unpack();

  // Once all is unpacked: why it is not what the manifest says. Its pieces are gone then.
  const std::optional<Error>& damage() const { return damage_; }
  bool is_done() const { return next_ == count(); }

 private:
  std::string name(std::size_t piece) const;
  Result<void> unpack_piece(std::size_t piece);
  Result<void> finish();
  Result<void> unless_damaged(Result<void> read);

  const PackedFile& file_;
  Store& store_;
  std::optional<UpdatePlan> update_;
  std::vector<ByteRange> ranges_;
  std::mutex mutex_;         // of:
  std::vector<bool> whole_;  // pieces that are here
  std::size_t next_ = 0;     // to be unpacked
  bool is_unpacking_ = false;
  // Of the thread that unpacks:
  std::optional<AsyncWriter> object_;
  std::unique_ptr<ContentReader> reader_;
  bool cannot_write_ = false;
  std::optional<Error> damage_ = {};
};

}  // namespace gpuready::pack
