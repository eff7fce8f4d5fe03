#include "pack/release/minisign.h"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "base/text.h"
#include "host/recording/base64.h"

namespace gpuready::pack {
namespace {

constexpr std::string_view kUntrusted = "untrusted comment: ";
constexpr std::string_view kTrusted = "trusted comment: ";
constexpr std::uint64_t kMostMemory = std::uint64_t{4} << 30;

// Plain bytes in the order in which minisign's files hold them.
struct PublicKeyBytes {
  char algorithm[2];  // "Ed"
  std::uint8_t id[8], key[32];
};
static_assert(sizeof(PublicKeyBytes) == 42);
struct SecretPart {  // what the password encrypts
  std::uint8_t id[8], key[64], checksum[32];
};
struct SecretKeyBytes {
  char algorithm[2], derivation[2], checksum[2];  // "Ed", "Sc" or zeros, "B2"
  std::uint8_t salt[32], operations[8], memory[8];
  SecretPart secret;
};
static_assert(sizeof(SecretKeyBytes) == 158);
struct SignatureBytes {
  char algorithm[2];  // "ED": prehashed
  std::uint8_t id[8], signature[64];
};
static_assert(sizeof(SignatureBytes) == 74);

bool start_sodium() {
  static const bool started = sodium_init() >= 0;
  return started;
}

template <class Bytes>
std::string_view bytes_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(&bytes), sizeof bytes};
}
const std::uint8_t* pointer(std::string_view text) {
  return reinterpret_cast<const std::uint8_t*>(text.data());
}

// Nothing where it does not have the size and the first bytes, the algorithm.
template <class Bytes>
std::optional<Bytes> decoded(std::string_view text, std::string_view algorithm = "") {
  auto raw = base64_decode(trim(text)).value_or("");
  if (raw.size() != sizeof(Bytes) || !raw.starts_with(algorithm)) return std::nullopt;
  Bytes bytes;
  std::memcpy(&bytes, raw.data(), sizeof bytes);
  sodium_memzero(raw.data(), raw.size());
  return bytes;
}

std::uint64_t little_endian(const std::uint8_t (&bytes)[8]) {
  std::uint64_t value = 0;
  for (int i = 7; i >= 0; --i) value = value << 8 | bytes[i];
  return value;
}
void put_little_endian(std::uint8_t (&bytes)[8], std::uint64_t value) {
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(value), value >>= 8;
}

// The second line of a file whose first is a comment.
std::string_view payload(std::string_view file) {
  const auto all = lines(file);
  if (all.size() == 1) return all[0];
  return all.size() >= 2 && all[0].starts_with(kUntrusted) ? all[1] : std::string_view();
}

std::array<std::uint8_t, 32> checksum_of(const SecretKeyBytes& file) {
  std::array<std::uint8_t, 32> sum{};
  crypto_generichash_state state;
  crypto_generichash_init(&state, nullptr, 0, sum.size());
  for (const auto part :
       {bytes_of(file.algorithm), bytes_of(file.secret.id), bytes_of(file.secret.key)})
    crypto_generichash_update(&state, pointer(part), part.size());
  crypto_generichash_final(&state, sum.data(), sum.size());
  return sum;
}

// Encrypts, and decrypts.
Result<void> apply_password(SecretKeyBytes& file, std::string_view password) {
  std::array<std::uint8_t, sizeof(SecretPart)> stream;
  if (crypto_pwhash_scryptsalsa208sha256(stream.data(), stream.size(), password.data(),
                                         password.size(), file.salt, little_endian(file.operations),
                                         little_endian(file.memory)) != 0)
    return fail(ErrorKind::too_large,
                fmt::format("not enough memory for the password: this key's file wants {} MiB",
                            little_endian(file.memory) >> 20));
  auto* secret = reinterpret_cast<std::uint8_t*>(&file.secret);
  for (std::size_t i = 0; i < stream.size(); ++i) secret[i] ^= stream[i];
  sodium_memzero(stream.data(), stream.size());
  return {};
}

