// A large file made of what installed files hold and of fetched pieces (release/cuts.h).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "host/mapped_file.h"
#include "http/origin.h"
#include "pack/release/archive.h"
#include "pack/release/cuts.h"

namespace gpuready::pack {

// A file that is installed, and how it was cut; without that, or where its size is another one, it
// is cut again.
struct OldFile {
  std::string path;
  std::vector<CutRun> runs = {};
};

// The pieces of installed files. None may be changed while this exists. What is found need not be
// the piece, if the runs are wrong: whoever uses it hashes the whole.
class LocalPieces {
 public:
  explicit LocalPieces(const std::vector<OldFile>& files);  // what cannot be read is left out
  std::optional<std::string_view> find(const Cut& cut) const;

 private:
  std::vector<MappedFile> files_;
  std::unordered_map<std::string, std::string_view> pieces_;
};

// How one file is made: runs that are here, and frames of the file of pieces.
struct UpdatePlan {
  PieceFile from;
  std::vector<CutRun> runs;
  std::vector<bool> fetched;      // for each run
  std::vector<ByteRange> ranges;  // of `from`, each with whole frames of fetched runs, in order
  std::shared_ptr<const LocalPieces> local;

  std::uint64_t bytes() const;  // that are fetched
};
// None where something is neither here nor in the file of pieces, or the whole frame is smaller.
std::optional<UpdatePlan> plan_update(const PackedFile& file, std::vector<CutRun> runs,
                                      const PieceFile& from,
                                      std::shared_ptr<const LocalPieces> local);

// Takes the plan's ranges, one after the other, and gives the bytes of the file.
class UpdateReader final : public ContentReader {
 public:
  UpdateReader(const PackedFile& file, const UpdatePlan& plan, Sink sink)
      : file_(file), plan_(plan), sink_(std::move(sink)) {}
  Result<void> add(std::string_view frames) override;
  Result<void> finish() override;

 private:
  Result<void> give(std::string_view content);
  Result<void> add_local();  // up to the next run that is fetched

  const PackedFile& file_;
  const UpdatePlan& plan_;
  Sink sink_;
  std::size_t next_ = 0;  // run
  std::string buffer_;
  Sha256Stream hash_;
};

}  // namespace gpuready::pack
