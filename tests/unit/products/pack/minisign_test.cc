// Keys and signatures agree with minisign's own, in both directions.
#include "pack/release/minisign.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/text.h"
#include "host/recording/base64.h"
#include "jobs/job.h"

namespace gpuready::pack {
namespace {

constexpr PasswordCost kCheap{32'768, 16u << 20};
constexpr std::string_view kContent = "{\"name\": \"libs\"}\n";

SecretKey new_key() { return make_secret_key().value(); }

std::string error_of(const auto& result) { return result ? "" : result.error().message; }

TEST(Minisign, KeyComesBackFromItsFileUnderItsPasswordAlone) {
  const auto key = new_key();
  const auto file = secret_key_file(key, "correct horse", kCheap).value();
  EXPECT_TRUE(is_encrypted(file, "key").value());
  const auto again = parse_secret_key(file, "correct horse", "key");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->key, key.key);
  EXPECT_EQ(again->public_key(), key.public_key());
  EXPECT_EQ(error_of(parse_secret_key(file, "wrong horse", "key")), "key: the password is wrong");
  EXPECT_EQ(error_of(parse_secret_key(file, "", "key")), "key: the password is wrong");
}

TEST(Minisign, KeyWithoutPasswordSaysSo) {
  const auto file = secret_key_file(new_key(), "").value();
  EXPECT_FALSE(is_encrypted(file, "key").value());
  EXPECT_TRUE(parse_secret_key(file, "", "key"));
}

// A key's file with the bytes at `offset` of what its second line encodes replaced.
std::string with_bytes(const std::string& file, std::size_t offset, std::string_view bytes) {
  const auto parts = lines(file);
  auto raw = base64_decode(parts[1]).value();
  raw.replace(offset, bytes.size(), bytes);
  return std::string(parts[0]) + "\n" + base64_encode(raw) + "\n";
}

TEST(Minisign, AKeysFileSaysHowItIsMade) {
  for (const char* password : {"", "correct horse"}) {
    const auto file = secret_key_file(new_key(), password, kCheap).value();
    EXPECT_TRUE(parse_secret_key(with_bytes(file, 0, "Ed"), password, "key"));
    for (const std::size_t part : {0, 2, 4})  // of the signature, the password and the checksum
      EXPECT_EQ(error_of(parse_secret_key(with_bytes(file, part, "XX"), password, "key")),
                "key: not a private key in minisign's format");
  }
}

TEST(Minisign, ThePasswordsCostIsReadFromTheFile) {
  using namespace std::string_view_literals;
  const auto file = secret_key_file(new_key(), "correct horse", kCheap).value();
  const auto error = [&](std::size_t offset, std::string_view bytes) {
    return error_of(parse_secret_key(with_bytes(file, offset, bytes), "correct horse", "key"));
  };
  EXPECT_EQ(error(38, "\0\x80\0\0\0\0\0\0"sv), "");  // 32,768 operations, as above
  EXPECT_EQ(error(38, "\0\0\4\0\0\0\0\0"sv), "key: the password is wrong");
  EXPECT_EQ(error(46, "\1\0\0\0\1\0\0\0"sv),
            "key: its password would take more than 4 GiB of memory");
}

TEST(Minisign, PublicKeyIsReadAsFileAndAsLine) {
  const auto key = new_key().public_key();
  EXPECT_EQ(parse_public_key(key.file(), "k").value(), key);
  EXPECT_EQ(parse_public_key(key.text(), "k").value(), key);
  for (const std::string bad :
       {"", "RWQ", "untrusted comment: x\n", "untrusted comment: x\nRWQ=\n"})
    EXPECT_FALSE(parse_public_key(bad, "k")) << bad;
}

// The key of minisign's author; the id is the number that minisign shows.
TEST(Minisign, AKeyIsNamedByItsIdAsMinisignDoes) {
  const auto key =
      parse_public_key("RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3", "k");
  ASSERT_TRUE(key) << key.error().message;
  EXPECT_EQ(key->id_text(), "E7620F1842B4E81F");
  EXPECT_EQ(key->file(),
            "untrusted comment: minisign public key E7620F1842B4E81F\n"
            "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3\n");
}

TEST(Minisign, APublicKeyIsOfOneAlgorithmAndSize) {
  const auto raw = base64_decode(new_key().public_key().text()).value();
  const auto error = [](const std::string& bytes) {
    return error_of(parse_public_key(base64_encode(bytes), "k"));
  };
  EXPECT_EQ(error(raw), "");
  for (const std::string& other : {"XX" + raw.substr(2), "ED" + raw.substr(2), raw + "x",
                                   raw.substr(0, raw.size() - 1), std::string("Ed")})
    EXPECT_EQ(error(other), "k: not a public key in minisign's format") << other.size();
}

TEST(Minisign, EachChangedByteIsNoticed) {
  const auto key = new_key();
  const auto signature = sign(key, kContent, "libs 1.2");
  EXPECT_EQ(verify_signature(key.public_key(), kContent, signature, "s").value(), "libs 1.2");
  for (std::size_t at = 0; at < kContent.size(); ++at) {
    std::string changed(kContent);
    changed[at] ^= 1;
    EXPECT_FALSE(verify_signature(key.public_key(), changed, signature, "s")) << at;
  }
  // All but the untrusted comment, and the padding at the end of base64.
  const auto from = signature.find('\n') + 1;
  for (std::size_t at = from; at < signature.size(); ++at) {
    if (signature[at] == '\n' || signature[at] == '=') continue;
    if (at + 2 < signature.size() && signature[at + 1] == '=') continue;
    std::string changed = signature;
    changed[at] = changed[at] == 'x' ? 'y' : 'x';
    EXPECT_FALSE(verify_signature(key.public_key(), kContent, changed, "s")) << changed;
  }
  EXPECT_NE(error_of(verify_signature(new_key().public_key(), kContent, signature, "s"))
                .find("the trusted key is"),
            std::string::npos);
}

class WithMinisign : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists("/usr/bin/minisign")) GTEST_SKIP() << "minisign is not installed";
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
  }
  ~WithMinisign() override { std::filesystem::remove_all(folder_); }
  std::string path(const char* name) const { return folder_ + "/" + name; }
  void write(const char* name, std::string_view text) const {
    std::ofstream(path(name), std::ios::binary) << text;
  }
  std::string read(const char* name) const {
    std::ifstream file(path(name), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  int minisign(std::vector<std::string> args) const {
    Job job;
    job.program = "/usr/bin/minisign";
    job.args = std::move(args);
    const auto outcome = run_job(job);
    return outcome ? outcome->exit_code : -1;
  }
  std::string folder_ = std::string(GPUREADY_BINARY_DIR) + "/minisignXXXXXX";
};

TEST_F(WithMinisign, VerifiesWhatWeSign) {
  const auto key = new_key();
  write("m", kContent);
  write("m.minisig", sign(key, kContent, "libs 1.2"));
  write("key.pub", key.public_key().file());
  EXPECT_EQ(minisign({"-V", "-p", path("key.pub"), "-m", path("m")}), 0);
  write("m", "other");
  EXPECT_NE(minisign({"-V", "-p", path("key.pub"), "-m", path("m")}), 0);
}

TEST_F(WithMinisign, ReadsOurPrivateKeyAndSignsForUs) {
  const auto key = new_key();
  write("key", secret_key_file(key, "").value());
  write("m", kContent);
  ASSERT_EQ(minisign({"-S", "-s", path("key"), "-m", path("m"), "-t", "by minisign"}), 0);
  const auto comment = verify_signature(key.public_key(), kContent, read("m.minisig"), "s");
  ASSERT_TRUE(comment) << comment.error().message;
  EXPECT_EQ(*comment, "by minisign");
}

TEST_F(WithMinisign, WeReadItsKeys) {
  ASSERT_EQ(minisign({"-G", "-W", "-p", path("key.pub"), "-s", path("key")}), 0);
  const auto key = parse_secret_key(read("key"), "", "key");
  ASSERT_TRUE(key) << key.error().message;
  EXPECT_EQ(key->public_key(), parse_public_key(read("key.pub"), "key").value());
}

}  // namespace
}  // namespace gpuready::pack
