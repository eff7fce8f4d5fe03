// A pattern of the kernel log that fits no line looks like one that found nothing. So the patterns
// are taken from the sources, and a line made from each must be kept and must fit.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "base/text.h"
#include "machine/system/kernel_log.h"

namespace gpuready {
namespace {

namespace fs = std::filesystem;

// Without comments, and with adjacent literals joined.
std::string source_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  const auto code = std::regex_replace(text.str(), std::regex("(^|\n)[ \t]*//[^\n]*"), "$1");
  return std::regex_replace(code, std::regex("\"[ \t\n]+\""), "");
}

std::vector<std::string> sources() {
  const fs::path root = std::string(GPUREADY_SOURCE_DIR) + "/src";
  std::vector<std::string> found = {source_of(root / "products/vm/diagnose/host.cc")};
  for (const auto& entry : fs::recursive_directory_iterator(root / "doctor"))
    if (entry.path().extension() == ".cc") found.push_back(source_of(entry.path()));
  return found;
}

std::vector<std::string> matches_of(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  std::vector<std::string> found;
  for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end; ++it)
    found.push_back((*it)[1]);
  return found;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (auto at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

// After "...", a star is an ordinary character.
std::string text_of(const std::string& pattern) {
  if (pattern.starts_with("...")) return "a b " + pattern.substr(3);
  return replaced(pattern, "*", "x");
}

bool fits_some_line(const std::string& pattern) {
  const auto colon = pattern.find(": ");
  const auto writer = replaced(pattern.substr(0, colon), "*", "amdgpu");
  // Messages of the kernel, the bus and any driver are kept for what they say or whom they name.
  const bool any_writer = pattern.starts_with("*") || writer == "kernel" || writer == "PM";
  const auto text = text_of(pattern.substr(colon + 2)) + (any_writer ? " nvidia" : "");
  for (const auto& line : {text, writer + ": " + text, writer + " 0000:03:00.0: " + text,
                           writer + " 17000000.gpu: " + text, "gim error:(f:1) " + text})
    if (is_about_gpus(line) && says(line, pattern)) return true;
  return false;
}

TEST(LogPatterns, EachFitsALineThatIsKept) {
  const std::string writers =
      "NVRM|nvidia[a-z_-]*|nvgpu|gk20a|amdgpu|radeon|gim|i915|xe|mlx[45]_core|DMAR|AMD-Vi|"
      "vfio[a-z_1]*|habanalabs|pcieport|pciehp|kernel|PM|ACPI|Lockdown|cma|[*]";
  std::size_t count = 0;
  for (const auto& source : sources())
    for (const auto& pattern : matches_of(source, "\"((?:" + writers + "): [^\"\\\\]+)\"")) {
      ++count;
      EXPECT_TRUE(fits_some_line(pattern)) << pattern;
      const auto text = pattern.substr(pattern.find(": ") + 2);
      const bool mixed = text.starts_with("...") && std::ranges::count(text, '*') == 1;
      EXPECT_FALSE(mixed) << pattern << ": behind \"...\" a * is only a *";
    }
  EXPECT_GT(count, 200u);
}

TEST(LogPatterns, EachNamesAWriter) {
  std::size_t count = 0;
  for (const auto& source : sources())
    for (const auto& list : matches_of(
             source, "(?:log_hits|says_any|log_matches|refused|hits_at)\\([^;{]*\\{([^}]*)\\}"))
      for (const auto& pattern : matches_of(list, "\"([^\"]+)\"")) {
        if (pattern == "kernel log") continue;  // of evidence
        ++count;
        EXPECT_TRUE(contains(pattern, ": ")) << pattern;
      }
  EXPECT_GT(count, 50u);
}

}  // namespace
}  // namespace gpuready
