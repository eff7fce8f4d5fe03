// Reads a table of a TOML file key by key and says what is wrong with it.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/text.h"

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

namespace gpuready {

// Reads a table key by key; what is left over at the end was misspelt.
class TomlReader {
 public:
  TomlReader(const toml::table& table, std::string where)
      : table_(table), where_(std::move(where)) {}

  std::optional<std::string> text(std::string_view key) {
    const auto* node = take(key);
    if (node == nullptr) return std::nullopt;
    if (const auto value = node->value_exact<std::string>()) return *value;
    wrong(key, "is not a text");
    return std::nullopt;
  }
  std::optional<std::uint64_t> count(std::string_view key) {
    const auto* node = take(key);
    if (node == nullptr) return std::nullopt;
    if (const auto value = node->value_exact<std::int64_t>(); value && *value >= 0)
      return static_cast<std::uint64_t>(*value);
    wrong(key, "is not a whole number");
    return std::nullopt;
  }
  std::vector<std::string> texts(std::string_view key) {
    std::vector<std::string> list;
    const auto* node = take(key);
    if (node == nullptr) return list;
    if (const auto* array = node->as_array()) {
      for (const auto& item : *array) {
        const auto value = item.value_exact<std::string>();
        if (!value) wrong(key, "is not a list of texts");
        list.push_back(value.value_or(""));
      }
    } else {
      wrong(key, "is not a list of texts");
    }
    return list;
  }
  std::vector<std::int64_t> numbers(std::string_view key) {
    std::vector<std::int64_t> list;
    const auto* node = take(key);
    const auto* array = node != nullptr ? node->as_array() : nullptr;
    if (node != nullptr && array == nullptr) wrong(key, "is not a list of whole numbers");
    if (array == nullptr) return list;
    for (const auto& item : *array) {
      const auto value = item.value_exact<std::int64_t>();
      if (!value) wrong(key, "is not a list of whole numbers");
      list.push_back(value.value_or(0));
    }
    return list;
  }
  bool has(std::string_view key) const { return table_.contains(key); }
  const toml::table* table(std::string_view key) {
    const auto* node = take(key);
    if (node != nullptr && !node->is_table()) wrong(key, "is not a table");
    return node != nullptr ? node->as_table() : nullptr;
  }
  const toml::array* tables(std::string_view key) {
    const auto* node = take(key);
    const auto* array = node != nullptr ? node->as_array() : nullptr;
    if (node == nullptr || (array != nullptr && (array->empty() || node->is_array_of_tables())))
      return array;
    wrong(key, "is not a list of tables");
    return nullptr;
  }

  void wrong(std::string_view key, std::string_view what) {
    if (problem_.empty()) problem_ = fmt::format("{}{} {}", where_, key, what);
  }
  // Keys that no one asked for, and what was wrong with those that somebody did; empty: nothing.
  const std::string& problem() {
    for (const auto& [key, node] : table_)
      if (!taken_.contains(key.str())) wrong(key.str(), "is not known here");
    return problem_;
  }
  Result<void> finish(std::string_view name) {
    if (problem().empty()) return {};
    return fail(ErrorKind::bad_input, fmt::format("{}: {}", name, printable(problem_)));
  }

 private:
  const toml::node* take(std::string_view key) {
    taken_.emplace(key);
    return table_.get(key);
  }
  const toml::table& table_;
  std::string where_, problem_;
  std::set<std::string, std::less<>> taken_;
};

// The tables under a key.
template <class T>
Result<std::vector<T>> read_list(TomlReader& top, std::string_view key, std::string_view name,
                                 T (*read)(TomlReader&)) {
  std::vector<T> list;
  const auto* tables = top.tables(key);
  if (tables == nullptr) return list;
  for (const auto& node : *tables) {
    TomlReader reader(*node.as_table(), fmt::format("{}: ", key));
    list.push_back(read(reader));
    TRY(reader.finish(name));
  }
  return list;
}

}  // namespace gpuready
