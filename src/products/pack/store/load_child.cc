// The child of a load test: says each step on descriptor 3 before it takes it.
#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include "base/bytes.h"
#include "base/json.h"
#include "base/text.h"
#include "host/mapped_file.h"
#include "jobs/parent_watch.h"
#include "jobs/replace.h"
#include "pack/release/manifest_fields.h"
#include "pack/store/load_driver.h"
#include "pack/store/load_proof.h"
#include "pack/store/sandbox.h"
#include "value/read_fields.h"

namespace gpuready::pack {
namespace {

void say(const Json& doc) {
  const std::string text = dump_line(doc) + "\n";
  for (std::size_t written = 0; written < text.size();) {
    const auto count = ::write(kChannelDescriptor, text.data() + written, text.size() - written);
    if (count < 0 && errno != EINTR) return;
    if (count > 0) written += static_cast<std::size_t>(count);
  }
}

// One line; the parent keeps the channel open.
std::string read_line() {
  std::string line;
  char byte = 0;
  for (;;) {
    const auto count = ::read(kChannelDescriptor, &byte, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0 || byte == '\n') return line;
    line += byte;
  }
}

using Files = std::map<std::string, MappedFile>;

// `folder`: the package's, as this process reaches it.
std::string path_of(const std::string& folder, const Json& piece) {
  return folder + "/" + get_string(piece, "path").value_or("");
}

// From where the piece begins to the end of its file; nothing: it begins behind that.
Result<Bytes> bytes_of(Files& files, const std::string& folder, const Json& piece) {
  const auto path = path_of(folder, piece);
  auto file = files.find(path);
  if (file == files.end()) file = files.emplace(path, TRY(MappedFile::open(path))).first;
  const auto bytes = file->second.bytes();
  return bytes.subspan(
      std::min<std::uint64_t>(get_uint(piece, "offset_bytes").value_or(0), bytes.size()));
}

Result<void> load_code(LoadDriver& driver, Files& files, const std::string& folder,
                       const Json& pieces) {
  std::uint64_t modules = 0;
  for (const auto& piece : pieces) {
    const auto bytes = TRY(bytes_of(files, folder, piece));
    if (bytes.empty()) continue;
    const auto where = fmt::format("{}, device code at byte {}", path_of(folder, piece),
                                   get_uint(piece, "offset_bytes").value_or(0));
    say({{"step", where}});
    if (const auto loaded = driver.load(bytes.data()); !loaded)
      return fail(loaded.error().kind, fmt::format("{}: {}", where, loaded.error().message));
    say({{"modules", ++modules}});
  }
  return {};
}

// The kernel is in one of the pieces; text needs a zero behind it.
Result<bool> launch_in(LoadDriver& driver, Files& files, const std::string& folder,
                       const Json& pieces, const Probe& probe) {
  for (const auto& piece : pieces) {
    const auto bytes = TRY(bytes_of(files, folder, piece));
    if (bytes.empty()) continue;
    const auto* image = reinterpret_cast<const char*>(bytes.data());
    std::string text;
    if (get_bool(piece, "text").value_or(false)) {
      text.assign(image, strnlen(image, bytes.size()));
      image = text.c_str();
    }
    if (TRY(driver.launch(image, probe))) return true;
  }
  return false;
}

Result<void> launch_probes(LoadDriver& driver, Files& files, const std::string& folder,
                           const Json& probes) {
  std::uint64_t launched = 0;
  for (const auto& planned : probes) {
    const auto probe = TRY(value::read_document<Probe>(member(planned, "probe"), "probe"));
    const auto where = fmt::format("{}, kernel {}", probe.file, probe.kernel);
    say({{"step", where}});
    const auto done = launch_in(driver, files, folder, member(planned, "code"), probe);
    if (!done) return fail(done.error().kind, fmt::format("{}: {}", where, done.error().message));
    if (!*done)
      return fail(ErrorKind::unsupported,
                  where + ": no code of that file which this GPU loads has it");
    say({{"probes", ++launched}});
  }
  return {};
}

Result<void> load_all(const std::string& folder, const Json& request) {
  std::uint64_t libraries = 0;
  LoadDriver driver;
  if (get_bool(request, "cuda").value_or(false)) {
    say({{"step", "starting CUDA"}});
    TRY(driver.start());
  }
  for (const auto& library : member(request, "libraries")) {
    const auto path = folder + "/" + library.get<std::string>();
    say({{"step", path}});
    if (dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr)
      return fail(ErrorKind::unsupported, fmt::format("{} cannot be loaded: {}", path, dlerror()));
    say({{"libraries", ++libraries}});
  }
  Files files;
  TRY(load_code(driver, files, folder, member(request, "code")));
  return launch_probes(driver, files, folder, member(request, "probes"));
}

void tell_end(const Result<void>& done) {
  if (!done) say({{"failure", printable(done.error().message)}});
  say({{"done", true}});
}

}  // namespace

int run_load_child(std::span<const std::string> args) {
  return run_in_sandbox(args, [](const SandboxChild& child) {
    tell_end(child.ready
                 ? std::unexpected(replace_program("/proc/self/exe", {kLoadHere, child.folder}))
                 : child.ready);
    return 1;
  });
}

int run_load_here(std::span<const std::string> args) {
  end_with_parent();
  const auto request = parse_json(read_line(), "request");
  const auto done = args.empty() ? fail(ErrorKind::bad_input, "the package's folder is missing")
                    : request    ? load_all(args[0], *request)
                                 : std::unexpected(request.error());
  tell_end(done);
  _exit(done ? 0 : 1);  // not through the exit handlers of what was loaded
}

}  // namespace gpuready::pack
