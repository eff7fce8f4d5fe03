// What becomes of a run's tag, and of the runs that have it already.
#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/text.h"
#include "bench/record/result_files.h"

namespace gpuready::bench {
namespace {

constexpr std::string_view kInterrupted = "-interrupted";
constexpr std::string_view kFailed = "-failed";
constexpr std::size_t kDigits = 8;  // of an id, which are drawn

// A tag beside this one.
std::string apart(std::string_view tag, std::string_view ending) {
  return std::string(tag.substr(0, kLongestTag - ending.size())).append(ending);
}

std::vector<std::string> files_of_tag(Host& host, const std::string& folder, std::string_view tag) {
  std::vector<std::string> paths;
  for (const auto& name : host.list_directory(folder).value_or(std::vector<std::string>{}))
    if (tag_in_name(name) == tag) paths.push_back(folder + "/" + name);
  return paths;
}

}  // namespace

Result<std::vector<std::string>> runs_to_replace(Host& host, const std::string& folder,
                                                 const TagChoice& choice) {
  if (choice.name.empty()) return std::vector<std::string>();
  TRY(check_tag(choice.name));
  if (choice.add) return std::vector<std::string>();
  auto paths = files_of_tag(host, folder, choice.name);
  if (!paths.empty() && !choice.replace)
    return fail(ErrorKind::bad_input,
                fmt::format("the tag {} is taken by {}: give another, --add for another run of it, "
                            "or --replace",
                            choice.name, paths.front()));
  return paths;
}

// "2026-03-01T12:00:00.123Z": runs of less than a second have an order, too. The id is
// "20260301T120000Z-1a2b3c4d".
void name_run(RunRecord& run, const std::string& tag, std::chrono::system_clock::time_point now,
              std::uint32_t drawn) {
  const auto ms = std::chrono::floor<std::chrono::milliseconds>(now);
  const std::string utc = format_utc(std::chrono::system_clock::to_time_t(ms));
  run.started_utc = fmt::format("{}.{:03}Z", std::string_view(utc).substr(0, utc.size() - 1),
                                ms.time_since_epoch().count() % 1000);
  const std::string digits = fmt::format("{:0{}x}", drawn, kDigits);
  run.id.clear();
  for (const char c : utc)
    if (c != '-' && c != ':') run.id += c;
  run.id += "-" + digits;
  run.tag = tag.empty() ? "run-" + digits : tag;
}

void set_interrupted(RunRecord& run, std::size_t repeats) {
  run.interrupted = true;
  run.tag = apart(run.tag, kInterrupted);
  run.notes.push_back(
      fmt::format("It was interrupted after {} repeat{}.", repeats, repeats == 1 ? "" : "s"));
}

Result<void> accept_tag(RunRecord& run, const TagChoice& choice, std::string_view called) {
  if (choice.name.empty() || run.tag == choice.name) return {};
  if (!run.is_whole() && run.tag == apart(choice.name, kInterrupted)) return {};
  if (run.tag != apart(choice.name, kFailed))
    return fail(ErrorKind::bad_input,
                fmt::format("{} has the tag {}, not {}", called, printable(run.tag), choice.name));
  if (choice.add) run.tag = choice.name;
  return {};
}

void settle_tag(NewRun& made, Host& host, const std::string& folder, const TagChoice& choice) {
  RunRecord& run = made.run;
  if (!run.is_whole()) {
    made.replaced.clear();
  } else if (!run.is_timed() && !choice.add) {
    if (const auto stay = made.replaced.size(); stay > 0)
      run.notes.push_back(
          fmt::format("No stack was timed, so nothing is replaced: {} earlier run{} of {} {}.",
                      stay, stay == 1 ? "" : "s", run.tag, stay == 1 ? "stays" : "stay"));
    made.replaced.clear();
    if (run.tag == choice.name) run.tag = apart(run.tag, kFailed);  // else another machine did
  }
  if (choice.add || run.tag != choice.name) return;
  const auto files = files_of_tag(host, folder, choice.name);
  const auto other = std::ranges::find_if(files, [&](const std::string& path) {
    return std::ranges::find(made.replaced, path) == made.replaced.end();
  });
  if (other == files.end()) return;
  run.tag = apart(run.tag, "-" + run.id.substr(run.id.size() - std::min(run.id.size(), kDigits)));
  made.replaced.clear();
  run.notes.push_back(
      fmt::format("The tag {} was taken meanwhile by {}; this run is kept with the tag {}.",
                  choice.name, *other, run.tag));
}

Result<void> keep_run(const std::string& folder, const NewRun& made, std::string_view document,
                      const std::optional<std::string>& suite, Storage& storage) {
  TRY(save_run(folder, made.run, document, storage));
  for (const std::string& path : made.replaced) TRY(storage.unlink(path));
  if (suite && made.run.is_whole()) return save_as_pyc_suite(*suite, made.run, storage);
  return {};
}

}  // namespace gpuready::bench
