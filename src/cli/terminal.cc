#include "cli/terminal.h"

#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "value/envelope.h"

namespace gpuready::cli {
namespace {

std::atomic<bool> interrupt_flag{false};
std::atomic<double> interrupted_at{0};  // of monotonic_ms(); 0: not yet
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<double>::is_always_lock_free,
              "set from a signal handler");

// timeout(1) and others signal the process and then its group: both ask once.
constexpr double kOneRequestMs = 1000;

void on_signal(int number) {
  const double now = monotonic_ms();
  double first = 0;
  if (!interrupted_at.compare_exchange_strong(first, now) && now - first > kOneRequestMs) {
    std::signal(number, SIG_DFL);  // do not make the user wait
    std::raise(number);
  }
  interrupt_flag = true;
}

void to_stderr(std::string_view text) {
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
}

constexpr std::string_view kClearLine = "\r\033[K";
std::atomic<bool> clears_line{false};  // a signal handler may not ask the environment

void end_now(int) {
  if (clears_line) to_stderr(kClearLine);
  to_stderr("gpuready: interrupted\n");
  ::_exit(static_cast<int>(Exit::interrupted));
}

void handle_interrupts(void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  struct sigaction before{};  // below nohup it stays ignored
  if (::sigaction(SIGHUP, nullptr, &before) == 0 && before.sa_handler != SIG_IGN)
    ::sigaction(SIGHUP, &action, nullptr);
}

}  // namespace

std::atomic<bool>& interrupted() { return interrupt_flag; }

bool takes_escapes(int descriptor) {
  const char* term = std::getenv("TERM");
  return ::isatty(descriptor) == 1 && term != nullptr && std::string_view(term) != "dumb";
}

void end_at_interrupts() {
  clears_line = takes_escapes(STDERR_FILENO);
  handle_interrupts(end_now);
}
void catch_interrupts() { handle_interrupts(on_signal); }

ProgressLine::ProgressLine(bool quiet) : enabled_(!quiet && takes_escapes(STDERR_FILENO)) {}

void ProgressLine::show(std::string_view text) {
  const auto now = Clock::now();
  using std::chrono::milliseconds;
  if (!enabled_ || now - start_ < milliseconds(300) || (shown_ && now - last_ < milliseconds(80)))
    return;
  last_ = now;
  shown_ = true;
  to_stderr(kClearLine);
  to_stderr(text.substr(0, 79));
}

void ProgressLine::clear() {
  if (shown_) to_stderr(kClearLine);
  shown_ = false;
}

}  // namespace gpuready::cli
