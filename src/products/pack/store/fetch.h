// Brings the files that are missing from an archive into a store.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <vector>

#include "pack/store/origin.h"
#include "pack/store/store.h"

namespace gpuready::pack {

// A day's work at 40 kB/s is a gigabyte and a half; who needs longer installs again, and goes on.
inline constexpr std::chrono::hours kUsualFetchLimit{12};

struct FetchOptions {
  unsigned at_once = 0;  // 0: as many as the origin likes
  // Called from any thread, never from two at once: bytes so far, and of all.
  std::function<void(std::uint64_t bytes, std::uint64_t of_all)> progress = {};
  const std::atomic<bool>* cancel = nullptr;
  std::chrono::seconds limit = kUsualFetchLimit;  // for all of it
  // What is installed: pieces of its large files may be in those that are missing.
  std::optional<Variant> old = {};
  bool only_plan = false;  // what would be fetched
};

struct FetchOutcome {
  std::uint64_t files = 0, to_fetch_bytes = 0, fetched_bytes = 0, written_bytes = 0;
  bool without_ranges = false;  // the whole archive was read
};

// Each file is hashed while it is written, and is an object only once it is whole. What was fetched
// before an error or a kill stays, of large files each piece: the next call goes on from there. Of
// a large file only those pieces are fetched that no old file holds, if the origin has a file of
// pieces; if that is missing or wrong, the whole file. The index of that file becomes an object,
// too, so that the next update need not cut these files again. An error is `bad_input` where the
// origin gave all that was asked for, several times, and it is not what the manifest says; all
// others say that something was not fetched or written.
Result<FetchOutcome> fetch_files(Origin& origin, const Variant& variant,
                                 std::vector<const PackedFile*> missing, Store& store,
                                 const FetchOptions& options = {});

}  // namespace gpuready::pack
