#include "pack/store/fetch.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/sha256.h"
#include "host/mapped_file.h"
#include "pack/store/pieces.h"

namespace gpuready::pack {
namespace {

// Small files that lie side by side are one request.
constexpr std::uint64_t kRunBytes = 8u << 20;
// Larger frames of a server are fetched in pieces, whose bytes are kept as they come. Of a smaller
// one a kill loses what has come: 3 MiB at most on eight connections.
constexpr std::uint64_t kPiecedBytes = 384u << 10;
// From here on a second thread, which writes, is worth its start.
constexpr std::uint64_t kLargeBytes = 16u << 20;

// A file that arrived damaged is fetched again so often, the first time counted.
constexpr unsigned kAttempts = 3;

using Run = std::vector<const PackedFile*>;
using Updates = std::map<std::string, UpdatePlan>;

std::uint64_t end_of(const PackedFile& file) { return file.offset_bytes + file.frame_bytes; }
ByteRange range_of(const Run& run) {
  return {run.front()->offset_bytes, end_of(*run.back()) - run.front()->offset_bytes};
}

std::vector<Run> runs_of(const std::vector<const PackedFile*>& missing) {
  std::vector<Run> runs;
  for (const auto* file : missing) {
    const bool joins = !runs.empty() && end_of(*runs.back().back()) == file->offset_bytes &&
                       end_of(*file) - runs.back().front()->offset_bytes <= kRunBytes;
    if (joins)
      runs.back().push_back(file);
    else
      runs.push_back({file});
  }
  // The largest first, so that none is left alone at the end.
  std::ranges::stable_sort(runs, std::greater(),
                           [](const Run& run) { return range_of(run).length; });
  return runs;
}

// Bytes of the archive, whichever of its parts they lie in.
Result<void> read_archive(Origin& origin, const std::vector<ArchivePart>& parts, ByteRange wanted,
                          const ByteSink& sink) {
  std::uint64_t begin = 0;
  for (const auto& part : parts) {
    const auto from = std::max(begin, wanted.offset);
    const auto to = std::min(begin + part.size_bytes, wanted.offset + wanted.length);
    if (from < to) TRY(origin.range(part.name, part.size_bytes, {from - begin, to - from}, sink));
    begin += part.size_bytes;
  }
  return {};
}

// Cuts the bytes of a run into its files. A file whose bytes are wrong is passed over: only when
// all have come is it known that they were the server's answer, and not the beginning of something
// else.
class RunWriter {
 public:
  RunWriter(const Run& run, std::uint64_t from, Store& store)
      : run_(run), at_(from), store_(store) {}

  Result<void> take(std::string_view bytes) {
    while (!bytes.empty()) {
      if (next_ == run_.size()) return {};
      const PackedFile& file = *run_[next_];
      const bool before = at_ < file.offset_bytes;
      const auto until = before ? file.offset_bytes : end_of(file);
      const auto now = bytes.substr(0, until - at_);
      bytes.remove_prefix(now.size());
      at_ += now.size();
      if (before) continue;
      if (!reader_) TRY(open(file));
      if (!is_wrong_) TRY(unless_damaged(reader_->add(now), file));
      if (at_ == until) TRY(close(file));
    }
    return {};
  }
  Result<void> finish() const {
    if (next_ == run_.size()) return {};
    return fail(ErrorKind::truncated,
                run_[next_]->path + ": the archive ends before the file does");
  }
  std::uint64_t written_bytes() const { return written_; }
  const Run& damaged() const { return damaged_; }
  const Error& damage() const { return *damage_; }  // of the first of these

 private:
  Result<void> open(const PackedFile& file) {
    auto object = TRY(store_.new_object(file));
    if (file.size_bytes >= kLargeBytes)
      large_.emplace(std::move(object));
    else
      object_.emplace(std::move(object));
    reader_.emplace(file, [this](std::string_view content) {
      auto written = large_ ? large_->write(content) : object_->write(content);
      cannot_write_ = !written;
      return written;
    });
    return {};
  }
  Result<void> close(const PackedFile& file) {
    if (!is_wrong_) TRY(unless_damaged(reader_->finish(), file));
    if (!is_wrong_) {
      TRY(large_ ? large_->commit() : object_->commit());
      written_ += file.size_bytes;
    }
    reader_.reset();
    object_.reset();
    large_.reset();
    is_wrong_ = false;
    ++next_;
    return {};
  }
  // The errors of a reader are damage, but for those of the disk.
  Result<void> unless_damaged(Result<void> read, const PackedFile& file) {
    if (read || cannot_write_) return read;
    is_wrong_ = true;
    damaged_.push_back(&file);
    if (!damage_) damage_ = read.error();
    return {};
  }

