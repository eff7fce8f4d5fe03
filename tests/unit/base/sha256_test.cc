#include "base/sha256.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

namespace gpuready {
namespace {

std::span<const std::uint8_t> bytes(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}
std::string hex(const Sha256& hash) {
  std::string text;
  for (const auto byte : hash) text += fmt::format("{:02x}", byte);
  return text;
}

// FIPS 180-4, examples of NIST.
TEST(Sha256, GivesThePublishedHashes) {
  EXPECT_EQ(hex(sha256(bytes(""))),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex(sha256(bytes("abc"))),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex(sha256(bytes("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"))),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

// RFC 4231, test cases 2 and 6.
TEST(Sha256, GivesThePublishedCodes) {
  EXPECT_EQ(hex(hmac_sha256(bytes("Jefe"), bytes("what do ya want for nothing?"))),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hex(hmac_sha256(bytes(std::string(131, '\xaa')),
                            bytes("Test Using Larger Than Block-Size Key - Hash Key First"))),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

// Both ways of hashing, in pieces of every size around a block, give what the whole gives.
TEST(Sha256, PiecesGiveTheHashOfTheWhole) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += static_cast<char>(i * 37);
  for (std::size_t size = 0; size <= text.size(); size += 7) {
    const auto whole = sha256(bytes(text.substr(0, size)));
    for (const std::size_t piece : {1, 3, 63, 64, 65, 129}) {
      for (const bool portable : {false, true}) {
        Sha256Stream stream(portable);
        for (std::size_t at = 0; at < size; at += piece)
          stream.add(std::string_view(text).substr(at, std::min(piece, size - at)));
        EXPECT_EQ(stream.finish(), whole) << size << " bytes in pieces of " << piece;
      }
    }
  }
}

TEST(Sha256, AMillionLetters) {
  EXPECT_EQ(to_hex(sha256(bytes(std::string(1'000'000, 'a')))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

}  // namespace
}  // namespace gpuready
