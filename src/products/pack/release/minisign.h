// Keys and signatures in minisign's formats (https://jedisct1.github.io/minisign/, Ed25519 over
// BLAKE2b of the file), so that minisign itself checks what is signed here, and the other way
// round.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gpuready::pack {

struct PublicKey {
  std::array<std::uint8_t, 8> id{};
  std::array<std::uint8_t, 32> key{};
  bool operator==(const PublicKey&) const = default;

  std::string id_text() const;  // "E7620F1842B4E81F", as minisign shows it
  std::string text() const;     // one line of base64: "RWQ..."
  std::string file() const;     // with its comment
};
// A public key file, or its one line of base64.
Result<PublicKey> parse_public_key(std::string_view text, std::string_view name);

// A private key. Its bytes are wiped when it goes.
class SecretKey {
 public:
  SecretKey() = default;
  SecretKey(const SecretKey&) = default;
  SecretKey& operator=(const SecretKey&) = default;
  ~SecretKey();
  PublicKey public_key() const;

  std::array<std::uint8_t, 8> id{};
  std::array<std::uint8_t, 64> key{};
};
Result<SecretKey> make_secret_key();

// How hard a password is to guess: scrypt's limits, which the file carries. The defaults are
// minisign's: 1 GiB of memory and some seconds.
struct PasswordCost {
  std::uint64_t operations = 33'554'432, memory_bytes = 1u << 30;
};
// The file of a private key, encrypted under a password. An empty password encrypts nothing.
Result<std::string> secret_key_file(const SecretKey& key, std::string_view password,
                                    const PasswordCost& cost = {});
// Whether a password is needed to read this file.
Result<bool> is_encrypted(std::string_view file, std::string_view name);
// Refuses files that want more than 4 GiB for the password.
Result<SecretKey> parse_secret_key(std::string_view file, std::string_view password,
                                   std::string_view name);

// The text of a .minisig file. Neither comment holds a line break.
std::string sign(const SecretKey& key, std::string_view content, std::string_view trusted_comment);

// The trusted comment, once the signature and the comment were made by this key. Only the prehashed
// form (ED) is accepted.
Result<std::string> verify_signature(const PublicKey& key, std::string_view content,
                                     std::string_view signature_file, std::string_view name);

}  // namespace gpuready::pack
