// An SQLite database in memory, which is a file's content before and after: so it is written like
// every other file, whole or not at all.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace gpuready {

class Database {
 public:
  // A prepared statement. It fails when it is stepped.
  class Statement {
   public:
    ~Statement();
    Statement(const Statement&) = delete;
    Statement& operator=(const Statement&) = delete;

    // The next of its parameters.
    Statement& bind(std::string_view text);
    Statement& bind(double value);
    Statement& bind(std::int64_t value);
    // Whether there is a row, whose columns can be read then.
    Result<bool> step();
    // Of a statement that gives no row; it can be bound again then.
    Result<void> run();
    std::string text(int column);
    double number(int column);
    std::int64_t integer(int column);

   private:
    friend class Database;
    Statement(const Database& database, const char* text);
    const Database& database_;
    sqlite3_stmt* statement_ = nullptr;
    int bound_ = 0;
  };

  struct Form {
    const char* tables;     // CREATE TABLE ...
    int version;            // of them
    std::string_view cure;  // of a file that cannot be read: "Delete it: it is rebuilt from ..."
  };
  // `bytes`: of the file; empty for a new one. `name` is what errors call it.
  static Result<Database> open(std::string_view bytes, std::string name, const Form& form);

  Statement prepare(const char* text) const { return {*this, text}; }
  Result<void> execute(const char* text) const;
  // Valid until the database changes or goes.
  Result<std::string_view> bytes() const;

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  Database(std::unique_ptr<sqlite3, Close> database, std::string name, std::string_view cure)
      : database_(std::move(database)), name_(std::move(name)), cure_(cure) {}
  std::unexpected<Error> failed() const;

  std::unique_ptr<sqlite3, Close> database_;
  std::string name_;
  std::string_view cure_;
};

}  // namespace gpuready
