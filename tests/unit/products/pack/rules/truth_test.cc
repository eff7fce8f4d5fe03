// truth.txt says what loads by NVIDIA's documents. Explain has to say the same, of a file and of
// what a release's manifest keeps of it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "pack/release/scan.h"
#include "pack/rules/explain.h"
#include "unit/products/pack/code/fixtures.h"

namespace gpuready::pack {
namespace {

using namespace fixture;

// "libcudart.so.12", ".11.0" and ".10.2", which programs of that toolkit link.
std::string runtime_of(const Version& cuda) {
  if (cuda.major() > 11) return fmt::format("libcudart.so.{}", cuda.major());
  return cuda.major() == 11 ? "libcudart.so.11.0"
                            : fmt::format("libcudart.so.{}.{}", cuda.major(), cuda.parts[1]);
}

// "build NAME CUDA CODE...", as the compiler of that CUDA writes it.
FileReport built(std::istringstream& line) {
  std::string cuda_text, word, path = "libx.so";
  line >> cuda_text;
  const auto cuda = parse_version(cuda_text).value();
  std::vector<std::string> words;
  while (line >> word) words.push_back(word);
  const char packed = std::erase(words, "zstd") > 0 ? 'z' : '\0';
  std::vector<Data> entries;
  for (const auto& text : words) {
    if (const auto cudnn = after_prefix(text, "cudnn-")) {
      path = fmt::format("libcudnn_ops.so.{}.0", *cudnn);
      continue;
    }
    const auto code = parse_code(text).value();
    const CudaTarget& target = *code.cuda;
    const int number = target.major * 10 + target.minor;
    EntryOptions entry{.architecture = static_cast<std::uint32_t>(number)};
    entry.flags |= target.suffix == 'a' ? 1u << 20 : target.suffix == 'f' ? 1u << 21 : 0u;
    entry.packed = packed;
    if (code.kind == CodeKind::ptx) {
      entry.kind = 1;
      entry.payload = raw(ptx(number));
      entry.isa = {code.ptx_isa->parts[0], code.ptx_isa->parts[1]};
    } else {
      entry.payload = cubin({.architecture = number, .suffix = target.suffix});
      entry.isa = {1, cuda.major() >= 13 || target.major >= 10 ? 8 : 7};
    }
    entries.push_back(fixture::entry(entry));
  }
  FileReport report = inspect_bytes(path, fat_binary(entries));
  report.elf = ElfFacts{};
  report.elf->needed = {runtime_of(cuda)};
  return report;
}

std::string said(const FileCode& code, const std::string& gpu, const std::string& driver) {
  const auto answer = explain(code, *parse_target_gpu(gpu),
                              {.version = driver == "-" ? std::nullopt : parse_version(driver)});
  if (answer.runs == Runs::none) return "no";
  return answer.by_cubin > 0 ? "cubin" : answer.by_jit > 0 ? "jit" : "nothing";
}

TEST(Explain, CodeOfNoKnownTargetIsThatInAManifest) {
  for (const char* text : {"?", "?@6.0", "? zstd", "?@6.0 zstd", "compute_80@8.4 zstd"}) {
    const auto code = parse_code(text);
    ASSERT_TRUE(code) << text;
    EXPECT_EQ(code_text(*code), text);
  }
}

TEST(Explain, SaysWhatNvidiasDocumentsSay) {
  std::ifstream rows(std::string(GPUREADY_SOURCE_DIR) +
                     "/tests/unit/products/pack/rules/truth.txt");
  FileCode code;
  std::string row, build;
  int compared = 0;
  while (std::getline(rows, row)) {
    if (row.empty() || row.starts_with('#')) continue;
    std::istringstream line(row);
    std::string gpu, driver, truth;
    line >> gpu >> driver;
    if (gpu == "build") {
      build = driver;
      code = code_of(built(line));
      continue;
    }
    line >> truth;
    EXPECT_EQ(said(code, gpu, driver), truth) << build << " on " << gpu << " under " << driver;
    EXPECT_EQ(said(judged(written(code)), gpu, driver), truth)
        << "manifest: " << build << " on " << gpu << " under " << driver;
    ++compared;
  }
  EXPECT_GE(compared, 200);
}

}  // namespace
}  // namespace gpuready::pack