  const Run& run_;
  std::uint64_t at_;
  Store& store_;
  std::size_t next_ = 0;
  std::optional<AtomicFile> object_;  // that is being written,
  std::optional<AsyncWriter> large_;  // or this
  std::optional<FrameReader> reader_;
  bool is_wrong_ = false;  // the file that is being read
  bool cannot_write_ = false;
  std::uint64_t written_ = 0;
  Run damaged_;
  std::optional<Error> damage_ = {};
};

// What one thread fetches at a time.
struct FetchJob {
  Run run;                      // files that lie side by side, or
  PiecedFile* large = nullptr;  // a piece of this one
  std::size_t piece = 0;
  const PieceFile* index = nullptr;  // or the index of this one
};

class Fetcher {
 public:
  Fetcher(Origin& origin, const Variant& variant, Store& store, const FetchOptions& options)
      : origin_(origin), variant_(variant), store_(store), options_(options) {}

  // What arrived damaged is fetched again: a proxy or a cable may have done it.
  Result<void> fetch(Run run, bool from_start, unsigned attempt = 1) {
    for (;; ++attempt) {
      const auto begin = from_start ? 0 : run.front()->offset_bytes;
      RunWriter writer(run, begin, store_);
      TRY(fetch_once(writer, {begin, end_of(*run.back()) - begin}));
      if (writer.damaged().empty()) return {};
      if (attempt == kAttempts)
        return fail(ErrorKind::bad_input,
                    fmt::format("{} (fetched {} times)", writer.damage().message, attempt));
      run = Run(writer.damaged());
    }
  }

  Result<void> fetch_once(RunWriter& writer, ByteRange range) {
    const auto done =
        read(range, [&](std::string_view bytes) -> Result<void> { return writer.take(bytes); });
    {
      const std::lock_guard lock(mutex_);
      outcome.written_bytes += writer.written_bytes();
    }
    TRY(done);
    return writer.finish();
  }

  Result<void> fetch(PiecedFile& file, std::size_t piece) {
    TRY(file.take(piece, [&](ByteRange range, const ByteSink& sink) {
      return file.update() ? read(file.update()->from, range, sink) : read(range, sink);
    }));
    return file.unpack();
  }

  // How files are made of pieces, by their SHA-256. A file of pieces that cannot be read, or is not
  // the one that was signed, does not fail an installation.
  Updates plan_updates(const Run& missing) {
    Updates updates;
    std::shared_ptr<const LocalPieces> local;
    if (origin_.is_local() || !options_.old || std::ranges::none_of(missing, &PackedFile::is_cut))
      return updates;
    const auto old = old_files();
    if (old.empty()) return updates;
    for (const PieceFile& from : variant_.pieces) {
      auto index = fetch_index(from);
      if (index.empty()) continue;
      if (!local) local = std::make_shared<LocalPieces>(old);
      for (const PackedFile* file : missing)
        if (const auto runs = index.find(*file->sha256); runs != index.end())
          if (auto plan = plan_update(*file, std::move(runs->second), from, local))
            updates.emplace(*file->sha256, std::move(*plan));
    }
    return updates;
  }

  // Large files that are installed and that the variant lacks. One that was changed is cut again.
  std::vector<OldFile> old_files() const {
    CutIndex cuts;
    for (const PieceFile& from : options_.old->pieces) cuts.merge(kept_index(from));
    std::set<std::string> kept;
    for (const PackedFile& file : variant_.files) kept.insert(file.sha256.value_or(""));
    std::vector<OldFile> files;
    for (const PackedFile& file : options_.old->files) {
      if (!file.is_cut() || !kept.insert(*file.sha256).second) continue;
      files.push_back({store_.object_path(file)});
      if (const auto runs = cuts.find(*file.sha256);
          runs != cuts.end() && store_.looks_unchanged(file))
        files.back().runs = std::move(runs->second);
    }
    return files;
  }

  // None where it is not an object, or not a whole one.
  CutIndex kept_index(const PieceFile& from) const {
    if (!store_.has(from.index())) return {};
    const auto file = MappedFile::open(store_.object_path(from.index()));
    return file ? index_of(from, text_of(file->bytes())) : CutIndex();
  }
  // None where it cannot be read. That it cannot be kept costs the next update time.
  CutIndex fetch_index(const PieceFile& from) {
    std::string text;
    const auto got = read(from, {from.size_bytes - from.index_bytes, from.index_bytes},
                          [&](std::string_view bytes) {
                            text += bytes;
                            return Result<void>();
                          });
    if (!got || to_hex(sha256(text)) != from.index_sha256) return {};
    if (!options_.only_plan)
      if (auto object = store_.new_object(from.index()); object && object->write(text))
        (void)object->commit();
    return index_of(from, text);
  }
  static CutIndex index_of(const PieceFile& from, std::string_view text) {
    return parse_cut_index(text, from.size_bytes - from.index_bytes, from.name)
        .value_or(CutIndex());
  }

