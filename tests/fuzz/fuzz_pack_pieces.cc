// A file of pieces: its index, and a file that is made of its frames and of what is installed.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "base/sha256.h"
#include "pack/release/cuts.h"
#include "pack/store/update.h"

using namespace gpuready;
using namespace gpuready::pack;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

// The file that is installed; the corpus refers to its pieces.
std::shared_ptr<const LocalPieces> installed_pieces() {
  std::string text;
  for (int line = 0; text.size() < 2 * kLeastCutFile; ++line)
    text += "line " + std::to_string(line) + "\n";
  char path[] = "/tmp/gpuready-fuzz-XXXXXX";
  const int file = ::mkstemp(path);
  require(file >= 0 &&
          ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  ::close(file);
  auto local = std::make_shared<const LocalPieces>(std::vector<OldFile>{{path}});
  ::unlink(path);
  return local;
}

void update(const PackedFile& file, const UpdatePlan& plan, std::string_view pieces) {
  Sha256Stream hash;
  std::uint64_t given = 0;
  UpdateReader reader(file, plan, [&](std::string_view content) -> Result<void> {
    given += content.size();
    require(given <= file.size_bytes);
    hash.add(content);
    return {};
  });
  for (const ByteRange& range : plan.ranges) {
    require(range.offset <= pieces.size() && range.length <= pieces.size() - range.offset);
    if (!reader.add(pieces.substr(range.offset, range.length))) return;
  }
  if (!reader.finish()) return;
  require(given == file.size_bytes && to_hex(hash.finish()) == *file.sha256);
}

// The index that was kept of an installed file, whose content is zeros here: what is found lies in
// the file.
void find_all(const std::vector<CutRun>& runs, std::uint64_t size_bytes) {
  static const int file = ::memfd_create("installed", MFD_CLOEXEC);
  if (size_bytes > 64u << 20) return;
  require(file >= 0 && ::ftruncate(file, static_cast<off_t>(size_bytes)) == 0);
  const LocalPieces local({{"/proc/self/fd/" + std::to_string(file), runs}});
  for (const CutRun& run : runs)
    for (const Cut& cut : run.cuts)
      if (const auto found = local.find(cut); found && !found->empty())
        require(found->size() == cut.bytes && found->front() == 0 && found->back() == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto local = installed_pieces();
  const std::string_view pieces(reinterpret_cast<const char*>(data), size);
  const auto index_bytes = cut_index_bytes(pieces);
  require(index_bytes <= size);
  const auto frames_bytes = size - index_bytes;
  const auto index = parse_cut_index(pieces.substr(frames_bytes), frames_bytes, "index");
  if (!index) return 0;
  const auto text = cut_index_text(*index);
  const auto again = parse_cut_index(text, frames_bytes, "again");
  require(again && cut_index_text(*again) == text);
  for (const auto& [sha256, runs] : *index) {
    PackedFile file;
    file.path = "file";
    file.sha256 = sha256;
    file.frame_bytes = UINT64_MAX;
    for (const CutRun& run : runs) {
      require(run.offset_bytes <= frames_bytes &&
              run.frame_bytes <= frames_bytes - run.offset_bytes);
      require(run.frame_bytes == 0 || run.content_bytes() <= kMostFrameContent);
      file.size_bytes += run.content_bytes();
    }
    find_all(runs, file.size_bytes);
    const PieceFile from{"pieces", size, index_bytes, std::string(64, '0')};
    if (const auto plan = plan_update(file, runs, from, local)) update(file, *plan, pieces);
  }
  return 0;
}
