#include "bench/history/history_database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cstring>

#include "base/text.h"
#include "bench/compare/fields_compare.h"

namespace gpuready::bench {
namespace {

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

std::string workload_text(const Workload& workload) {
  std::string text = workload.name;
  for (const auto& [name, size] : workload.shape) text += fmt::format(" {}={}", name, size);
  return text;
}

}  // namespace

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
        workload_text(run.workload), run.workload.dtype, run.workload.device})
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

}  // namespace gpuready::bench
