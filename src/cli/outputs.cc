// Where results go: files, standard output, the terminal.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "cli/options.h"
#include "host/atomic_file.h"
#include "host/recording_archive.h"

namespace gpuready::cli {
namespace {

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const auto written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

TerminalStyle style_of(const Globals& globals) {
  TerminalStyle style;
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  winsize size{};
  if (terminal && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40)
    style.columns = std::min<int>(size.ws_col, 100);
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  style.colour = terminal && !globals.no_color && (no_color == nullptr || *no_color == '\0') &&
                 term != nullptr && std::string_view(term) != "dumb";
  style.quiet = globals.quiet;
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"})  // the first that is set decides
    if (const char* locale = std::getenv(name); locale != nullptr && *locale != '\0') {
      const auto lower = to_lower(locale);
      style.unicode = terminal && (contains(lower, "utf-8") || contains(lower, "utf8"));
      break;
    }
  return style;
}

bool is_stdout(const std::string& path) {
  return path == "-" || path == "/dev/stdout" || path == "/dev/fd/1" || path == "/proc/self/fd/1";
}

// What stands there already and is nobody's report: a model or a recording, given by mistake.
std::string_view precious(const std::string& path) {
  std::array<char, 4> start{};
  std::ifstream(path, std::ios::binary).read(start.data(), start.size());
  const std::string_view magic(start.data(), start.size());
  if (magic == "GGUF") return "a GGUF file";
  if (magic == kZstdMagic) return "a recording";
  return {};
}

std::string wrong_with(const std::string& path, const std::vector<std::string>& inputs) {
  for (const auto& input : inputs)
    if (path == input || same_file(path, input)) return "it is what is read";
  struct stat there{};
  const bool exists = ::stat(path.c_str(), &there) == 0;
  if (exists && S_ISDIR(there.st_mode)) return "it is a folder";
  if (exists && !S_ISREG(there.st_mode)) return {};  // a pipe or device
  if (exists)
    if (const auto what = precious(path); !what.empty())
      return fmt::format("it holds {}, which is not replaced", what);
  const auto parent = std::filesystem::path(path).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    return fmt::format("cannot write in {}: {}", folder, std::strerror(errno));
  return {};
}

// The documents of one report that were asked for, then the terminal's text, in
// any case, unless standard output was asked for.
struct Document {
  const std::optional<std::string>& path;
  std::function<std::string()> render;
};
int deliver_all(std::span<const Document> documents, Exit exit,
                const std::function<std::string()>& terminal) {
  bool stdout_taken = false, lost = false;
  for (const auto& [path, render] : documents) {
    if (!path) continue;
    if (is_stdout(*path)) {
      stdout_taken = true;
      lost |= !write_all(STDOUT_FILENO, render());
    } else if (const auto written = write_file(*path, render()); !written) {
      complain(written.error());
      lost = true;
    }
  }
  if (!stdout_taken) lost |= !write_all(STDOUT_FILENO, terminal());
  return static_cast<int>(lost ? Exit::usage : exit);
}

}  // namespace

bool same_file(const std::string& a, const std::string& b) {
  struct stat left{}, right{};
  return ::stat(a.c_str(), &left) == 0 && ::stat(b.c_str(), &right) == 0 &&
         left.st_dev == right.st_dev && left.st_ino == right.st_ino;
}

std::optional<Error> bad_output(const Globals& globals, std::vector<std::string> inputs) {
  if (globals.replay) inputs.push_back(*globals.replay);
  const std::pair<const char*, const std::optional<std::string>&> outputs[] = {
      {"--json", globals.json},
      {"--html", globals.html},
      {"--md", globals.markdown},
      {"--prom", globals.prometheus}};
  int on_stdout = 0;
  for (const auto& [option, path] : outputs) {
    if (!path) continue;
    if (is_stdout(*path)) {
      if (++on_stdout > 1)
        return Error{ErrorKind::bad_input,
                     "only one report can go to standard output: give the others a file name"};
    } else if (const std::string wrong = wrong_with(*path, inputs); !wrong.empty()) {
      return Error{ErrorKind::bad_input, fmt::format("{} {}: {}", option, *path, wrong)};
    }
  }
  return std::nullopt;
}

void complain(std::string_view message) {
  write_all(STDERR_FILENO, fmt::format("gpuready: {}\n", printable(message)));
}

int complain(const Error& error, Exit exit) {
  complain(error.message);
  return static_cast<int>(exit);
}

Result<void> write_file(const std::string& path, std::string_view content) {
  if (!path.starts_with("/dev/")) return write_file_atomically(path, content);
  // A pipe or device is written to as it is, and a file behind it (/dev/fd/5) at its end.
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (descriptor < 0) return fail_errno(path, errno);
  const int error_number = write_all(descriptor, content) ? 0 : errno;
  ::close(descriptor);
  if (error_number != 0) return fail_errno(path, error_number);
  return {};
}

int deliver(const Report& report, const Globals& globals) {
  const Document documents[] = {
      {globals.json, [&] { return dump(to_json(report)); }},
      {globals.html, [&] { return render_html(report); }},
      {globals.markdown, [&] { return render_markdown(report); }},
      {globals.prometheus, [&] { return render_prometheus(report); }},
  };
  return deliver_all(documents, report.exit,
                     [&] { return render_terminal(report, style_of(globals)); });
}

int deliver(const SelfTestReport& report, const Globals& globals) {
  return deliver(to_json(report), report.exit, globals,
                 [&](const TerminalStyle& style) { return render_terminal(report, style); });
}

int deliver(const Json& document, Exit exit, const Globals& globals,
            const std::function<std::string(const TerminalStyle&)>& render) {
  const Document documents[] = {{globals.json, [&] { return dump(document); }}};
  return deliver_all(documents, exit, [&] { return render(style_of(globals)); });
}

}  // namespace gpuready::cli
