#include "bench/history/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <map>

#include "base/statistics.h"
#include "base/text.h"
#include "bench/compare/fields_compare.h"
#include "bench/record/result_files.h"
#include "bench/record/run_record.h"
#include "host/atomic_file.h"
#include "value/document.h"
#include "value/fields.h"

namespace gpuready::bench {
namespace {

struct IndexedFigure {
  std::string stack;
  Kpi kpi = Kpi::p50;
  double value = 0;  // in the KPI's unit
};
// Of a run, what its series need.
struct IndexedRun {
  std::string id, tag, started_utc, git_commit, fingerprint, workload, dtype, device;
  std::vector<IndexedFigure> figures;
};
struct IndexDocument {
  std::vector<IndexedRun> runs;
};
FIELDS_OF(IndexedFigure) {
  FIELD(stack, "Its id.", kAlways);
  FIELD(kpi, "As in a history.");
  FIELD(value, "In the KPI's unit.", kAlways);
}
FIELDS_OF(IndexedRun) {
  FIELD(id, "As its file is named.", kAlways);
  FIELD(tag, "Likewise.");
  FIELD(started_utc, "When it began, UTC.");
  FIELD(git_commit, "Of the project in whose folder it ran.");
  FIELD(fingerprint, "Of the machine as it was set up.");
  FIELD(workload, "Name and shape.");
  FIELD(dtype, "The workload's.");
  FIELD(device, "cuda, cpu or vulkan.");
  FIELD(figures, "Of stacks that did the work.");
}
FIELDS_OF(IndexDocument) { FIELD(runs, "By id.", kAlways); }

constexpr std::size_t kMaxIndexBytes = 1u << 30;
constexpr DocumentForm kIndexForm{.name = "bench-index"};

IndexedRun indexed(const RunRecord& run) {
  IndexedRun row{.id = run.id,
                 .tag = run.tag,
                 .started_utc = run.started_utc,
                 .git_commit = run.git_commit,
                 .fingerprint = run.environment.fingerprint(),
                 .workload = workload_key(run.workload),
                 .dtype = run.workload.dtype,
                 .device = run.workload.device,
                 .figures = {}};
  for (const auto& stack : run.stacks) {
    if (!run.is_whole() || stack.status != StackStatus::ok) continue;
    const KpiValues values = values_of(stack, run.workload);
    for (std::size_t k = 0; k < values.size(); ++k)
      if (values[k] && std::isfinite(*values[k]) && *values[k] > 0)
        row.figures.push_back({.stack = stack.id, .kpi = kKpis[k], .value = *values[k]});
  }
  return row;
}

using Index = std::map<std::string, IndexedRun>;  // by id

Result<Index> read_index(std::string_view text, const std::string& path) {
  const Json doc = TRY(parse_json(text, path, kMaxIndexBytes));
  if (!value::is_document(doc, kIndexForm))
    return fail(ErrorKind::bad_input, path + " is another document");
  auto read = TRY(value::read_document<IndexDocument>(doc, path));
  Index index;
  for (IndexedRun& run : read.runs) index[run.id] = std::move(run);
  return index;
}

std::string index_text(const Index& index) {
  Json doc = value::begin_document(kIndexForm);
  Json& runs = doc["runs"] = Json::array();
  for (const auto& [id, run] : index) runs.push_back(value::write(run, {}, 0));
  return dump_line(doc) + "\n";
}

// In the order of workload, stack, machine, KPI, and in time.
std::vector<Series> series_of(const Index& index) {
  std::vector<const IndexedRun*> runs;
  for (const auto& [id, run] : index) runs.push_back(&run);
  std::ranges::stable_sort(runs, {}, &IndexedRun::started_utc);
  using Key = std::array<std::string_view, 6>;
  std::map<Key, Series> all;
  for (const IndexedRun* run : runs)
    for (const IndexedFigure& figure : run->figures) {
      if (!(figure.value > 0)) continue;
      Series& series = all[{run->workload, run->dtype, run->device, figure.stack, run->fingerprint,
                            name_of(figure.kpi)}];
      if (series.points.empty())
        series = {.workload = run->workload,
                  .dtype = run->dtype,
                  .device = run->device,
                  .stack = figure.stack,
                  .fingerprint = run->fingerprint,
                  .kpi = figure.kpi,
                  .points = {},
                  .steps = {}};
      series.points.push_back({run->id, run->tag, run->started_utc, run->git_commit, figure.value});
    }
  std::vector<Series> list;
  for (auto& [key, series] : all) list.push_back(std::move(series));
  return list;
}

constexpr std::size_t kMaxRunBytes = 256u << 20;

template <class T>
bool wanted(const std::vector<T>& filter, const T& value) {
  return filter.empty() || std::find(filter.begin(), filter.end(), value) != filter.end();
}

double level(const Series& series, std::size_t from, std::size_t to) {
  std::vector<double> values;
  for (std::size_t i = from; i < to; ++i) values.push_back(series.points[i].value);
  return median(std::move(values));
}

void add_steps(Series& series) {
  std::vector<double> values;
  for (const auto& point : series.points) values.push_back(point.value);
  auto bounds = find_steps(values);
  bounds.insert(bounds.begin(), 0);
  bounds.push_back(values.size());
  for (std::size_t i = 1; i + 1 < bounds.size(); ++i) {
    const HistoryPoint& first = series.points[bounds[i]];
    Step step{first.run, first.started_utc, first.git_commit};
    step.before = level(series, bounds[i - 1], bounds[i]);
    step.after = level(series, bounds[i], bounds[i + 1]);
    const double ratio =
        more_is_better(series.kpi) ? step.after / step.before : step.before / step.after;
    step.gain_percent = (ratio - 1) * 100;
    series.steps.push_back(std::move(step));
  }
}

// Of a run that was read before: its file is there, and its text was not cut or overwritten.
// Reading each of them as a run would make the index worthless.
bool looks_whole(Host& host, const std::string& file) {
  const auto text = host.read_believed(file, kMaxRunBytes);
  if (!text) return false;
  const auto body = trim(*text);
  return body.starts_with('{') && body.ends_with('}') && !contains(body, std::string_view("\0", 1));
}

std::string left_out(const std::string& file, const std::string& why) {
  return fmt::format("{} is left out, since it cannot be read as a run: {}. Mend or delete it",
                     printable(file), why);
}

// Who may only read the results, or has no space for more, is answered all the same.
bool is_write_refusal(const Error& error) {
  constexpr std::array kCodes = {EACCES, EPERM, EROFS, ENOSPC, EDQUOT};
  return std::ranges::find(kCodes, error.code) != kCodes.end();
}

std::string not_kept(const Error& error) {
  return fmt::format("The history was computed from the runs and is not stored: {}",
                     printable(error.message));
}

}  // namespace

Result<History> read_history(Host& host, const std::string& folder, const HistoryFilter& filter,
                             Storage& storage) {
  const std::string path = fmt::format("{}/{}", folder, kHistoryFile);
  History history;
  std::string old;
  if (host.exists(path)) {
    auto text = host.read_believed(path, kMaxIndexBytes);
    if (text)
      old = std::move(*text);
    else if (is_write_refusal(text.error()))
      history.notes.push_back(not_kept(text.error()));
    else
      return std::unexpected(text.error());
  }
  Index known, here;
  if (!old.empty()) {
    if (auto index = read_index(old, path))
      known = std::move(*index);
    else
      history.notes.push_back(
          fmt::format("The index of the runs was built again: {}", index.error().message));
  }
  for (auto& [id, file] : TRY(run_files_of(host, folder))) {
    if (here.contains(id)) continue;
    const auto earlier = known.find(id);
    if (earlier != known.end() && looks_whole(host, file)) {
      here[id] = earlier->second;
    } else if (const auto run = read_own_run_file(host, file)) {
      here[id] = indexed(*run);
      history.added += earlier == known.end() ? 1 : 0;
    } else {
      history.notes.push_back(left_out(file, run.error().message));
      continue;
    }
    here[id].id = id;  // as its file is named, whatever it says of itself
    here[id].tag = tag_in_name(file);
  }
  history.runs = here.size();
  if (const std::string text = index_text(here); text != old && (!here.empty() || !old.empty()))
    if (const auto kept = write_file_atomically(path, text, {}, storage); !kept) {
      if (!is_write_refusal(kept.error())) return std::unexpected(kept.error());
      history.notes.push_back(not_kept(kept.error()));
    }
  for (auto& series : series_of(here)) {
    if (!wanted(filter.stacks, series.stack) || !wanted(filter.kpis, series.kpi)) continue;
    const auto& work = series.workload;
    if (!wanted(filter.workloads, work) &&
        !wanted(filter.workloads, work.substr(0, work.find(' '))))
      continue;
    std::erase_if(series.points,
                  [&](const HistoryPoint& point) { return !wanted(filter.tags, point.tag); });
    if (series.points.empty()) continue;
    add_steps(series);
    history.series.push_back(std::move(series));
  }
  return history;
}

std::vector<EarlierSeries> earlier_of(const History& history) {
  std::vector<EarlierSeries> all;
  for (const auto& series : history.series) {
    EarlierSeries& one = all.emplace_back(EarlierSeries{series.workload,
                                                        series.dtype,
                                                        series.device,
                                                        series.stack,
                                                        series.fingerprint,
                                                        series.kpi,
                                                        {}});
    for (const auto& point : series.points) one.runs.push_back({point.run, point.tag, point.value});
  }
  return all;
}

Result<void> learn_from_history(CompareOptions& options, Host& host, const std::string& folder) {
  if (options.learn && host.exists(folder))
    options.earlier = earlier_of(TRY(read_history(host, folder, {})));
  return {};
}

}  // namespace gpuready::bench
