#include "ternary/call_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/print/printed.h"
#include "base/text.h"

namespace gpuready::ternary {
namespace {

struct Target {
  int descriptor = -1;
  int error = 0;  // errno
};

// Nothing is written for a variable that is inherited by a program with other rights.
const char* variable() { return secure_getenv("GPUREADY_TERNARY_LOG"); }

Target open_target() {
  const char* value = variable();
  if (value == nullptr || *value == 0 || std::strcmp(value, "0") == 0) return {};
  if (std::strcmp(value, "1") == 0) return {STDERR_FILENO};
  const int opened = open(value, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  return {opened, opened < 0 ? errno : 0};
}

const Target& target() {
  static const Target opened = open_target();
  return opened;
}

}  // namespace

int call_log() { return target().descriptor; }

Result<void> check_call_log() {
  if (target().error == 0) return {};
  return fail(ErrorKind::io,
              "GPUREADY_TERNARY_LOG: lines cannot be written to \"" + printable(variable()) +
                  "\": " + std::strerror(target().error),
              target().error);
}

// In one write, so that lines of several threads and processes stay whole.
void CallLog::write(const LoggedCall& call) const {
  const double ns =
      std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start_).count();
  const auto integer = [](std::int64_t value) { return static_cast<long long>(value); };
  const auto length = [](std::string_view text) { return static_cast<int>(text.size()); };
  const double operations = 2 * static_cast<double>(call.m) *
                            static_cast<double>(call.weights.rows) *
                            static_cast<double>(call.weights.cols);
  const std::string line = printed(
      "gpuready-ternary call=%.*s m=%lld n=%lld k=%lld form=%.*s group=%lld kernel=%.*s "
      "threads=%u ms=%.4f gb_s=%.2f gops=%.2f\n",
      length(call.what), call.what.data(), integer(call.m), integer(call.weights.rows),
      integer(call.weights.cols), length(call.form), call.form.data(), integer(call.group),
      length(call.kernel), call.kernel.data(), call.threads, ns * 1e-6,
      static_cast<double>(call.bytes) / ns, operations / ns);
  // A full disk is not the caller's error.
  [[maybe_unused]] const auto written = ::write(descriptor_, line.data(), line.size());
}

}  // namespace gpuready::ternary
