// The index of runs: an SQLite database in memory, which is a file's content before and after. So
// it is written like every other file, whole or not at all.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bench/history/history.h"
#include "bench/record/run_record.h"

struct sqlite3;

namespace gpuready::bench {

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

}  // namespace gpuready::bench
