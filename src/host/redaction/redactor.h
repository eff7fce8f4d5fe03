// Keeps of a text what is known to name no one, and nothing else: the fixed words of the rules that
// read it, the numbers that they read, and PCI addresses. UUIDs, and the names in paths that must
// still lead somewhere, become substitutes: one name the same one everywhere. Every other word
// becomes "*". What was redacted before stays as it is.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

namespace gpuready {

struct RedactionRules;
using UuidBytes = std::array<std::uint8_t, 16>;

class Redactor {
 public:
  explicit Redactor(const RedactionRules& rules) : rules_(rules) {}

  enum class Kind {
    words,  // no numbers, but PCI addresses of the machine
    log,    // and the numbers that a rule reads
    call,   // the arguments of a library's call
    model,  // products' names
  };
  std::string text(std::string_view text, Kind kind = Kind::words);
  // Absolute, relative, or several of them with ":" between.
  std::string paths(std::string_view list);
  std::string path(std::string_view path);
  // A relative link, from the folder of `from`.
  std::string link(std::string_view from, std::string_view target);
  // The path of a cgroup, as it is below /sys/fs/cgroup.
  std::string group(std::string_view path);
  std::string release(std::string_view kernel);  // "6.8.0-45-generic"
  std::string name(std::string_view name);       // of anything: "redacted-7"
  UuidBytes uuid(const UuidBytes& bytes);
  // An answer of a library: one number, version or address, or a text.
  std::string answer(std::string_view answer, Kind kind);
  // The value of a variable: small numbers, versions and names of GPUs with "," between, or paths.
  std::string value(std::string_view value);
  // Notes the domain of a PCI address of the machine: one of another domain goes.
  void note_address(std::string_view address);
  // Of a board, written in decimal here and in hexadecimal there.
  std::uint64_t id(std::uint64_t number);

 private:
  static Kind kind_of(std::string_view line, Kind kind);
  std::string line(std::string_view line, Kind kind);
  std::string word(std::string_view word, Kind kind, bool is_read = false);
  std::string numbered(std::string_view word, Kind kind, bool is_read) const;  // empty: none
  std::string relative(std::string_view path, Kind kind);
  std::string beginning(std::string_view word) const;
  std::string uuids(std::string_view word);
  std::string uuid_digits(const std::string& digits);
  std::string component(std::string_view name);
  std::string group_part(std::string_view name);
  std::string device_part(std::string_view name, std::string_view folder);
  bool is_model(std::string_view word) const;
  bool is_model_number(std::string_view before, std::string_view number,
                       std::string_view after) const;
  bool is_fixed(std::string_view word) const;

  const RedactionRules& rules_;
  std::unordered_map<std::string, std::string> names_;
  std::map<std::string, std::string> uuids_;
  std::unordered_map<std::uint64_t, std::uint64_t> ids_;
  std::set<std::uint64_t> domains_{0};
};

}  // namespace gpuready
