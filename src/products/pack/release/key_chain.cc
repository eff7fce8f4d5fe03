#include "pack/release/key_chain.h"

#include <fmt/format.h>

#include "base/json.h"
#include "pack/release/manifest.h"
#include "value/field.h"
#include "value/read_fields.h"
#include "value/write_fields.h"

namespace gpuready {

FIELDS_OF(pack::KeySuccession) {
  visit.about("key_succession", "A new key, signed by the one before it.");
  FIELD(public_key, "The new public key.", kAlways);
  FIELD(signature, "The signature by the key before it.", kAlways);
}

FIELDS_OF(pack::KeyChain) {
  visit.about("key_chain", "The keys of a package, oldest first.");
  FIELD(package, "Name of the package.", kAlways);
  FIELD(keys, "Its keys after the first.", kAlways);
}

}  // namespace gpuready

namespace gpuready::pack {

std::string succession_text(std::string_view package, const PublicKey& next) {
  return fmt::format("releases of {} are signed by {} from now on\n", package, next.text());
}

KeySuccession sign_successor(const SecretKey& key, std::string_view package,
                             const PublicKey& next) {
  return {next.text(), sign(key, succession_text(package, next),
                            fmt::format("new key of {}: {}", package, next.id_text()))};
}

Result<KeyChain> parse_key_chain(std::string_view text, std::string_view name) {
  auto chain = TRY(value::read_document<KeyChain>(TRY(parse_json(text, name)), name));
  if (const auto wrong = wrong_with_name(chain.package))
    return fail(ErrorKind::bad_input, fmt::format("{}: {}", name, *wrong));
  for (const auto& succession : chain.keys) TRY(parse_public_key(succession.public_key, name));
  return chain;
}

std::string key_chain_text(const KeyChain& chain) { return dump(value::write_fields(chain)); }

PublicKey newest_key(const KeyChain& chain, std::string_view package, const PublicKey& trusted) {
  PublicKey newest = trusted;
  if (chain.package != package) return newest;
  for (const auto& [text, signature] : chain.keys) {
    const auto next = parse_public_key(text, kKeyChainName);
    if (next && verify_signature(newest, succession_text(package, *next), signature, kKeyChainName))
      newest = *next;
  }
  return newest;
}

}  // namespace gpuready::pack
