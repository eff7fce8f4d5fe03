// Reads the files that are named, which a driver answers. What is said of each is its errno, and
// its content.
#include <cerrno>

#include "host/driver_answers.h"
#include "host/recording/recording_values.h"
#include "probe/ask.h"
#include "probe/probes.h"

namespace gpuready {
namespace {

// What no errno stands for: not a regular file, too large.
constexpr int kOther = EOPNOTSUPP;

}  // namespace

void probe_files(ProbeWriter& writer, std::span<const std::string> args) {
  const auto host = make_live_host();
  for (const std::string& path : args) {
    const std::string key = DriverAnswers::key(path);
    writer.begin(key);
    const auto text = host->read_file(path);
    if (text)
      writer.answer(key, 0, bytes_to_json(*text));
    else if (text.error().code != 0)
      writer.answer(key, text.error().code);
    else
      writer.answer(key, kOther, Json{{"unsupported", text.error().message}});
  }
}

}  // namespace gpuready
