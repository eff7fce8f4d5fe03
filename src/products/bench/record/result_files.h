// Where runs are kept: one document a run in a folder, FOLDER/<id>__<tag>.json, and FOLDER/latest,
// which holds the tag of the run that was made last.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bench/record/run_record.h"
#include "host/host.h"
#include "host/storage.h"

namespace gpuready::bench {

inline constexpr std::string_view kResultsFolder = "bench-results";
inline constexpr std::size_t kLongestTag = 100;

// Letters, digits, '.', '-' and '_', but not "__" (which parts id and tag), not "latest", and
// nothing that an option or a hidden file begins with.
Result<void> check_tag(std::string_view tag);

std::string run_path(std::string_view folder, const RunRecord& run);

// Writes `document`, which is the run's (schema/bench-run.schema.json), and then `latest`, but
// for a run that was interrupted or in which nothing was timed; makes the folder. EEXIST when the
// run is there already.
Result<void> save_run(const std::string& folder, const RunRecord& run, std::string_view document,
                      Storage& storage = live_storage());

// Makes the folder and tries to write there, which leaves nothing: for whoever works long before
// there is something to keep.
Result<void> check_writable(const std::string& folder, Storage& storage = live_storage());

std::string workload_text(const Workload& workload);  // "gemm m 64 n 64 k 64, fp16, cuda"

// A tag is one thing, run again and again: refuses a run whose workload is not that of the runs
// that are in the folder under its tag, and names both.
Result<void> check_same_work(Host& host, const std::string& folder, std::string_view tag,
                             const Workload& workload);

// Writes a run as PyC's GPU suite does (export.h): FOLDER/<tag>.json and <tag>.md, which the next
// run of the tag replaces, and FOLDER/<id>__<tag>.json and .metadata.json. Makes the folder.
Result<void> save_as_pyc_suite(const std::string& folder, const RunRecord& run,
                               Storage& storage = live_storage());

// The run of one document, whose text is `text`.
Result<RunRecord> read_run(std::string_view text, std::string_view name);

// The runs that `name` stands for: in `folder`, "latest", a tag or the id of a run; else the path
// of a document (also of another program, import.h), or of a folder of ours. What has a '/' or ends
// with ".json" is a path first. Several names are parted by commas. In time.
Result<std::vector<RunRecord>> find_runs(Host& host, const std::string& folder,
                                         std::string_view name);

// The runs of a tag and nothing else; none where the folder or the tag is not there.
Result<std::vector<RunRecord>> runs_of_tag(Host& host, const std::string& folder,
                                           std::string_view tag);

// Ids and paths of the runs that are in a folder, and the run of such a file.
Result<std::vector<std::pair<std::string, std::string>>> run_files_of(Host& host,
                                                                      const std::string& folder);
// Its tag is the one of its file's name, whatever it says of itself: who renames the file gives the
// run another tag.
Result<RunRecord> read_run_file(Host& host, const std::string& path);
// The same of the folder of results: root believes only its own.
Result<RunRecord> read_own_run_file(Host& host, const std::string& path);
std::string tag_in_name(const std::string& path);  // empty: it is not called <id>__<tag>.json

// What a run is asked to do with its tag.
struct TagChoice {
  std::string name = {};  // empty: one of its own
  bool replace = false, add = false;
};
// A run that is not kept yet, and the files of the runs that go once it is.
struct NewRun {
  RunRecord run;
  std::vector<std::string> replaced;
};

// The files of the tag that go once the run is kept; an error for a wrong tag, and if there are
// some and the choice does not say what to do.
Result<std::vector<std::string>> runs_to_replace(Host& host, const std::string& folder,
                                                 const TagChoice& choice);

// Its time, its id, and the tag, or one of its own from the digits of `drawn`.
void name_run(RunRecord& run, const std::string& tag, std::chrono::system_clock::time_point now,
              std::uint32_t drawn);

// It does not belong to its tag, and has one beside it.
void set_interrupted(RunRecord& run, std::size_t repeats);

// Of a run that another machine made with this choice but for `add`, which it does not get; an
// error for another tag names it `called`.
Result<void> accept_tag(RunRecord& run, const TagChoice& choice, std::string_view called);

// After the run. One that is not whole, or without a time, does not replace those that it was to
// replace. One without a time does not belong to its tag, but for `add`: there it tells that a run
// was lost. One whose tag was taken meanwhile gets another.
void settle_tag(NewRun& made, Host& host, const std::string& folder, const TagChoice& choice);

// Runs that it replaces go after it is kept, so that a failure loses none. `suite`: a folder for
// save_as_pyc_suite(), which gets whole runs.
Result<void> keep_run(const std::string& folder, const NewRun& made, std::string_view document,
                      const std::optional<std::string>& suite, Storage& storage = live_storage());

}  // namespace gpuready::bench
