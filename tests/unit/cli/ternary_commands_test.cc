// `ternary convert` and `ternary verify FILE`, run in this process: what is written, what is kept,
// and what is said of it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/json.h"
#include "ternary/gguf/gguf_write.h"
#include "unit/cli/run_command.h"

namespace gpuready::cli {
namespace {

namespace fs = std::filesystem;
namespace gguf = ternary::gguf;

class TernaryCommands : public testing::Test {
 protected:
  TernaryCommands() { fs::current_path(root_); }
  ~TernaryCommands() override {
    fs::current_path(before_);
    fs::remove_all(root_);
  }
  using Ran = test::Ran;
  static Ran run(std::vector<std::string> args) {
    return test::run_command("ternary", std::move(args));
  }
  static std::string said(const Ran& ran) { return std::to_string(ran.exit) + " " + ran.err; }
  static std::string read(const std::string& path) { return test::read_file(path); }
  // One tensor of 2 x 256 weights; of type TQ2_0 with these codes, or f32. `second`: "b.weight" of
  // 256 weights in TQ1_0, too.
  static void write_gguf(const std::string& path, bool is_ternary, std::uint8_t code = 0x64,
                         bool second = false,
                         const std::vector<std::vector<std::uint8_t>>& metadata = {}) {
    constexpr std::uint32_t kTq1 = 34, kTq2 = 35, kF32 = 0;
    const std::size_t bytes_of = is_ternary ? 2 * 66 : 2 * 256 * 4;
    std::vector<gguf::NewTensor> heads = {
        {"w.weight", 2, {256, 2, 1, 1}, is_ternary ? kTq2 : kF32, bytes_of}};
    if (second) heads.push_back({"b.weight", 2, {256, 1, 1, 1}, kTq1, 54});
    auto bytes = gguf::head(3, 32, metadata, heads);
    if (is_ternary)
      for (int block = 0; block < 2; ++block) {
        bytes.insert(bytes.end(), 64, code);
        bytes.insert(bytes.end(), {0, 0x38});  // the scale, 0.5 as f16
      }
    else
      bytes.insert(bytes.end(), bytes_of, 0);
    bytes.resize(bytes.size() + gguf::padding(bytes.size(), 32));
    if (second) {
      bytes.insert(bytes.end(), 52, 0);
      bytes.insert(bytes.end(), {0, 0x38});
      bytes.resize(bytes.size() + gguf::padding(bytes.size(), 32));
    }
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }

  const fs::path before_ = fs::current_path();
  std::string template_ = (fs::temp_directory_path() / "ternary_commandsXXXXXX").string();
  const std::string root_ = fs::canonical(::mkdtemp(template_.data()));
};

TEST_F(TernaryCommands, ConvertWritesANewFileAndSaysSo) {
  write_gguf("in.gguf", true);
  const auto done = run({"convert", "in.gguf", "out.gguf", "--to", "tq1_0", "--json=done.json"});
  EXPECT_EQ(done.exit, 0) << done.err;
  EXPECT_TRUE(done.err.starts_with("gpuready: 1 of 1 tensors are now tq1_0; out.gguf has "))
      << done.err;
  EXPECT_EQ(done.out, "");
  const auto document = parse_json(read("done.json"), "done").value_or(Json());
  EXPECT_EQ(document.value("command", ""), "ternary convert");
  EXPECT_EQ(document.value("exit_code", -1), 0);
}

TEST_F(TernaryCommands, ConvertReplacesAFileOnlyByForce) {
  write_gguf("in.gguf", true);
  std::ofstream("out.gguf") << "theirs";
  EXPECT_EQ(said(run({"convert", "in.gguf", "out.gguf", "--to", "tq1_0"})),
            "2 gpuready: out.gguf exists; --force replaces it\n");
  EXPECT_EQ(read("out.gguf"), "theirs");
  EXPECT_EQ(run({"convert", "in.gguf", "out.gguf", "--to", "tq1_0", "--force"}).exit, 0);
  EXPECT_NE(read("out.gguf"), "theirs");
}

TEST_F(TernaryCommands, ConvertNeedsAFileOfItsOwn) {
  write_gguf("in.gguf", true);
  fs::create_hard_link("in.gguf", "same.gguf");
  EXPECT_EQ(said(run({"convert", "in.gguf", "-", "--to", "tq1_0"})),
            "2 gpuready: the new file does not go to standard output: name a file\n");
  const auto same = run({"convert", "in.gguf", "same.gguf", "--to", "tq1_0", "--force"});
  EXPECT_EQ(same.exit, 2) << same.err;
  EXPECT_EQ(run({"convert", "absent.gguf", "out.gguf", "--to", "tq1_0"}).exit, 2);
  const auto format = run({"convert", "in.gguf", "out.gguf", "--to", "tq9"});
  EXPECT_EQ(format.exit, 2);
  EXPECT_TRUE(format.err.starts_with("gpuready: --to: ")) << format.err;
  EXPECT_FALSE(fs::exists("out.gguf"));
}

TEST_F(TernaryCommands, ConvertSaysWhyNothingWasWritten) {
  write_gguf("tq2.gguf", true);
  write_gguf("f32.gguf", false);
  EXPECT_EQ(said(run({"convert", "tq2.gguf", "out.gguf", "--to", "tq2_0"})),
            "2 gpuready: tq2.gguf: every ternary tensor is tq2_0 already; nothing was written\n");
  const auto none = run({"convert", "f32.gguf", "out.gguf", "--to", "tq2_0", "-q"});
  EXPECT_EQ(none.exit, 2);
  EXPECT_TRUE(none.err.ends_with("gpuready: f32.gguf: no tensor is ternary; nothing was written\n"))
      << none.err;
  const auto other =
      run({"convert", "tq2.gguf", "out.gguf", "--to", "tq1_0", "--tensor", "other*"});
  EXPECT_EQ(other.exit, 2);
  EXPECT_TRUE(other.err.ends_with(
      "gpuready: tq2.gguf: --tensor names no tensor to convert; nothing was written\n"))
      << other.err;
  EXPECT_FALSE(fs::exists("out.gguf"));
}

// A tensor that --tensor names is expected to change, so that one that stays is named.
TEST_F(TernaryCommands, ConvertNamesWhatIsKept) {
  write_gguf("tq2.gguf", true);
  const auto named = run({"convert", "tq2.gguf", "out.gguf", "--to", "tq2_0", "--tensor", "w*"});
  EXPECT_EQ(named.exit, 2);
  EXPECT_TRUE(named.err.starts_with("gpuready: kept w.weight: ")) << named.err;
  EXPECT_TRUE(named.err.ends_with(
      "gpuready: tq2.gguf: --tensor names no tensor to convert; nothing was written\n"))
      << named.err;
  write_gguf("both.gguf", true, 0x64, true);
  const auto both = run({"convert", "both.gguf", "out.gguf", "--to", "tq1_0"});
  EXPECT_EQ(both.exit, 0);
  EXPECT_TRUE(both.err.starts_with("gpuready: kept b.weight: ")) << both.err;
  EXPECT_TRUE(both.err.contains("\ngpuready: 1 of 2 tensors are now tq1_0; out.gguf has "))
      << both.err;
  const auto quiet = run({"convert", "both.gguf", "quiet.gguf", "--to", "tq1_0", "-q"});
  EXPECT_TRUE(quiet.err.starts_with("gpuready: 1 of 2 tensors are now tq1_0;")) << quiet.err;
}

// llama.cpp's numbers: 37 is a file of TQ2_0, 36 one of TQ1_0.
TEST_F(TernaryCommands, ConvertSaysWhatElseChangedUnlessQuiet) {
  write_gguf("in.gguf", true, 0x64, false, {gguf::u32_record("general.file_type", 37)});
  const std::string note = "gpuready: general.file_type was 37 and is 36\n";
  const auto loud = run({"convert", "in.gguf", "loud.gguf", "--to", "tq1_0"});
  EXPECT_TRUE(loud.err.starts_with(note)) << loud.err;
  EXPECT_TRUE(loud.err.contains("1 of 1 tensors are now tq1_0;")) << loud.err;
  const auto quiet = run({"convert", "in.gguf", "quiet.gguf", "--to", "tq1_0", "-q"});
  EXPECT_TRUE(quiet.err.starts_with("gpuready: 1 of 1 tensors are now tq1_0;")) << quiet.err;
  EXPECT_EQ(read("loud.gguf"), read("quiet.gguf"));
}

TEST_F(TernaryCommands, ConvertNamesEachTensorThatCannotBeConverted) {
  write_gguf("in.gguf", true, 0xff);  // codes that the format does not define
  const auto failed = run({"convert", "in.gguf", "out.gguf", "--to", "tq1_0", "-q"});
  EXPECT_EQ(failed.exit, 2);
  EXPECT_TRUE(failed.err.starts_with("gpuready: cannot convert w.weight: ")) << failed.err;
  EXPECT_TRUE(failed.err.ends_with("gpuready: nothing was written\n")) << failed.err;
  EXPECT_FALSE(fs::exists("out.gguf"));
  // What would have been kept is named, too.
  write_gguf("both.gguf", true, 0xff, true);
  for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"-q"}}) {
    std::vector<std::string> args = {"convert", "both.gguf", "out.gguf", "--to", "tq1_0"};
    args.insert(args.end(), more.begin(), more.end());
    const auto both = run(args);
    EXPECT_EQ(both.exit, 2);
    EXPECT_TRUE(both.err.starts_with("gpuready: cannot convert w.weight: ")) << both.err;
    EXPECT_TRUE(both.err.contains("\ngpuready: kept b.weight: ")) << both.err;
    EXPECT_TRUE(both.err.ends_with("gpuready: nothing was written\n")) << both.err;
  }
}

TEST_F(TernaryCommands, VerifyOfAFileChecksItsTernaryTensors) {
  write_gguf("good.gguf", true);
  const auto good = run(
      {"verify", "good.gguf", "--device", "cpu", "--tier", "scalar", "--seed", "5", "--json=-"});
  EXPECT_EQ(good.exit, 0) << good.err;
  const auto document = parse_json(good.out, "out").value_or(Json());
  EXPECT_EQ(document.value("file", ""), "good.gguf");
  EXPECT_EQ(document.value("seed", 0), 5);
  ASSERT_EQ(document.at("tensors").size(), 1u);
  EXPECT_EQ(document["tensors"][0].value("status", ""), "passed");
  ASSERT_EQ(document.at("subjects").size(), 1u) << "no GPU was asked for";
  EXPECT_EQ(document["subjects"][0].value("name", ""), "cpu/scalar");
  write_gguf("bad.gguf", true, 0xff);
  EXPECT_EQ(run({"verify", "bad.gguf", "--device", "cpu", "--tier", "scalar"}).exit, 1);
  write_gguf("f32.gguf", false);
  EXPECT_EQ(said(run({"verify", "f32.gguf", "--device", "cpu"})),
            "2 gpuready: f32.gguf: it has no ternary tensor\n");
  EXPECT_EQ(run({"verify", "absent.gguf", "--device", "cpu"}).exit, 2);
  EXPECT_EQ(run({"verify", "good.gguf", "--device", "cpu", "--layout", "none"}).exit, 2);
}

}  // namespace
}  // namespace gpuready::cli
