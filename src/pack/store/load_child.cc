// The child of a load test: says each step on descriptor 3 before it takes it.
#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <map>

#include "base/json.h"
#include "base/text.h"
#include "host/mapped_file.h"
#include "jobs/lifeline.h"
#include "jobs/privileges.h"
#include "pack/store/load_test.h"

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

// Of the driver API what loading takes. A context of the GPU that this process sees.
class Driver {
 public:
  Result<void> start() {
    const char* chosen = secure_getenv("GPUREADY_LIBCUDA");
    const char* name = chosen != nullptr && *chosen != 0 ? chosen : "libcuda.so.1";
    void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return fail(ErrorKind::no_device, fmt::format("{}", dlerror()));
    int (*init)(unsigned) = nullptr;
    int (*device_get)(int*, int) = nullptr;
    int (*retain)(void**, int) = nullptr;
    int (*set_current)(void*) = nullptr;
    const std::pair<const char*, void**> symbols[] = {
        {"cuInit", reinterpret_cast<void**>(&init)},
        {"cuDeviceGet", reinterpret_cast<void**>(&device_get)},
        {"cuDevicePrimaryCtxRetain", reinterpret_cast<void**>(&retain)},
        {"cuCtxSetCurrent", reinterpret_cast<void**>(&set_current)},
        {"cuModuleLoadData", reinterpret_cast<void**>(&load_)},
        {"cuModuleUnload", reinterpret_cast<void**>(&unload_)},
    };
    for (const auto& [symbol, to] : symbols)
      if ((*to = dlsym(library, symbol)) == nullptr)
        return fail(ErrorKind::no_device, fmt::format("{} has no {}", name, symbol));
    int device = 0;
    void* context = nullptr;
    TRY(checked(init(0), "cuInit"));
    TRY(checked(device_get(&device, 0), "cuDeviceGet"));
    TRY(checked(retain(&context, device), "cuDevicePrimaryCtxRetain"));
    return checked(set_current(context), "cuCtxSetCurrent");
  }

  Result<void> load(const void* image) {
    void* module = nullptr;
    TRY(checked(load_(&module, image), "cuModuleLoadData"));
    return checked(unload_(module), "cuModuleUnload");
  }

 private:
  static Result<void> checked(int code, const char* call) {
    if (code == 0) return {};
    return fail(ErrorKind::device, fmt::format("{} gives error {}", call, code), code);
  }
  int (*load_)(void**, const void*) = nullptr;
  int (*unload_)(void*) = nullptr;
};

Result<void> load_all(const Json& request) {
  std::uint64_t libraries = 0, modules = 0;
  Driver driver;
  if (get_bool(request, "cuda").value_or(false)) {
    say({{"step", "starting CUDA"}});
    TRY(driver.start());
  }
  for (const auto& library : member(request, "libraries")) {
    const auto path = library.get<std::string>();
    say({{"step", path}});
    if (dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr)
      return fail(ErrorKind::unsupported, fmt::format("{} cannot be loaded: {}", path, dlerror()));
    say({{"libraries", ++libraries}});
  }
  std::map<std::string, MappedFile> files;
  for (const auto& piece : member(request, "code")) {
    const auto path = get_string(piece, "path").value_or("");
    const auto offset = get_uint(piece, "offset_bytes").value_or(0);
    auto file = files.find(path);
    if (file == files.end()) file = files.emplace(path, TRY(MappedFile::open(path))).first;
    if (offset >= file->second.bytes().size()) continue;
    const auto where = fmt::format("{}, device code at byte {}", path, offset);
    say({{"step", where}});
    if (const auto loaded = driver.load(file->second.bytes().data() + offset); !loaded)
      return fail(loaded.error().kind, fmt::format("{}: {}", where, loaded.error().message));
    say({{"modules", ++modules}});
  }
  return {};
}

}  // namespace

int run_load_child() {
  const auto dropped = drop_privileges();
  end_with_parent();
  const auto request = parse_json(read_line(), "request");
  auto done = request ? dropped : std::unexpected(request.error());
  if (done) done = load_all(*request);
  if (!done) say({{"failure", printable(done.error().message)}});
  say({{"done", true}});
  _exit(done ? 0 : 1);  // not through the exit handlers of what was loaded
}

}  // namespace gpuready::pack
