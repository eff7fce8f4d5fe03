#include "base/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "base/json_scanner.h"
#include "base/text.h"
#include "base/utf8.h"

namespace gpuready {
namespace {

constexpr std::size_t kMaxDepth = 64;

// Builds the document itself, because the library's own builder looks every new key up among those
// before it: quadratic for an object of a hundred thousand members, which a hostile file may hold.
class Builder {
 public:
  Builder(std::string_view name, std::span<const std::string_view> left_out)
      : name_(name), left_out_(left_out) {}

  bool null() { return add(Json()); }
  bool boolean(bool value) { return add(Json(value)); }
  bool number_integer(Json::number_integer_t value) { return add(Json(value)); }
  bool number_unsigned(Json::number_unsigned_t value) { return add(Json(value)); }
  bool number_float(Json::number_float_t value, const std::string&) { return add(Json(value)); }
  bool string(std::string& value) { return add(Json(std::move(value))); }
  bool binary(Json::binary_t&) { return false; }  // JSON text has none
  bool start_object(std::size_t) { return open(); }
  bool start_array(std::size_t) { return open(); }
  bool key(std::string& value) {
    if (skipped_ > 0) return true;
    leave_out_ = std::ranges::find(left_out_, value) != left_out_.end();
    frame().keys.push_back(std::move(value));
    return true;
  }
  bool end_object() {
    if (skipped_ > 0) return close_skipped(Json::object());
    Frame& done = frame();
    if (const std::string* twice = duplicate(done.keys)) {
      error_ = "the key \"" + *twice + "\" stands twice in one object";
      return false;
    }
    Json::object_t members;
    members.reserve(done.keys.size());
    for (std::size_t i = 0; i < done.keys.size(); ++i)
      members.Json::object_t::Container::emplace_back(std::move(done.keys[i]),
                                                      std::move(done.values[i]));
    return close(Json(std::move(members)));
  }
  bool end_array() {
    if (skipped_ > 0) return close_skipped(Json::array());
    constexpr std::size_t kLong = 1000;  // the frame keeps the memory of shorter ones
    auto& values = frame().values;
    if (values.size() >= kLong) return close(Json(std::move(values)));
    Json::array_t elements(std::make_move_iterator(values.begin()),
                           std::make_move_iterator(values.end()));
    return close(Json(std::move(elements)));
  }
  bool parse_error(std::size_t, const std::string&, const Json::exception& error) {
    error_ = printable(plain(error.what()).substr(0, 300));
    if (const std::string field = open_field(); !field.empty()) error_ = field + ": " + error_;
    return false;
  }

  Result<Json> take(bool complete) {
    if (!complete) return fail(ErrorKind::bad_input, std::string(name_) + ": " + error_);
    return std::move(root_);
  }

 private:
  struct Frame {  // of an open object or array; kept and reused, one for each depth
    std::vector<std::string> keys;
    std::vector<Json> values;
  };

  // "[json.exception.parse_error.101] parse error at line 1, column 9: syntax error while parsing
  // value - invalid literal; last read: 'N'" without what names the library's own parts.
  static std::string plain(std::string_view text) {
    if (const auto end = text.find("] "); text.starts_with("[json.") && end != text.npos)
      text.remove_prefix(end + 2);
    constexpr std::string_view kPlace = "parse error at ";
    if (!text.starts_with(kPlace)) return std::string(text);
    text.remove_prefix(kPlace.size());
    const auto colon = text.find(": "), dash = text.find(" - ");
    if (colon == text.npos || dash == text.npos || dash < colon) return std::string(text);
    return std::string(text.substr(0, colon + 2)) + std::string(text.substr(dash + 3));
  }
  // Of the value that was begun and is not there: a.b.c.
  std::string open_field() const {
    std::string path;
    for (std::size_t i = 0; i < depth_; ++i)
      if (frames_[i].keys.size() > frames_[i].values.size())
        path += (path.empty() ? "" : ".") + printable(frames_[i].keys.back());
    return path;
  }

