#include "host/database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>

#include "base/text.h"

namespace gpuready {

Database::Statement::Statement(const Database& database, const char* text) : database_(database) {
  sqlite3_prepare_v2(database.database_.get(), text, -1, &statement_, nullptr);
}
Database::Statement::~Statement() { sqlite3_finalize(statement_); }

Database::Statement& Database::Statement::bind(std::string_view text) {
  sqlite3_bind_text(statement_, ++bound_, text.data(), static_cast<int>(text.size()),
                    SQLITE_TRANSIENT);
  return *this;
}
Database::Statement& Database::Statement::bind(double value) {
  sqlite3_bind_double(statement_, ++bound_, value);
  return *this;
}
Database::Statement& Database::Statement::bind(std::int64_t value) {
  sqlite3_bind_int64(statement_, ++bound_, value);
  return *this;
}

Result<bool> Database::Statement::step() {
  const int status = statement_ == nullptr ? SQLITE_ERROR : sqlite3_step(statement_);
  if (status != SQLITE_ROW && status != SQLITE_DONE) return database_.failed();
  return status == SQLITE_ROW;
}
Result<void> Database::Statement::run() {
  TRY(step());
  sqlite3_reset(statement_);
  bound_ = 0;
  return {};
}

std::string Database::Statement::text(int column) {
  const auto* found = sqlite3_column_text(statement_, column);
  return found == nullptr ? "" : reinterpret_cast<const char*>(found);
}
double Database::Statement::number(int column) { return sqlite3_column_double(statement_, column); }
std::int64_t Database::Statement::integer(int column) {
  return sqlite3_column_int64(statement_, column);
}

void Database::Close::operator()(sqlite3* database) const { sqlite3_close(database); }

std::unexpected<Error> Database::failed() const {
  return fail(ErrorKind::bad_input,
              fmt::format("{}: {}. {}", name_, printable(sqlite3_errmsg(database_.get())), cure_));
}

Result<Database> Database::open(std::string_view bytes, std::string name, const Form& form) {
  sqlite3* opened = nullptr;
  const int status = sqlite3_open(":memory:", &opened);
  Database database(std::unique_ptr<sqlite3, Close>(opened), std::move(name), form.cure);
  if (status != SQLITE_OK) return database.failed();
  // A copy that SQLite owns and lets grow, also of nothing: bytes() gives it without another copy.
  const auto size = static_cast<sqlite3_int64>(bytes.size());
  auto* copy =
      static_cast<unsigned char*>(sqlite3_malloc64(std::max<std::size_t>(bytes.size(), 1)));
  if (copy == nullptr) return database.failed();
  std::ranges::copy(bytes, copy);
  if (sqlite3_deserialize(opened, "main", copy, size, size,
                          SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE) !=
      SQLITE_OK)
    return database.failed();
  if (bytes.empty()) {
    TRY(database.execute(form.tables));
    TRY(database.execute(fmt::format("PRAGMA user_version = {}", form.version).c_str()));
    return database;
  }
  auto version = database.prepare("PRAGMA user_version");
  TRY(version.step());
  if (version.integer(0) != form.version)
    return fail(ErrorKind::unsupported,
                fmt::format("{} was written by another version. {}", database.name_, form.cure));
  return database;
}

Result<void> Database::execute(const char* text) const {
  if (sqlite3_exec(database_.get(), text, nullptr, nullptr, nullptr) != SQLITE_OK) return failed();
  return {};
}

Result<std::string_view> Database::bytes() const {
  sqlite3_int64 size = 0;
  const unsigned char* found =
      sqlite3_serialize(database_.get(), "main", &size, SQLITE_SERIALIZE_NOCOPY);
  if (found == nullptr) return failed();
  return std::string_view(reinterpret_cast<const char*>(found), static_cast<std::size_t>(size));
}

}  // namespace gpuready
