// Who trusts an old key accepts what a newer one signs, where the old one says so, and nothing
// else.
#include "pack/release/key_chain.h"

#include "unit/products/pack/workshop.h"

namespace gpuready::pack {
namespace {

TEST(KeyChain, LeadsFromEachKeyToTheNewest) {
  const auto first = *make_secret_key(), second = *make_secret_key(), third = *make_secret_key();
  const auto stranger = *make_secret_key();
  KeyChain chain{"libs",
                 {sign_successor(first, "libs", second.public_key()),
                  sign_successor(second, "libs", third.public_key())}};
  const auto read = parse_key_chain(key_chain_text(chain), "keys");
  ASSERT_TRUE(read) << error_text(read);
  for (const auto* from : {&first, &second, &third})
    EXPECT_EQ(newest_key(*read, "libs", from->public_key()), third.public_key());
  EXPECT_EQ(newest_key(*read, "libs", stranger.public_key()), stranger.public_key());
  EXPECT_EQ(newest_key(*read, "other", first.public_key()), first.public_key());
  // Signed for another package, or by somebody else: it leads nowhere.
  chain.keys[0] = sign_successor(first, "other", second.public_key());
  EXPECT_EQ(newest_key(chain, "libs", first.public_key()), first.public_key());
  chain.keys[0] = sign_successor(stranger, "libs", second.public_key());
  EXPECT_EQ(newest_key(chain, "libs", first.public_key()), first.public_key());
  for (const char* bad :
       {"", "{}", "{\"package\": \"../x\", \"keys\": []}",
        "{\"package\": \"libs\", \"keys\": [{\"public_key\": \"x\", \"signature\": \"\"}]}"})
    EXPECT_FALSE(parse_key_chain(bad, "keys")) << bad;
}

TEST(KeyChain, InstallersFollowItAndThenRefuseTheOldKey) {
  Workshop shop;
  ASSERT_EQ(error_text(shop.publish("1.0", {{"cpu", {{"x", "one"}}}})), "");
  ASSERT_EQ(shop.install("cpu", shop.options()).end, InstallEnd::installed);
  const auto old_key = shop.key;
  shop.trusted.reset();  // what the store remembers
  // A new key without the old one's word is refused.
  shop.key = *make_secret_key();
  ASSERT_EQ(error_text(shop.publish("1.1", {{"cpu", {{"x", "two"}}}}, "without")), "");
  EXPECT_EQ(shop.install("cpu", shop.options(), "without").end, InstallEnd::refused);
  shop.chain = KeyChain{"libs", {sign_successor(old_key, "libs", shop.key.public_key())}};
  ASSERT_EQ(error_text(shop.publish("1.2", {{"cpu", {{"x", "three"}}}}, "with")), "");
  ASSERT_EQ(shop.install("cpu", shop.options(), "with").end, InstallEnd::installed);
  EXPECT_EQ(shop.installed("x"), "three");
  // From now on the old key counts for nothing, whatever version it signs.
  shop.key = old_key;
  shop.chain.reset();
  ASSERT_EQ(error_text(shop.publish("2.0", {{"cpu", {{"x", "four"}}}}, "back")), "");
  EXPECT_EQ(shop.install("cpu", shop.options(), "back").end, InstallEnd::refused);
  EXPECT_EQ(shop.installed("x"), "three");
}

// Without the chain it is not known whether the key has a successor, so the signature is not
// blamed.
TEST(KeyChain, OneThatCannotBeReadIsNotOneThatIsAbsent) {
  Workshop shop;
  ASSERT_EQ(error_text(shop.publish("1.0", {{"cpu", {{"x", "one"}}}})), "");
  const auto read = [&] {
    const auto origin = open_origin(*shop.host, shop.root + "/release").value();
    return error_text(
        read_release(*shop.host, *origin, make_secret_key()->public_key(), shop.root + "/store"));
  };
  EXPECT_NE(read().find("signed with the key"), std::string::npos) << read();
  std::filesystem::create_directory(shop.root + "/release/" + std::string(kKeyChainName));
  EXPECT_EQ(read().find("signed with the key"), std::string::npos) << read();
  EXPECT_NE(read().find(kKeyChainName), std::string::npos) << read();
}

TEST(KeyChain, PublishWantsTheKeyThatSigns) {
  Workshop shop;
  shop.chain = KeyChain{
      "libs", {sign_successor(*make_secret_key(), "libs", make_secret_key()->public_key())}};
  const auto published = shop.publish("1.0", {{"cpu", {{"x", "one"}}}});
  EXPECT_NE(error_text(published).find("does not end with the key"), std::string::npos)
      << error_text(published);
}

}  // namespace
}  // namespace gpuready::pack
