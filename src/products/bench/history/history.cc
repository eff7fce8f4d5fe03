#include "bench/history/history.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "base/statistics.h"
#include "base/text.h"
#include "bench/compare/fields_compare.h"
#include "bench/record/result_files.h"
#include "bench/record/run_record.h"
#include "host/atomic_file.h"

namespace gpuready::bench {
namespace {

// The index of runs: an SQLite database in memory, which is a file's content before and after. So
// it is written like every other file, whole or not at all.
class HistoryDatabase {
 public:
  // `bytes`: of the file; empty for a new one. `name` is what errors call it.
  static Result<HistoryDatabase> open(std::string_view bytes, std::string name);

  Result<std::map<std::string, std::string>> tags();  // by the ids of the runs
  Result<void> set_tag(const std::string& id, const std::string& tag);
  Result<void> add(const RunRecord& run);
  Result<void> remove(const std::string& id);
  // In the order of workload, stack, machine, KPI, and in time.
  Result<std::vector<Series>> series();
  Result<std::string> bytes();

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  HistoryDatabase(std::unique_ptr<sqlite3, Close> database, std::string name)
      : database_(std::move(database)), name_(std::move(name)) {}
  std::unexpected<Error> failed() const;

  std::unique_ptr<sqlite3, Close> database_;
  std::string name_;
};

constexpr int kVersion = 1;

constexpr const char* kTables = R"(
CREATE TABLE runs (id TEXT PRIMARY KEY, tag TEXT, started_utc TEXT, git_commit TEXT,
                   fingerprint TEXT, workload TEXT, dtype TEXT, device TEXT);
CREATE TABLE figures (run TEXT REFERENCES runs, stack TEXT, kpi TEXT, value REAL,
                      PRIMARY KEY (run, stack, kpi));
)";

constexpr const char* kSeries = R"(
SELECT workload, dtype, device, stack, fingerprint, kpi, id, tag, started_utc, git_commit, value
FROM figures JOIN runs ON runs.id = figures.run
ORDER BY workload, dtype, device, stack, fingerprint, kpi, started_utc, id
)";

