// One walk over a text. Each try_ either appends a substitute and moves on, or does nothing.
#include <algorithm>

#include "base/text.h"
#include "host/pseudonym_forms.h"
#include "host/pseudonyms.h"
#include "host/secret_forms.h"
#include "host/secret_names.h"

namespace gpuready {
namespace {

constexpr std::size_t kLongestHex = 128;  // a SHA-512
constexpr std::size_t kShortestHex = 40;  // a SHA-1; container ids have 64
// White space and NUL, which ends a name in a binary file, end everything.
constexpr std::string_view kValueEnds = "\"'`,;&|<>()[]{}", kPathEnds = "\"'`:,;&|<>()[]{}=";

bool is_one_of(char c, std::string_view letters) { return letters.find(c) != letters.npos; }
bool is_end(char c, std::string_view ends) {
  return static_cast<unsigned char>(c) <= ' ' || is_one_of(c, ends);
}

}  // namespace

class Pseudonyms::Scanner {
 public:
  Scanner(Pseudonyms& names, std::string_view text) : names_(names), text_(text) {
    out_.reserve(text.size());
  }

  std::string run() {
    while (at_ < text_.size())
      if (!try_any()) out_ += text_[at_++];
    return std::move(out_);
  }

 private:
  char before(std::size_t back = 1) const { return at_ < back ? '\0' : text_[at_ - back]; }
  std::string_view rest() const { return text_.substr(at_); }
  bool ends_word(std::size_t at) const { return at >= text_.size() || !is_alnum(text_[at]); }
  std::string_view until(std::string_view ends) const {
    const auto text = rest();
    const auto end =
        std::find_if(text.begin(), text.end(), [&](char c) { return is_end(c, ends); });
    return text.substr(0, static_cast<std::size_t>(end - text.begin()));
  }
  std::string_view part_of_path() const {
    const auto text = until(kPathEnds);
    return text.substr(0, text.find('/'));
  }
  bool keep(std::size_t length) { return put(length, rest().substr(0, length)); }
  bool put(std::size_t length, std::string_view substitute) {
    out_ += substitute;
    at_ += length;
    return true;
  }
  bool hide(std::size_t length, char kind) {
    return length > 0 && put(length, names_.shaped(rest().substr(0, length), kind));
  }

  bool try_any() {
    if (text_[at_] == ':' && try_url()) return true;
    if (text_[at_] == '/' && (try_home() || try_path())) return true;
    if (hide(process_name_length(text_, at_), kProcessKind)) return true;
    const bool at_start = at_ == 0 || !is_alnum(before()) || (before() == 'x' && before(2) == '0');
    // "kubepods-burstable-pod1234abcd_...": the one UUID that follows a letter
    if (!at_start) return text_.substr(0, at_).ends_with("pod") && try_uuid();
    if (is_alnum(text_[at_]) &&
        (try_word() || try_uuid_prefix() || try_assigned() ||
         hide(token_length(rest()), kTokenKind) || try_login() || try_server() || try_domain()))
      return true;
    return (is_hex(text_[at_]) || text_[at_] == ':') && (try_uuid() || try_hex() || try_address());
  }

  bool try_word() {
    for (const auto& word : names_.words_[static_cast<unsigned char>(text_[at_])])
      if (rest().starts_with(word.text) && ends_word(at_ + word.text.size()))
        return put(word.text.size(), word.substitute);
    return false;
  }

  bool try_home() {
    for (const std::string_view folder : {"/home/", "/Users/"}) {
      if (!rest().starts_with(folder)) continue;
      keep(folder.size());
      const auto name = part_of_path();
      put(name.size(), names_.user(name));
      components();
      return true;
    }
    return false;
  }

  // "https://alice:secret@git.example.com/project": all of it, unless its host is everybody's.
  bool try_url() {
    if (!rest().starts_with("://")) return false;
    keep(3);
    const auto whole = until(kValueEnds);
    const auto authority = whole.substr(0, whole.find('/'));
    const bool is_public = is_public_domain(to_lower(authority));
    if (authority.empty()) return true;
    if (is_public) return keep(whole.size());
    put(authority.size(), names_.shaped(authority, kHostKind));
    components();
    return true;
  }

  // An absolute path below folders that somebody named, or "//server/share".
  bool try_path() {
    const bool starts = at_ == 0 || is_end(before(), kPathEnds);
    if (!starts || at_ + 1 >= text_.size()) return false;
    if (text_[at_ + 1] == '/') {
      if (at_ + 2 >= text_.size() || !is_alnum(text_[at_ + 2])) return false;
      keep(1);
      return components();
    }
    const auto path = until(kPathEnds).substr(1);
    const auto root = path.substr(0, path.find('/'));
    if (root.size() == path.size() || root.empty()) return false;  // one part: any text has these
    if (is_system_root(root) && !path.starts_with("usr/local/")) return false;
    return components();
  }

