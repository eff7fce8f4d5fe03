#include "host/xid_listener.h"

#include <csignal>

namespace gpuready {
namespace {

constexpr const char* kProbe = "nvml-events";
constexpr std::chrono::hours kLongestTest{24};
// It ends within 0.1 s; telling the samples of hours on many GPUs takes longer.
constexpr std::chrono::milliseconds kTimeToStop{3'000};
constexpr std::string_view kLastLine = "{\"end\":true}\n";
constexpr std::size_t kMostBytes = 64u << 20;

}  // namespace

XidListener::XidListener() {
  Command command;
  command.program = helper_path();
  command.args = {"__probe", kProbe};
  command.timeout = kLongestTest;
  command.document_pipe = true;
  command.output_limit_bytes = kMostBytes;
  if (auto child = Child::start(command)) child_.emplace(std::move(*child));
}

ProbeDocument XidListener::stop() {
  if (!child_) return {};
  if (!child_->finished()) ::kill(child_->pid(), SIGTERM);
  const Deadline until = deadline_in(kTimeToStop);
  // What comes after its last line, closing the driver, takes tens of milliseconds.
  const auto told_all = [&] { return child_->document().ends_with(kLastLine); };
  while (!child_->finished() && !told_all() && Clock::now() < until)
    poll_children({&*child_}, until);
  child_->let_go();  // if it still runs, what it has told is all
  return probe_document_from_lines(child_->document(), kProbe);
}

}  // namespace gpuready
