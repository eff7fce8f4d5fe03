#include <fmt/format.h>

#include <cstdio>

#include "cli/options.h"
#include "host/file_end.h"

namespace gpuready::cli {
namespace {

constexpr const char* kSummaryVariable = "GITHUB_STEP_SUMMARY";
constexpr std::size_t kMostBytes = 1 << 20;  // GitHub discards a longer summary as a whole

Result<void> add_to_summary(const std::string& path, const Report& report) {
  const std::size_t size = TRY(size_of_named_file(path));
  std::string more = render_markdown(report);
  if (size + more.size() > kMostBytes)
    more = fmt::format("{}\n\nThe whole report is too long for this summary.\n",
                       report.conclusion.value_or(""));
  if (size + more.size() > kMostBytes)
    return fail(ErrorKind::too_large, path + " is full: GitHub takes at most 1 MiB");
  return append_to_named_file(path, more);
}

}  // namespace

bool write_for_github(const Report& report) {
  std::fputs(render_annotations(report).c_str(), stderr);
  const auto path = make_live_host()->environment(kSummaryVariable);
  if (!path || path->empty()) return true;
  const auto added = add_to_summary(*path, report);
  if (!added) complain(added.error());
  return added.has_value();
}

}  // namespace gpuready::cli