  // "/part/part" up to the end of the path.
  bool components() {
    while (at_ < text_.size() && text_[at_] == '/') {
      keep(1);
      const auto part = part_of_path();
      if (part.size() < 3 || is_ordinary_component(part))
        keep(part.size());
      else
        component(part);
    }
    return true;
  }
  // A name that is known from elsewhere is replaced as it is there.
  void component(std::string_view part) {
    for (const auto& word : names_.words_[static_cast<unsigned char>(part[0])])
      if (word.text == part) {
        put(part.size(), word.substitute);
        return;
      }
    if (const auto length = uuid_length(part, true); length == part.size())
      put(length, with_digits(part, names_.uuid_digits(hex_digits(part))));
    else
      hide(part.size(), kPathKind);
  }

  // "password=hunter2", "\"token\": \"abc\"", "--secret abc", "Bearer abc"
  bool try_assigned() {
    const auto word = rest().substr(
        0, rest().find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                    "0123456789_.-"));
    std::size_t value = word.size();
    const auto skip = [&](std::string_view letters) {
      while (value < rest().size() && is_one_of(rest()[value], letters)) ++value;
    };
    const bool option = before() == '-' && before(2) == '-';
    if (word == "Bearer") {
      skip(" ");
    } else {
      if (!assigns_a_credential(word)) return false;
      skip("\"' ");
      if (value < rest().size() && is_one_of(rest()[value], "=:"))
        skip("=: \"'");
      else if (!option)
        return false;
    }
    if (value == word.size()) return false;
    keep(value);
    return hide(until(kValueEnds).size(), kTokenKind) || true;
  }

  bool try_login() {
    const auto login = login_at(rest());
    if (login.length == 0) return false;
    const auto text = rest();
    put(login.user, names_.user(text.substr(0, login.user)));
    keep(1);
    return hide(login.length - login.user - 1, kHostKind);
  }

  // "filer7:/export/home" of NFS; not the end of one path before the next.
  bool try_server() {
    if (at_ > 0 && !is_one_of(before(), " \t\n\"'=(,[")) return false;
    const auto name = rest().substr(
        0, rest().find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                    "0123456789.-"));
    const auto after = rest().substr(name.size());
    if (name.size() < 3 || !after.starts_with(":/") || after.size() < 3 || !is_alnum(after[2]))
      return false;
    hide(name.size(), kHostKind);
    keep(1);
    return components();
  }

  bool try_domain() { return hide(domain_length(rest()), kHostKind); }

  bool try_uuid() {
    for (const bool dashed : {true, false}) {
      const auto length = uuid_length(rest(), dashed);
      if (length == 0 || !ends_word(at_ + length)) continue;
      const auto uuid = rest().substr(0, length);
      return put(length, with_digits(uuid, names_.uuid_digits(hex_digits(uuid))));
    }
    return false;
  }

  // "GPU-8932f9": the start of a UUID that is known from elsewhere, or long enough to tell.
  bool try_uuid_prefix() {
    const auto text = rest();
    if (!text.starts_with("GPU-") && !text.starts_with("MIG-")) return false;
    auto end = text.find_first_not_of("0123456789abcdefABCDEF-", 4);
    if (end == text.npos) end = text.size();
    const auto part = text.substr(4, end - 4);
    const auto digits = hex_digits(part);
    if (digits.size() < 4 || digits.size() >= 32 || !ends_word(at_ + end)) return false;
    const auto first = names_.uuids_.lower_bound(digits);
    const auto matches = [&](auto it) {
      return it != names_.uuids_.end() && it->first.starts_with(digits);
    };
    if (matches(first) && !matches(std::next(first)))
      return put(end, std::string(text.substr(0, 4)) + with_digits(part, first->second));
    if (digits.size() < 8) return false;  // may be a word: "GPU-0000"
    return put(end, std::string(text.substr(0, 4)) + with_digits(part, std::string(32, '0')));
  }

  bool try_hex() {
    const auto run = rest().substr(0, kLongestHex + 1);
    const auto length = std::min(run.find_first_not_of("0123456789abcdefABCDEF"), run.size());
    if (length < kShortestHex || length > kLongestHex || !ends_word(at_ + length)) return false;
    if (run.substr(0, length).find_first_not_of(run.substr(0, 1)) >= length)
      return false;  // a mask
    return hide(length, kHexKind);
  }

  bool try_address() {
    const auto found = address_at(text_, at_);
    return hide(found.length, found.kind);
  }

  Pseudonyms& names_;
  std::string_view text_;
  std::size_t at_ = 0;
  std::string out_;
};

std::string Pseudonyms::apply(std::string_view text) { return Scanner(*this, text).run(); }

std::string Pseudonyms::whole(std::string_view text) { return shaped(text, kProcessKind); }

}  // namespace gpuready