std::array<std::uint8_t, 64> prehash(std::string_view content) {
  std::array<std::uint8_t, 64> hash{};
  crypto_generichash(hash.data(), hash.size(), pointer(content), content.size(), nullptr, 0);
  return hash;
}

Result<SecretKeyBytes> secret_bytes(std::string_view file, std::string_view name) {
  const auto bytes = decoded<SecretKeyBytes>(payload(file), "Ed");
  if (!bytes || bytes_of(bytes->checksum) != "B2" ||
      (bytes_of(bytes->derivation) != "Sc" &&
       bytes_of(bytes->derivation) != std::string_view("\0\0", 2)))
    return fail(ErrorKind::bad_input,
                fmt::format("{}: not a private key in minisign's format", name));
  return *bytes;
}

std::string id_text(const std::uint8_t* id) {
  std::string text;
  for (int i = 7; i >= 0; --i) text += fmt::format("{:02X}", id[i]);
  return text;
}

}  // namespace

std::string PublicKey::id_text() const { return pack::id_text(id.data()); }

std::string PublicKey::text() const {
  PublicKeyBytes bytes{{'E', 'd'}, {}, {}};
  std::ranges::copy(id, bytes.id);
  std::ranges::copy(key, bytes.key);
  return base64_encode(bytes_of(bytes));
}

std::string PublicKey::file() const {
  return fmt::format("{}minisign public key {}\n{}\n", kUntrusted, id_text(), text());
}

Result<PublicKey> parse_public_key(std::string_view text, std::string_view name) {
  const auto bytes = decoded<PublicKeyBytes>(payload(text), "Ed");
  if (!bytes)
    return fail(ErrorKind::bad_input,
                fmt::format("{}: not a public key in minisign's format", name));
  PublicKey key;
  std::ranges::copy(bytes->id, key.id.begin());
  std::ranges::copy(bytes->key, key.key.begin());
  return key;
}

SecretKey::~SecretKey() { sodium_memzero(key.data(), key.size()); }

PublicKey SecretKey::public_key() const {
  PublicKey out;
  out.id = id;
  std::copy(key.begin() + 32, key.end(), out.key.begin());  // Ed25519 keeps it behind the seed
  return out;
}

Result<SecretKey> make_secret_key() {
  if (!start_sodium()) return fail(ErrorKind::io, "this machine gives no random numbers");
  SecretKey key;
  std::array<std::uint8_t, 32> unused;
  crypto_sign_keypair(unused.data(), key.key.data());
  randombytes_buf(key.id.data(), key.id.size());
  return key;
}

Result<std::string> secret_key_file(const SecretKey& key, std::string_view password,
                                    const PasswordCost& cost) {
  if (!start_sodium()) return fail(ErrorKind::io, "this machine gives no random numbers");
  SecretKeyBytes file{{'E', 'd'}, {'S', 'c'}, {'B', '2'}, {}, {}, {}, {}};
  std::ranges::copy(key.id, file.secret.id);
  std::ranges::copy(key.key, file.secret.key);
  std::ranges::copy(checksum_of(file), file.secret.checksum);
  if (password.empty()) {
    std::memset(file.derivation, 0, sizeof file.derivation);
  } else {
    randombytes_buf(file.salt, sizeof file.salt);
    put_little_endian(file.operations, cost.operations);
    put_little_endian(file.memory, cost.memory_bytes);
    TRY(apply_password(file, password));
  }
  const auto text = fmt::format("{}minisign {} key {}\n{}\n", kUntrusted,
                                password.empty() ? "secret" : "encrypted secret",
                                id_text(key.id.data()), base64_encode(bytes_of(file)));
  sodium_memzero(&file, sizeof file);
  return text;
}

Result<bool> is_encrypted(std::string_view file, std::string_view name) {
  auto bytes = TRY(secret_bytes(file, name));
  const bool encrypted = bytes_of(bytes.derivation) == "Sc";
  sodium_memzero(&bytes, sizeof bytes);
  return encrypted;
}

