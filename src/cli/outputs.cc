// Where results go: files, standard output, the terminal.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <filesystem>

#include "base/descriptor.h"
#include "base/descriptor_path.h"
#include "base/text.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "host/atomic_file.h"
#include "host/files_read.h"
#include "host/recording/recording_archive.h"
#include "report/exit_rules.h"

namespace gpuready::cli {
namespace {

// How long a pipe's reader may leave it full. Standard output waits: a pager reads when its user
// turns the page.
constexpr std::chrono::milliseconds kReaderPatience{10'000};

Result<void> write_to(int descriptor, std::string_view text, std::string_view name) {
  return write_all(descriptor, text, fmt::format("cannot write to {}", name));
}

// What GitHub's runner shows: a line of the text must not become a command of its own.
bool read_by_runner(bool github) {
  const char* actions = std::getenv("GITHUB_ACTIONS");
  return github || (actions != nullptr && std::string_view(actions) == "true");
}
std::string for_ci(std::string text, bool github = false) {
  return read_by_runner(github) ? without_workflow_commands(text) : text;
}
// No line of JSON begins with "::"; in its texts "##[" has another form.
std::string json_for_ci(std::string text, bool github) {
  if (!read_by_runner(github)) return text;
  for (auto at = text.find("##["); at != text.npos; at = text.find("##[", at + 1))
    text.replace(at + 1, 1, "\\u0023");
  return text;
}

TerminalStyle style_of(const Globals& globals) {
  TerminalStyle style;
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  winsize size{};
  if (terminal && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40)
    style.columns = std::min<int>(size.ws_col, 100);
  if (const char* columns = std::getenv("COLUMNS"); columns != nullptr && !terminal)
    if (const auto wanted = parse_uint(columns); wanted && *wanted >= 40 && *wanted <= 1000)
      style.columns = static_cast<int>(*wanted);
  const char* no_color = std::getenv("NO_COLOR");
  style.colour = takes_escapes(STDOUT_FILENO) && !globals.no_color &&
                 (no_color == nullptr || *no_color == '\0');
  style.quiet = globals.quiet;
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"})  // the first that is set decides
    if (const char* locale = std::getenv(name); locale != nullptr && *locale != '\0') {
      const auto lower = to_lower(locale);
      style.unicode = terminal && (contains(lower, "utf-8") || contains(lower, "utf8"));
      break;
    }
  return style;
}

// The number of the open descriptor that an output's path names.
std::optional<int> output_descriptor(std::string_view path) {
  if (path == "-" || path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  return descriptor_named_by(path);
}
bool is_stdout(const std::string& path) { return output_descriptor(path) == STDOUT_FILENO; }

// What is there already and is not a report: a model, a recording, or the description of a
// machine, on which others may build ("extends").
std::string_view precious(const std::string& path) {
  std::array<char, 200> start{};
  // Not to wait, if it has become a pipe meanwhile.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  const auto size = file ? ::read(file.get(), start.data(), start.size()) : 0;
  const std::string_view magic(start.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  if (magic.starts_with("GGUF")) return "a GGUF file";
  if (magic.starts_with(kZstdMagic)) return "a recording";
  if (contains(magic, "\"gpuready.machine-script\"")) return "the description of a machine";
  return {};
}

// That would keep one output only: no pipe or device.
bool is_one_file(const std::string& a, const std::string& b) {
  struct stat there{};
  std::error_code lost;
  if (::stat(a.c_str(), &there) == 0) return S_ISREG(there.st_mode) && same_file(a, b);
  const auto place = [&](const std::string& path) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path, lost), lost);
  };
  return place(a) == place(b);
}

// Whether `path` is `input`, or lies in that folder, by whatever links. "/" does not count: who
// names it means the system.
bool is_read(const std::string& path, const std::string& input) {
  struct stat there{};
  if (::stat(path.c_str(), &there) != 0 || !S_ISREG(there.st_mode)) return false;
  if (same_file(path, input)) return true;
  std::error_code lost;
  for (auto folder = std::filesystem::canonical(path, lost).parent_path();
       folder.has_relative_path(); folder = folder.parent_path())
    if (same_file(folder.string(), input)) return true;
  return false;
}

// A place where a report cannot go.
std::string wrong_with(const std::string& path) {
  struct stat there{};
  const bool exists = ::stat(path.c_str(), &there) == 0;
  if (exists && S_ISDIR(there.st_mode)) return "it is a folder";
  if (exists && !S_ISREG(there.st_mode)) return {};  // a pipe or device
  if (const auto descriptor = output_descriptor(path))
    return exists ? "" : fmt::format("descriptor {} is not open", *descriptor);
  if (exists)
    if (const auto what = precious(path); !what.empty())
      return fmt::format("it holds {}, which is not replaced", what);
  const auto parent = std::filesystem::path(path).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    return fmt::format("cannot write in {}: {}", folder, std::strerror(errno));
  // Links and files of other users.
  if (const auto target = live_storage().target(path, true); !target) return target.error().message;
  return {};
}

std::vector<std::string> texts_of(const Option& option) {
  return std::visit(
      []<class Value>(const Value* value) -> std::vector<std::string> {
        if constexpr (std::is_same_v<Value, std::vector<std::string>>)
          return *value;
        else if constexpr (std::is_same_v<Value, std::optional<std::string>>)
          return value->has_value() ? std::vector{**value} : std::vector<std::string>{};
        else if constexpr (std::is_same_v<Value, std::string>)
          return value->empty() ? std::vector<std::string>{} : std::vector{*value};
        else
          return {};
      },
      option.value);
}

std::vector<std::string> files_of(const Option& option) {
  std::vector<std::string> found;
  for (const std::string& text : texts_of(option)) {
    if (option.files_of == nullptr)
      found.push_back(text);
    else
      std::ranges::move(option.files_of(text), std::back_inserter(found));
  }
  return found;
}

// Whether an output is where it should be, or its reader, such as `head`, wants no more of it.
bool is_taken(const Result<void>& written) {
  if (written || written.error().code == EPIPE) return true;
  complain(written.error());
  return false;
}

// Of two bad results the worse is reported: a lost report does not hide an unhealthy GPU.
int unless_lost(int exit, bool lost) {
  return lost && exit != static_cast<int>(Exit::unhealthy) ? static_cast<int>(Exit::usage) : exit;
}

// The documents of one report that were asked for, then the terminal's text, in
// any case, unless standard output was asked for.
struct Document {
  const std::optional<std::string>& path;
  std::function<std::string()> render;
  std::string (*for_ci)(std::string text, bool github) = gpuready::cli::for_ci;
};
int deliver_all(std::span<const Document> documents, Exit exit, bool github,
                const std::function<std::string()>& terminal) {
  bool stdout_taken = false, lost = false;
  const auto send = [&](const std::string& path, const std::string& text) {
    lost |= !is_taken(write_file(path, text));
  };
  for (const auto& [path, render, safe] : documents) {
    if (!path) continue;
    stdout_taken |= is_stdout(*path);
    send(*path, is_stdout(*path) ? safe(render(), github) : render());
  }
  if (!stdout_taken) send("-", for_ci(terminal(), github));
  return unless_lost(static_cast<int>(exit), lost);
}

}  // namespace

bool same_file(const std::string& a, const std::string& b) {
  struct stat left{}, right{};
  return ::stat(a.c_str(), &left) == 0 && ::stat(b.c_str(), &right) == 0 &&
         left.st_dev == right.st_dev && left.st_ino == right.st_ino;
}

std::optional<Error> check_files(const CommandSpec& command) {
  std::vector<std::string> inputs = command.reads;
  inputs.emplace_back("/proc/self/exe");
  for (const Option& option : command.options)
    if (option.files == Files::read)
      std::ranges::move(files_of(option), std::back_inserter(inputs));
  std::vector<std::pair<std::string, std::string>> outputs;  // options and paths
  int on_stdout = 0;
  for (const Option& option : command.options) {
    if (option.files == Files::none || option.files == Files::read) continue;
    const std::string name(split(option.name, ",").front());
    for (const std::string& path : files_of(option)) {
      const auto refuse = [&](const std::string& why) {
        return Error{ErrorKind::bad_input, fmt::format("{} {}: {}", name, path, why)};
      };
      const std::string where = path == "-" ? "/dev/stdout" : path;
      if (std::ranges::any_of(inputs, [&](const auto& input) { return is_read(where, input); }))
        return refuse("the command itself reads it; write to another file");
      for (const auto& [other, taken] : outputs)
        if (!is_stdout(path) && is_one_file(path, taken))
          return refuse(other + " is written there");
      outputs.emplace_back(name, path);
      if (option.files == Files::written) continue;
      if (is_stdout(path) && option.files == Files::kept) return refuse("it is not a file");
      if (is_stdout(path) && ++on_stdout > 1)
        return Error{ErrorKind::bad_input,
                     "only one report can go to standard output: give the others a file name"};
      if (is_stdout(path)) continue;
      if (const std::string wrong = wrong_with(path); !wrong.empty()) return refuse(wrong);
    }
  }
  return std::nullopt;
}

void complain(std::string_view message) {
  // There is nowhere left to report a failure of this.
  // A name that holds a newline begins no message of its own.
  std::string text = printable(message);
  for (auto at = text.find('\n'); at != text.npos; at = text.find('\n', at + 1))
    text.insert(at + 1, "  ");
  (void)write_to(STDERR_FILENO, for_ci(fmt::format("gpuready: {}\n", text)), "stderr");
}

int complain(const Error& error, Exit exit) {
  complain(error.message);
  if (interrupted() && !contains(error.message, "interrupted")) complain("interrupted");
  return static_cast<int>(unless_interrupted(exit, interrupted()));
}

Result<void> write_file(const std::string& path, std::string_view content, Storage& storage) {
  if (const auto descriptor = output_descriptor(path))
    return write_to(*descriptor, content, path == "-" ? "standard output" : path);
  if (const auto there = storage.status(path); there && there->kind != FileKind::regular) {
    const auto written = storage.append(path, content, kReaderPatience);
    if (written || written.error().code == 0) return written;
    return fail_errno("cannot write to " + path, written.error().code);
  }
  if (const auto read = refuse_what_was_read(path)) return std::unexpected(*read);
  return write_file_atomically(path, content, {}, storage);
}

bool print(std::string_view text) { return is_taken(write_file("-", text)); }

std::optional<Error> refuse_what_was_read(const std::string& path) {
  struct stat there{};
  if (::stat(path.c_str(), &there) != 0 || !FilesRead::of_process().contains(there)) return {};
  return Error{
      ErrorKind::bad_input,
      path + ": the command itself has read it, so it is not replaced; write to another file"};
}

int deliver(const Delivery& delivery, const Globals& globals) {
  Envelope& envelope = delivery.envelope;
  if (interrupted()) {
    complain("interrupted: this is what was known by then");
    envelope.exit = unless_interrupted(envelope.exit, true);
    if (envelope.conclusion) *envelope.conclusion = "Interrupted. " + *envelope.conclusion;
  }
  const Document documents[] = {
      {globals.json, [&] { return dump(delivery.json()); }, json_for_ci},
      {globals.html, delivery.html},
      {globals.markdown, delivery.markdown},
      {globals.prometheus, delivery.prometheus},
      {globals.junit, delivery.junit},
  };
  return deliver_all(documents, delivery.envelope.exit, globals.github,
                     [&] { return delivery.terminal(style_of(globals)); });
}

int deliver(Report& report, const Globals& globals) {
  const bool lost = globals.github && !write_for_github(report);
  const int exit = deliver(
      Delivery{
          .envelope = report,
          .json = [&] { return to_json(report); },
          .terminal = [&](const TerminalStyle& style) { return render_terminal(report, style); },
          .html = [&] { return render_html(report); },
          .markdown = [&] { return render_markdown(report); },
          .prometheus = [&] { return render_prometheus(report); },
          .junit = [&] { return render_junit(report); }},
      globals);
  return unless_lost(exit, lost);
}

}  // namespace gpuready::cli