// A prepared statement; a failure shows when it is stepped.
class Statement {
 public:
  Statement(sqlite3* database, const char* text) {
    sqlite3_prepare_v2(database, text, -1, &statement_, nullptr);
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  void bind(int place, const std::string& text) {
    sqlite3_bind_text(statement_, place, text.data(), static_cast<int>(text.size()),
                      SQLITE_TRANSIENT);
  }
  void bind(int place, double value) { sqlite3_bind_double(statement_, place, value); }
  int step() { return statement_ == nullptr ? SQLITE_ERROR : sqlite3_step(statement_); }
  std::string text(int column) {
    const auto* found = sqlite3_column_text(statement_, column);
    return found == nullptr ? "" : reinterpret_cast<const char*>(found);
  }
  double number(int column) { return sqlite3_column_double(statement_, column); }
  long long integer(int column) { return sqlite3_column_int64(statement_, column); }

 private:
  sqlite3_stmt* statement_ = nullptr;
};

void HistoryDatabase::Close::operator()(sqlite3* database) const { sqlite3_close(database); }

std::unexpected<Error> HistoryDatabase::failed() const {
  return fail(ErrorKind::bad_input,
              fmt::format("{}: {}. Delete it: it is rebuilt from the runs beside it", name_,
                          printable(sqlite3_errmsg(database_.get()))));
}

Result<HistoryDatabase> HistoryDatabase::open(std::string_view bytes, std::string name) {
  sqlite3* opened = nullptr;
  const int status = sqlite3_open(":memory:", &opened);
  HistoryDatabase history(std::unique_ptr<sqlite3, Close>(opened), std::move(name));
  if (status != SQLITE_OK) return history.failed();
  const std::string set_version = fmt::format("PRAGMA user_version = {}", kVersion);
  if (bytes.empty()) {
    if (sqlite3_exec(opened, kTables, nullptr, nullptr, nullptr) != SQLITE_OK ||
        sqlite3_exec(opened, set_version.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
      return history.failed();
    return history;
  }
  auto* copy = static_cast<unsigned char*>(sqlite3_malloc64(bytes.size()));
  if (copy == nullptr) return history.failed();
  std::memcpy(copy, bytes.data(), bytes.size());
  const auto size = static_cast<sqlite3_int64>(bytes.size());
  if (sqlite3_deserialize(opened, "main", copy, size, size,
                          SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE) !=
      SQLITE_OK)
    return history.failed();
  Statement version(opened, "PRAGMA user_version");
  if (version.step() != SQLITE_ROW) return history.failed();
  if (version.integer(0) != kVersion)
    return fail(
        ErrorKind::unsupported,
        fmt::format(
            "{} was written by another version. Delete it: it is rebuilt from the runs beside it",
            history.name_));
  return history;
}

Result<std::map<std::string, std::string>> HistoryDatabase::tags() {
  Statement query(database_.get(), "SELECT id, tag FROM runs");
  std::map<std::string, std::string> found;
  int status = 0;
  while ((status = query.step()) == SQLITE_ROW) found[query.text(0)] = query.text(1);
  if (status != SQLITE_DONE) return failed();
  return found;
}

Result<void> HistoryDatabase::set_tag(const std::string& id, const std::string& tag) {
  Statement update(database_.get(), "UPDATE runs SET tag = ? WHERE id = ?");
  update.bind(1, tag);
  update.bind(2, id);
  if (update.step() != SQLITE_DONE) return failed();
  return {};
}

Result<void> HistoryDatabase::add(const RunRecord& run) {
  Statement insert(database_.get(), "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
  int place = 0;
  for (const std::string& text :
       {run.id, run.tag, run.started_utc, run.git_commit, run.environment.fingerprint(),
        workload_key(run.workload), run.workload.dtype, run.workload.device})
    insert.bind(++place, text);
  if (insert.step() != SQLITE_DONE) return failed();
  for (const auto& stack : run.stacks) {
    if (!run.is_whole() || stack.status != StackStatus::ok) continue;
    for (const Kpi kpi : kKpis) {
      const auto value = value_of(stack, run.workload, kpi);
      if (!value || !(*value > 0)) continue;
      Statement figure(database_.get(), "INSERT INTO figures VALUES (?, ?, ?, ?)");
      figure.bind(1, run.id);
      figure.bind(2, stack.id);
      figure.bind(3, std::string(name_of(kpi)));
      figure.bind(4, *value);
      if (figure.step() != SQLITE_DONE) return failed();
    }
  }
  return {};
}

Result<void> HistoryDatabase::remove(const std::string& id) {
  for (const char* text : {"DELETE FROM figures WHERE run = ?", "DELETE FROM runs WHERE id = ?"}) {
    Statement statement(database_.get(), text);
    statement.bind(1, id);
    if (statement.step() != SQLITE_DONE) return failed();
  }
  return {};
}

Result<std::vector<Series>> HistoryDatabase::series() {
  Statement query(database_.get(), kSeries);
  std::vector<Series> all;
  int status = 0;
  while ((status = query.step()) == SQLITE_ROW) {
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
  if (status != SQLITE_DONE) return failed();
  return all;
}

Result<std::string> HistoryDatabase::bytes() {
  sqlite3_int64 size = 0;
  unsigned char* found = sqlite3_serialize(database_.get(), "main", &size, 0);
  if (found == nullptr) return failed();
  std::string bytes(reinterpret_cast<const char*>(found), static_cast<std::size_t>(size));
  sqlite3_free(found);
  return bytes;
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
bool is_of_the_place(const Error& error) {
  constexpr std::array kCodes = {EACCES, EPERM, EROFS, ENOSPC, EDQUOT};
  return std::ranges::find(kCodes, error.code) != kCodes.end();
}

std::string not_kept(const Error& error) {
  return fmt::format("The history was computed from the runs and is not stored: {}",
                     printable(error.message));
}

// How many of the known runs are not here any more; these go.
Result<std::size_t> remove_others(HistoryDatabase& database,
                                  const std::map<std::string, std::string>& known,
                                  const std::set<std::string>& here) {
  std::size_t removed = 0;
  for (const auto& [id, tag] : known) {
    if (here.contains(id)) continue;
    TRY(database.remove(id));
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
    else if (is_of_the_place(text.error()))
      history.notes.push_back(not_kept(text.error()));
    else
      return std::unexpected(text.error());
  }
  auto database = TRY(HistoryDatabase::open(old, path));
  auto known = TRY(database.tags());
  std::set<std::string> here;
  std::size_t renamed = 0;
  for (auto& [id, file] : TRY(run_files_of(host, folder))) {
    if (here.contains(id)) continue;
    if (const auto old_tag = known.find(id);
        old_tag != known.end() && old_tag->second != tag_in_name(file)) {
      TRY(database.set_tag(id, tag_in_name(file)));
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
        TRY(database.add(*run));
        ++history.added;
      }
    }
    here.insert(id);
  }
  history.runs = here.size();
  const std::size_t removed = TRY(remove_others(database, known, here));
  if (history.added + removed + renamed > 0)
    if (const auto kept = write_file_atomically(path, TRY(database.bytes()), {}, storage); !kept) {
      if (!is_of_the_place(kept.error())) return std::unexpected(kept.error());
      history.notes.push_back(not_kept(kept.error()));
    }
  for (auto& series : TRY(database.series())) {
    if (!wanted(filter.stacks, series.stack) || !wanted(filter.kpis, series.kpi)) continue;
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
