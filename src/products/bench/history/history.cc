#include "bench/history/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <map>
#include <set>

#include "base/statistics.h"
#include "base/text.h"
#include "bench/compare/fields_compare.h"
#include "bench/record/result_files.h"
#include "bench/record/run_record.h"
#include "host/atomic_file.h"
#include "host/database.h"

namespace gpuready::bench {
namespace {

constexpr Database::Form kForm = {
    .tables = R"(
CREATE TABLE runs (id TEXT PRIMARY KEY, tag TEXT, started_utc TEXT, git_commit TEXT,
                   fingerprint TEXT, workload TEXT, dtype TEXT, device TEXT);
CREATE TABLE figures (run TEXT REFERENCES runs, stack TEXT, kpi TEXT, value REAL,
                      PRIMARY KEY (run, stack, kpi));
)",
    .version = 1,
    .cure = "Delete it: it is rebuilt from the runs beside it",
};

constexpr const char* kSeries = R"(
SELECT workload, dtype, device, stack, fingerprint, kpi, id, tag, started_utc, git_commit, value
FROM figures JOIN runs ON runs.id = figures.run
ORDER BY workload, dtype, device, stack, fingerprint, kpi, started_utc, id
)";

// Tags by the ids of the runs.
Result<std::map<std::string, std::string>> tags_of(const Database& database) {
  auto query = database.prepare("SELECT id, tag FROM runs");
  std::map<std::string, std::string> found;
  while (TRY(query.step())) found[query.text(0)] = query.text(1);
  return found;
}

Result<void> set_tag(const Database& database, const std::string& id, const std::string& tag) {
  return database.prepare("UPDATE runs SET tag = ? WHERE id = ?").bind(tag).bind(id).run();
}

Result<void> add(const Database& database, const RunRecord& run) {
  auto insert = database.prepare("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
  for (const std::string& text :
       {run.id, run.tag, run.started_utc, run.git_commit, run.environment.fingerprint(),
        workload_key(run.workload), run.workload.dtype, run.workload.device})
    insert.bind(text);
  TRY(insert.run());
  auto figure = database.prepare("INSERT INTO figures VALUES (?, ?, ?, ?)");
  for (const auto& stack : run.stacks) {
    if (!run.is_whole() || stack.status != StackStatus::ok) continue;
    const KpiValues values = values_of(stack, run.workload);
    for (std::size_t k = 0; k < values.size(); ++k) {
      if (!values[k] || !(*values[k] > 0)) continue;
      TRY(figure.bind(run.id).bind(stack.id).bind(name_of(kKpis[k])).bind(*values[k]).run());
    }
  }
  return {};
}

Result<void> remove(const Database& database, const std::string& id) {
  for (const char* text : {"DELETE FROM figures WHERE run = ?", "DELETE FROM runs WHERE id = ?"})
    TRY(database.prepare(text).bind(id).run());
  return {};
}

// In the order of workload, stack, machine, KPI, and in time.
Result<std::vector<Series>> series_of(const Database& database) {
  auto query = database.prepare(kSeries);
  std::vector<Series> all;
  while (TRY(query.step())) {
    const auto kpi = named<Kpi>(query.text(5));
    const double value = query.number(10);
    if (!kpi || !(value > 0)) continue;
    Series series{.workload = query.text(0),
                  .dtype = query.text(1),
                  .device = query.text(2),
                  .stack = query.text(3),
                  .fingerprint = query.text(4),
                  .kpi = *kpi,
                  .points = {},
                  .steps = {}};
    const auto same = [&](const Series& other) {
      return std::tie(series.workload, series.dtype, series.device, series.stack,
                      series.fingerprint, series.kpi) == std::tie(other.workload, other.dtype,
                                                                  other.device, other.stack,
                                                                  other.fingerprint, other.kpi);
    };
    if (all.empty() || !same(all.back())) all.push_back(std::move(series));
    all.back().points.push_back(
        {query.text(6), query.text(7), query.text(8), query.text(9), value});
  }
  return all;
}

constexpr std::size_t kMaxDatabaseBytes = 1u << 30;
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

// How many of the known runs are not here any more; these go.
Result<std::size_t> remove_others(const Database& database,
                                  const std::map<std::string, std::string>& known,
                                  const std::set<std::string>& here) {
  std::size_t removed = 0;
  for (const auto& [id, tag] : known) {
    if (here.contains(id)) continue;
    TRY(remove(database, id));
    ++removed;
  }
  return removed;
}

}  // namespace

Result<History> read_history(Host& host, const std::string& folder, const HistoryFilter& filter,
                             Storage& storage) {
  const std::string path = folder + "/history.sqlite";
  History history;
  std::string old;
  if (host.exists(path)) {
    auto text = host.read_believed(path, kMaxDatabaseBytes);
    if (text)
      old = std::move(*text);
    else if (is_write_refusal(text.error()))
      history.notes.push_back(not_kept(text.error()));
    else
      return std::unexpected(text.error());
  }
  const auto database = TRY(Database::open(old, path, kForm));
  const auto known = TRY(tags_of(database));
  std::set<std::string> here;
  std::size_t renamed = 0;
  for (auto& [id, file] : TRY(run_files_of(host, folder))) {
    if (here.contains(id)) continue;
    if (const auto old_tag = known.find(id);
        old_tag != known.end() && old_tag->second != tag_in_name(file)) {
      TRY(set_tag(database, id, tag_in_name(file)));
      ++renamed;
    }
    if (!known.contains(id) || !looks_whole(host, file)) {
      auto run = read_own_run_file(host, file);
      if (!run) {
        history.notes.push_back(left_out(file, run.error().message));
        continue;
      }
      if (!known.contains(id)) {
        run->id = id;  // as its file is named, whatever it says of itself
        run->tag = tag_in_name(file);
        TRY(add(database, *run));
        ++history.added;
      }
    }
    here.insert(id);
  }
  history.runs = here.size();
  const std::size_t removed = TRY(remove_others(database, known, here));
  if (history.added + removed + renamed > 0)
    if (const auto kept = write_file_atomically(path, TRY(database.bytes()), {}, storage); !kept) {
      if (!is_write_refusal(kept.error())) return std::unexpected(kept.error());
      history.notes.push_back(not_kept(kept.error()));
    }
  for (auto& series : TRY(series_of(database))) {
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

}  // namespace gpuready::bench