Result<SecretKey> parse_secret_key(std::string_view file, std::string_view password,
                                   std::string_view name) {
  if (!start_sodium()) return fail(ErrorKind::io, "this machine gives no random numbers");
  auto bytes = TRY(secret_bytes(file, name));
  if (bytes_of(bytes.derivation) == "Sc") {
    if (little_endian(bytes.memory) > kMostMemory || little_endian(bytes.operations) > kMostMemory)
      return fail(ErrorKind::bad_input,
                  fmt::format("{}: its password would take more than 4 GiB of memory", name));
    TRY(apply_password(bytes, password));
  }
  // minisign writes no checksum where there is no password; the public half is one as well.
  const bool encrypted = bytes_of(bytes.derivation) == "Sc";
  const auto sum = checksum_of(bytes);
  if (encrypted && sodium_memcmp(sum.data(), bytes.secret.checksum, sum.size()) != 0)
    return fail(ErrorKind::bad_input, fmt::format("{}: the password is wrong", name));
  std::array<std::uint8_t, 32> public_half;
  std::array<std::uint8_t, 64> whole;
  crypto_sign_seed_keypair(public_half.data(), whole.data(), bytes.secret.key);
  if (sodium_memcmp(whole.data(), bytes.secret.key, whole.size()) != 0)
    return fail(ErrorKind::bad_input, fmt::format("{}: the key is damaged", name));
  sodium_memzero(whole.data(), whole.size());
  SecretKey key;
  std::ranges::copy(bytes.secret.id, key.id.begin());
  std::ranges::copy(bytes.secret.key, key.key.begin());
  sodium_memzero(&bytes, sizeof bytes);
  return key;
}

std::string sign(const SecretKey& key, std::string_view content, std::string_view trusted_comment) {
  SignatureBytes bytes{{'E', 'D'}, {}, {}};
  std::ranges::copy(key.id, bytes.id);
  const auto hash = prehash(content);
  crypto_sign_detached(bytes.signature, nullptr, hash.data(), hash.size(), key.key.data());
  // The comment is bound to this signature by a second one over both.
  std::string both(bytes_of(bytes.signature));
  both += trusted_comment;
  std::array<std::uint8_t, 64> global{};
  crypto_sign_detached(global.data(), nullptr, pointer(both), both.size(), key.key.data());
  return fmt::format("{}signature from gpuready, key {}\n{}\n{}{}\n{}\n", kUntrusted,
                     id_text(key.id.data()), base64_encode(bytes_of(bytes)), kTrusted,
                     trusted_comment, base64_encode(bytes_of(global)));
}

Result<std::string> verify_signature(const PublicKey& key, std::string_view content,
                                     std::string_view signature_file, std::string_view name) {
  if (!start_sodium()) return fail(ErrorKind::io, "this machine gives no random numbers");
  const auto parts = lines(signature_file);
  const auto bytes = parts.size() >= 4 && parts[0].starts_with(kUntrusted)
                         ? decoded<SignatureBytes>(parts[1], "ED")
                         : std::nullopt;
  const auto comment = bytes ? after_prefix(parts[2], kTrusted) : std::nullopt;
  const auto global = comment ? decoded<std::array<std::uint8_t, 64>>(parts[3]) : std::nullopt;
  if (!global)
    return fail(ErrorKind::bad_input,
                fmt::format("{}.minisig: not a prehashed signature in minisign's format", name));
  if (!std::ranges::equal(bytes->id, key.id))
    return fail(ErrorKind::bad_input,
                fmt::format("{}: signed with the key {}, and the trusted key is {}", name,
                            id_text(bytes->id), key.id_text()));
  const auto hash = prehash(content);
  std::string both(bytes_of(bytes->signature));
  both += *comment;
  if (crypto_sign_verify_detached(bytes->signature, hash.data(), hash.size(), key.key.data()) !=
          0 ||
      crypto_sign_verify_detached(global->data(), pointer(both), both.size(), key.key.data()) != 0)
    return fail(ErrorKind::bad_input,
                fmt::format("{}: the signature is wrong: the file was changed after it was signed, "
                            "or it was signed with another key",
                            name));
  return std::string(*comment);
}

}  // namespace gpuready::pack
