// New keys, each signed by the one before it. A release carries them, so that an installer that
// trusts an old key learns the new one, and no one has to hand it out again.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "pack/release/minisign.h"

namespace gpuready::pack {

struct KeySuccession {
  std::string public_key;  // one line of base64
  std::string signature;   // by the key before it, of succession_text()
};
struct KeyChain {
  std::string package;              // whose releases the keys sign
  std::vector<KeySuccession> keys;  // oldest first
};
inline constexpr std::string_view kKeyChainName = "keys.json";
inline constexpr std::size_t kMostKeyChainBytes = 64u << 10;

// What is signed: a key alone would also succeed in other packages of the same maker.
std::string succession_text(std::string_view package, const PublicKey& next);
KeySuccession sign_successor(const SecretKey& key, std::string_view package, const PublicKey& next);

Result<KeyChain> parse_key_chain(std::string_view text, std::string_view name);
std::string key_chain_text(const KeyChain& chain);

// The newest key that trust in this one leads to; itself where the chain does not go on from it.
PublicKey newest_key(const KeyChain& chain, std::string_view package, const PublicKey& trusted);

}  // namespace gpuready::pack