  // Each file by its pieces, by ranges of its frame, or with those beside it.
  Result<void> fetch_missing(const Run& missing, const Updates& updates) {
    Run small, large;
    for (const PackedFile* file : missing) {
      const bool in_pieces = !origin_.is_local() &&
                             (file->frame_bytes > kPiecedBytes || updates.contains(*file->sha256));
      (in_pieces ? large : small).push_back(file);
    }
    std::ranges::stable_sort(large, std::greater(), &PackedFile::frame_bytes);
    std::deque<PiecedFile> pieced;
    std::vector<FetchJob> jobs;
    for (const auto* file : large) {
      const auto update = updates.find(*file->sha256);
      pieced.emplace_back(*file, store_,
                          update == updates.end() ? std::nullopt : std::optional(update->second));
      for (std::size_t piece = 0; piece < pieced.back().count(); ++piece)
        jobs.push_back({{}, &pieced.back(), piece});
    }
    for (auto& run : runs_of(small)) jobs.push_back({std::move(run)});
    for (const PieceFile& from : variant_.pieces)
      if (!store_.has(from.index())) jobs.push_back({{}, nullptr, 0, &from});
    auto fetched = fetch_all(jobs);
    for (PiecedFile& file : pieced) {
      if (file.is_done() && !file.damage()) outcome.written_bytes += file.file().size_bytes;
      if (fetched && file.damage()) fetched = fetch({&file.file()}, false, 2);
    }
    return fetched;
  }

  // All jobs, several at once. The first error that is not our own cancelling.
  Result<void> fetch_all(const std::vector<FetchJob>& jobs) {
    std::atomic<std::size_t> next = 0;
    Result<void> first;
    const auto work = [&] {
      for (std::size_t at = next++; at < jobs.size() && !stop_; at = next++) {
        const FetchJob& job = jobs[at];
        Result<void> done;
        if (job.large != nullptr)
          done = fetch(*job.large, job.piece);
        else if (job.index != nullptr)
          (void)fetch_index(*job.index);
        else
          done = fetch(job.run, false);
        if (done) continue;
        const std::lock_guard lock(mutex_);
        if (!stop_) first = std::move(done);
        stop_ = true;
      }
    };
    const auto wanted = options_.at_once > 0 ? options_.at_once : origin_.parallel();
    std::vector<std::thread> threads;
    for (std::size_t i = 1; i < std::min<std::size_t>(wanted, jobs.size()); ++i)
      threads.emplace_back(work);
    work();
    for (auto& thread : threads) thread.join();
    stop_ = false;
    return first;
  }

  FetchOutcome outcome;

 private:
  Result<void> read(ByteRange range, const ByteSink& sink) {
    return read_archive(origin_, variant_.archive, range, counted(sink));
  }
  Result<void> read(const PieceFile& from, ByteRange range, const ByteSink& sink) {
    if (range.length == 0) return {};
    return origin_.range(from.name, from.size_bytes, range, counted(sink));
  }
  ByteSink counted(const ByteSink& sink) {
    return [this, &sink](std::string_view bytes) -> Result<void> {
      if (stop_ || (options_.cancel != nullptr && *options_.cancel))
        return fail(ErrorKind::cancelled, "interrupted");
      if (Clock::now() >= until_)
        return fail(ErrorKind::timed_out,
                    fmt::format("the download did not end in {} s; what came is kept for the next "
                                "installation",
                                options_.limit.count()));
      count(bytes.size());
      return sink(bytes);
    };
  }
  void count(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    outcome.fetched_bytes += bytes;
    if (options_.progress) options_.progress(outcome.fetched_bytes, outcome.to_fetch_bytes);
  }

  Origin& origin_;
  const Variant& variant_;
  Store& store_;
  const FetchOptions& options_;
  const Clock::time_point until_ = deadline_in(options_.limit);
  std::mutex mutex_;
  std::atomic<bool> stop_ = false;
};

}  // namespace

Result<FetchOutcome> fetch_files(Origin& origin, const Variant& variant,
                                 std::vector<const PackedFile*> missing, Store& store,
                                 const FetchOptions& options) {
  std::ranges::sort(missing, {}, &PackedFile::offset_bytes);
  std::set<std::string> once;
  std::erase_if(missing,
                [&](const auto* file) { return !once.insert(store.object_path(*file)).second; });
  Fetcher fetcher(origin, variant, store, options);
  fetcher.outcome.files = missing.size();
  if (missing.empty()) return fetcher.outcome;
  const auto updates = fetcher.plan_updates(missing);
  for (const auto* file : missing)
    fetcher.outcome.to_fetch_bytes +=
        updates.contains(*file->sha256) ? updates.at(*file->sha256).bytes() : file->frame_bytes;
  if (options.only_plan) return fetcher.outcome;
  auto fetched = fetcher.fetch_missing(missing, updates);
  if (!fetched && !origin.has_ranges()) {
    // The server knows no ranges: all from the beginning to the last file that is missing, once.
    std::erase_if(missing, [&](const auto* file) { return store.has(*file); });
    fetcher.outcome.without_ranges = true;
    fetched = missing.empty() ? Result<void>() : fetcher.fetch(missing, true);
  }
  TRY(fetched);
  return fetcher.outcome;
}

}  // namespace gpuready::pack
