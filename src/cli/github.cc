#include <fmt/format.h>

#include <cstdio>

#include "cli/options.h"
#include "host/atomic_file.h"

namespace gpuready::cli {
namespace {

constexpr const char* kSummaryVariable = "GITHUB_STEP_SUMMARY";
constexpr std::size_t kMostBytes = 1 << 20;  // GitHub discards a longer summary as a whole

Result<void> add_to_summary(Host& host, const std::string& path, const Report& report) {
  std::string text;
  if (const auto before = host.read_own_file(path, kMostBytes))
    text = *before;
  else if (before.error().kind != ErrorKind::not_found)
    return std::unexpected(before.error());
  std::string more = render_markdown(report);
  if (text.size() + more.size() > kMostBytes)
    more = fmt::format("{}\n\nThe whole report is too long for this summary.\n",
                       report.conclusion.value_or(""));
  if (text.size() + more.size() > kMostBytes)
    return fail(ErrorKind::too_large, path + " is full: GitHub takes at most 1 MiB");
  return write_file_atomically(path, text + more);
}

}  // namespace

void write_for_github(const Report& report) {
  std::fputs(render_annotations(report).c_str(), stderr);
  const auto host = make_live_host();
  const auto path = host->environment(kSummaryVariable);
  if (!path || path->empty()) return;
  if (const auto added = add_to_summary(*host, *path, report); !added) complain(added.error());
}

}  // namespace gpuready::cli
