#include "bench/run/adapter_child.h"

#include <sys/resource.h>
#include <unistd.h>

#include <utility>

#include "base/json.h"
#include "jobs/replace.h"
#include "jobs/supervise.h"

namespace gpuready::bench {
namespace {

// Begins the line that is ours, the last one: nothing of the stack's lives when it is written.
constexpr char kMark = '\x1e';
constexpr int kCannotStart = 127;

void tell(const Json& doc) {
  const std::string line = '\n' + std::string(1, kMark) + dump_line(doc) + '\n';
  [[maybe_unused]] const auto written = write(STDERR_FILENO, line.data(), line.size());
}

std::uint64_t peak_bytes_of_children() {
  rusage used{};
  getrusage(RUSAGE_CHILDREN, &used);
  return static_cast<std::uint64_t>(used.ru_maxrss) * 1024;
}

}  // namespace

int run_adapter_child(std::span<const std::string> args) {
  if (args.empty()) return kCannotStart;
  return supervise(
      [&] {
        tell({{"cannot_start", replace_by_command(args).message}});
        return kCannotStart;
      },
      {}, [] { tell({{"peak_resident_bytes", peak_bytes_of_children()}}); });
}

AdapterEnd take_adapter_end(std::string& err) {
  AdapterEnd end;
  for (auto mark = err.rfind(kMark); mark != err.npos; mark = err.rfind(kMark)) {
    const auto doc = parse_json(std::string_view(err).substr(mark + 1), "its end", 4096);
    if (!doc || !doc->is_object()) break;
    if (const auto bytes = get_uint(*doc, "peak_resident_bytes"); bytes && !end.peak_resident_bytes)
      end.peak_resident_bytes = bytes;
    if (const auto why = get_string(*doc, "cannot_start")) end.cannot_start = *why;
    err.resize(mark > 0 ? mark - 1 : 0);  // with the line's end before it
  }
  return end;
}

Job supervised(Job job, const std::string& program) {
  job.args.insert(job.args.begin(), {kAdapterChild, std::exchange(job.program, program)});
  job.supervises = true;
  return job;
}

}  // namespace gpuready::bench