  Frame& frame() { return frames_[depth_ - 1]; }
  bool add(Json&& value) {
    if (skipped_ > 0) return true;
    leave_out_ = false;
    if (depth_ == 0)
      root_ = std::move(value);
    else
      frame().values.push_back(std::move(value));
    return true;
  }
  bool open() {
    if (depth_ + skipped_ == kMaxDepth) {
      error_ = "JSON nested deeper than 64 levels";
      return false;
    }
    if (skipped_ > 0 || leave_out_) {
      ++skipped_;
      return true;
    }
    if (frames_.size() == depth_) frames_.emplace_back();
    ++depth_;
    return true;
  }
  bool close_skipped(Json&& empty) {
    --skipped_;
    return add(std::move(empty));
  }
  bool close(Json&& value) {
    frame().keys.clear();
    frame().values.clear();
    --depth_;
    return add(std::move(value));
  }
  static const std::string* duplicate(const std::vector<std::string>& keys) {
    constexpr std::size_t kFew = 8;
    if (keys.size() <= kFew) {
      for (std::size_t i = 1; i < keys.size(); ++i)
        for (std::size_t j = 0; j < i; ++j)
          if (keys[i] == keys[j]) return &keys[i];
      return nullptr;
    }
    std::vector<const std::string*> sorted;
    sorted.reserve(keys.size());
    for (const auto& key : keys) sorted.push_back(&key);
    std::sort(sorted.begin(), sorted.end(), [](auto* a, auto* b) { return *a < *b; });
    const auto twice =
        std::adjacent_find(sorted.begin(), sorted.end(), [](auto* a, auto* b) { return *a == *b; });
    return twice == sorted.end() ? nullptr : *twice;
  }

  std::string_view name_;
  std::span<const std::string_view> left_out_;
  bool leave_out_ = false;   // the next object or array
  std::size_t skipped_ = 0;  // levels of one that is left out
  std::string error_;
  std::vector<Frame> frames_;
  std::size_t depth_ = 0;
  Json root_;
};

}  // namespace

Result<Json> parse_json(std::string_view text, std::string_view name, std::size_t limit_bytes,
                        std::span<const std::string_view> left_out) {
  if (text.size() > limit_bytes)
    return fail(ErrorKind::too_large, std::string(name) + ": " + std::to_string(text.size()) +
                                          " bytes of JSON, more than the limit of " +
                                          std::to_string(limit_bytes));
  Builder quick(name, left_out);
  if (JsonScanner(text, quick).scan()) return quick.take(true);
  Builder builder(name, left_out);
  const bool complete = Json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take(complete);
}

const Json& member(const Json& doc, std::string_view key) {
  static const Json kNull;
  if (!doc.is_object()) return kNull;
  const auto it = doc.find(key);
  return it == doc.end() ? kNull : *it;
}

std::optional<std::string> get_string(const Json& doc, std::string_view key) {
  const Json& value = member(doc, key);
  if (!value.is_string()) return std::nullopt;
  return value.get<std::string>();
}

std::optional<std::int64_t> get_int(const Json& doc, std::string_view key) {
  const Json& value = member(doc, key);
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX) return std::nullopt;
  if (!value.is_number_integer()) return std::nullopt;
  return value.get<std::int64_t>();
}

std::optional<std::uint64_t> get_uint(const Json& doc, std::string_view key) {
  const Json& value = member(doc, key);
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  if (value.is_number_integer() && value.get<std::int64_t>() >= 0)
    return static_cast<std::uint64_t>(value.get<std::int64_t>());
  return std::nullopt;
}

std::optional<double> get_double(const Json& doc, std::string_view key) {
  const Json& value = member(doc, key);
  if (!value.is_number()) return std::nullopt;
  return number(value.get<double>());
}

std::optional<bool> get_bool(const Json& doc, std::string_view key) {
  const Json& value = member(doc, key);
  if (!value.is_boolean()) return std::nullopt;
  return value.get<bool>();
}

namespace {
// JSON may go to a terminal: what could deceive there is escaped, and reads back as it was.
std::string escaped(const std::string& json) {
  std::string out;
  out.reserve(json.size());
  for (std::size_t i = 0; i < json.size();) {
    if (static_cast<unsigned char>(json[i]) < 0x7F) {
      out += json[i++];
      continue;
    }
    const auto [code, bytes] = read_utf8(json, i);
    const auto unit = [&](std::uint32_t half) { out += fmt::format("\\u{:04x}", half); };
    if (!is_deceptive(code))
      out.append(json, i, bytes);
    else if (code < 0x10000)
      unit(code);
    else
      unit(0xD7C0 + (code >> 10)), unit(0xDC00 + (code & 0x3FF));
    i += bytes;
  }
  return out;
}
}  // namespace

std::string dump(const Json& doc) {
  return escaped(doc.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n";
}

std::string dump_line(const Json& doc) {
  return escaped(doc.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace gpuready
