#include "pack/cli/password.h"

#include <fcntl.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>

#include "base/descriptor.h"
#include "base/text.h"

namespace gpuready::cli {
namespace {

constexpr std::size_t kMostBytes = 1024;

// One line, without its end.
Result<std::string> read_line(int descriptor, const std::string& name) {
  std::string line;
  for (char byte = 0; line.size() <= kMostBytes;) {
    const auto count = ::read(descriptor, &byte, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail_errno(name, errno);
    if (count == 0 || byte == '\n') return line;
    if (byte != '\r') line += byte;
  }
  return fail(ErrorKind::too_large, name + ": a password has at most 1024 bytes");
}

// No echo while this lives.
class Silent {
 public:
  explicit Silent(int terminal) : terminal_(terminal) {
    if (tcgetattr(terminal_, &before_) != 0) return;
    termios silent = before_;
    silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    silent.c_lflag |= ECHONL;
    changed_ = tcsetattr(terminal_, TCSAFLUSH, &silent) == 0;
  }
  ~Silent() {
    if (changed_) tcsetattr(terminal_, TCSAFLUSH, &before_);
  }
  Silent(const Silent&) = delete;

 private:
  int terminal_;
  termios before_{};
  bool changed_ = false;
};

Result<std::string> ask(int terminal, const std::string& prompt) {
  const Silent silent(terminal);
  (void)!::write(STDERR_FILENO, prompt.data(), prompt.size());
  return read_line(terminal, "the terminal");
}

}  // namespace

Result<std::string> read_password(Host& host, const std::optional<std::string>& file,
                                  const std::string& prompt, bool twice) {
  if (file && *file == "-") return read_line(STDIN_FILENO, "standard input");
  if (file) {
    const auto text = TRY(host.read_file(*file, kMostBytes));
    const auto all = lines(text);
    return all.empty() ? std::string() : std::string(all.front());
  }
  const Descriptor terminal(::open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC));
  if (!terminal)
    return fail(ErrorKind::bad_input,
                prompt +
                    ": there is no terminal to ask for it: give it with --password-file, or that "
                    "of a key that signs a new one with --signed-by-password-file");
  auto password = TRY(ask(terminal.get(), prompt + ": "));
  if (twice && TRY(ask(terminal.get(), prompt + " again: ")) != password)
    return fail(ErrorKind::bad_input, "the two passwords differ");
  return password;
}

}  // namespace gpuready::cli
