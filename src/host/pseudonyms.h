// Replaces what identifies one machine, in any text: the same secret becomes the same substitute
// everywhere, different ones stay different, and each keeps its form and length, so that a reader
// of the result meets valid UUIDs, addresses and serial numbers and every join still holds.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace gpuready {

using UuidBytes = std::array<std::uint8_t, 16>;

class Pseudonyms {
 public:
  // What only its place gives away is told beforehand. Values without a digit ("N/A", "None"), all
  // zeros or shorter than four letters and digits are no serials and are left alone.
  void add_serial(std::string_view serial);
  // One number that is written in decimal here and in hexadecimal there (AMD's unique id).
  void add_number(std::uint64_t number);
  // A host name; ignored below three letters or when it is an ordinary word such as "nvidia".
  void add_host(std::string_view name);

  // A login name; ignored where it is an ordinary word or a system's account.
  void add_user(std::string_view name);
  void add_users_of_homes(std::string_view text);  // of "/home/NAME" and "/Users/NAME"
  // A whole serial number, asset tag or name, digits or not; ignored when it says "not set".
  void add_label(std::string_view label);

  // UUIDs, addresses, tokens, cloud identifiers, domains, logins, storage targets, process names
  // and folders that somebody named are found by their form (secret_forms.h, pseudonym_forms.h);
  // what was added, as whole words.
  std::string apply(std::string_view text);
  std::string user(std::string_view name);   // of a login name; system accounts stay
  std::string whole(std::string_view text);  // of a text that is one secret
  UuidBytes uuid(const UuidBytes& bytes);
  std::uint64_t number(std::uint64_t value) const;  // itself when it was never added

 private:
  struct Word {
    std::string text, substitute;
  };
  class Scanner;

  void add_word(std::string_view text, std::string substitute);
  std::string uuid_digits(std::string_view digits);  // 32 lower-case hex digits to 32 others
  std::string shaped(std::string_view original, char kind);

  std::array<std::vector<Word>, 256> words_;                  // by first byte, longest first
  std::unordered_map<std::string, std::string> substitutes_;  // kind + original
  std::map<std::string, std::string> uuids_;
  std::unordered_map<std::uint64_t, std::uint64_t> numbers_;
  std::unordered_map<char, std::uint64_t> counters_;
};

}  // namespace gpuready
