#include "vm/report/upgrade_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/paths.h"
#include "base/text.h"
#include "base/units.h"
#include "report/terminal/terminal_text.h"
#include "value/names.h"

namespace gpuready {
namespace {

using vm::TestResult;

std::string few(const std::vector<std::string>& list) {
  constexpr std::size_t kShown = 8;
  const auto shown = std::min(kShown, list.size());
  auto text = join({list.begin(), list.begin() + static_cast<std::ptrdiff_t>(shown)}, ", ");
  return list.size() > shown ? fmt::format("{} and {} more", text, list.size() - shown) : text;
}

void render_diff(const vm::BundleDiff& diff, TerminalText& out) {
  const auto bytes = static_cast<std::uint64_t>(std::abs(diff.more_bytes));
  out.heading(fmt::format("{} -> {}", diff.from, diff.to));
  out.paragraph(
      2, {""},
      fmt::format("{} of files {}", format_bytes(bytes), diff.more_bytes < 0 ? "less" : "more"));
  if (!diff.to_cuda.empty() && diff.to_cuda != diff.from_cuda)
    out.paragraph(
        2, {"CUDA: "},
        fmt::format("{} -> {}", diff.from_cuda.empty() ? "?" : diff.from_cuda, diff.to_cuda));
  if (diff.from_open != diff.to_open)
    out.paragraph(2, {"kernel modules: "},
                  diff.to_open ? "the open ones now" : "no longer the open ones");
  const std::pair<const char*, const std::vector<std::string>*> lists[] = {
      {"added: ", &diff.added},
      {"removed: ", &diff.removed},
      {"kernels added: ", &diff.new_kernels},
      {"kernels removed: ", &diff.lost_kernels}};
  for (const auto& [what, list] : lists)
    if (!list->empty()) out.paragraph(2, {what}, few(*list));
  out.blank();
}

}  // namespace

bool UpgradeReport::failed() const {
  return std::ranges::any_of(tests,
                             [](const auto& test) { return test.result == TestResult::failed; });
}

std::string render_terminal(const UpgradeReport& report, const TerminalStyle& style) {
  TerminalText out(style);
  if (report.diff && !style.quiet) render_diff(*report.diff, out);
  for (const auto& test : report.tests) {
    if (style.quiet && test.result != TestResult::failed) continue;
    const auto tone = test.result == TestResult::passed   ? Tone::good
                      : test.result == TestResult::failed ? Tone::bad
                                                          : Tone::warn;
    out.paragraph(0, {out.mark(tone) + " ", ink_of(tone)},
                  fmt::format("{}: {}", test.name, test.text));
  }
  if (style.quiet) return out.take();
  out.blank();
  const auto current = fmt::format("{}/{}", report.folder, vm::kCurrent);
  if (report.switched) {
    out.paragraph(0, {""},
                  fmt::format("{} leads to {} now.", current, base_name(report.bundle.folder)));
    if (report.from) {
      out.paragraph(0, {""}, "The old one stays. The way back:");
      out.command(
          2, fmt::format("gpuready vm drivers upgrade {} --to {}", report.folder, *report.from));
    }
  } else {
    out.paragraph(
        0, {""},
        fmt::format("{} {} and is not current: a test failed.{}", report.bundle.folder,
                    report.added ? "was added" : "stays",
                    report.from ? fmt::format(" {} leads to {} as before.", current, *report.from)
                                : std::string()));
  }
  return out.take();
}

}  // namespace gpuready
