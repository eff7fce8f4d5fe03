#include "host/driver_answers.h"

#include <fmt/format.h>

#include <cerrno>

#include "base/text.h"
#include "base/units.h"
#include "host/probe_children.h"
#include "host/recording/recording_values.h"

namespace gpuready {
namespace {

constexpr std::chrono::milliseconds kTimeoutPerQuestion{100};
// A driver that hangs for one of its GPUs answers for the others; one that hangs for all must not
// cost its deadline for each.
constexpr int kMostHangs = 3;

Error unanswered(const std::string& path, const ProbeDocument& document, double waited_ms) {
  if (document.outcome == ProbeOutcome::crashed)
    return {ErrorKind::crashed, path + ": the process that asked the driver died", EIO};
  const bool hung = document.outcome == ProbeOutcome::hung;
  return {
      hung ? ErrorKind::hung : ErrorKind::timed_out,
      fmt::format("{}: the driver did not answer within {}{}", path, format_duration_ms(waited_ms),
                  hung ? "; the process that asked is in uninterruptible sleep" : ""),
      ETIMEDOUT};
}

Error not_asked(const std::string& path) {
  return {ErrorKind::timed_out, path + ": not asked, since the driver did not answer before",
          ETIMEDOUT};
}

Error failure_of(const std::string& path, const ProbeCall& call) {
  if (const auto kind = get_string(call.value, "unsupported"))
    return {ErrorKind::unsupported, *kind, call.code};
  return fail_errno(path, call.code).error();
}

// A child for all that are still to be asked, and another for what comes after one that hung.
class Asking {
 public:
  Asking(std::vector<std::string> paths, std::chrono::milliseconds timeout)
      : left_(std::move(paths)), timeout_(timeout) {}

  // `answered(path, call)` or `failed(path, error)` for each. False where there is no
  // helper program.
  template <class Answered, class Failed>
  bool run(const Answered& answered, const Failed& failed) {
    for (int hangs = 0; !left_.empty(); ++hangs) {
      if (hangs == kMostHangs) {
        for (const std::string& path : left_) failed(path, not_asked(path));
        return true;
      }
      const auto timeout = timeout_ + kTimeoutPerQuestion * left_.size();
      const ProbeDocument document = ask(timeout);
      if (document.outcome == ProbeOutcome::failed_to_start) return false;
      std::size_t known = 0;
      for (; known < left_.size(); ++known) {
        const ProbeCall* call = document.find(DriverAnswers::key(left_[known]));
        if (call == nullptr) break;
        answered(left_[known], *call);
      }
      if (known < left_.size()) {
        failed(left_[known],
               unanswered(left_[known], document, static_cast<double>(timeout.count())));
        ++known;
      }
      left_.erase(left_.begin(), left_.begin() + static_cast<std::ptrdiff_t>(known));
    }
    return true;
  }

 private:
  ProbeDocument ask(std::chrono::milliseconds timeout) const {
    const ProbeRequest request{"files", left_, timeout};
    return std::move(probe_in_children({request}).front());
  }

  std::vector<std::string> left_;
  const std::chrono::milliseconds timeout_;
};

}  // namespace

void DriverAnswers::ask(const std::vector<std::string>& paths) {
  answers_.clear();
  Asking(paths, timeout_)
      .run(
          [&](const std::string& path, const ProbeCall& call) {
            if (call.code == 0)
              answers_.insert_or_assign(path, bytes_from_json(call.value));
            else
              answers_.insert_or_assign(path, std::unexpected(failure_of(path, call)));
          },
          [&](const std::string& path, Error error) {
            answers_.insert_or_assign(path, std::unexpected(std::move(error)));
          });
}

const Result<std::string>* DriverAnswers::find(const std::string& path) const {
  const auto found = answers_.find(path);
  return found == answers_.end() ? nullptr : &found->second;
}

}  // namespace gpuready
