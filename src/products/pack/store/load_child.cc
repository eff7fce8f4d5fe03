// The child of a load test: says each step on descriptor 3 before it takes it.
#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

#include "base/bytes.h"
#include "base/json.h"
#include "base/text.h"
#include "host/mapped_file.h"
#include "jobs/parent_watch.h"
#include "jobs/replace.h"
#include "pack/release/manifest_fields.h"
#include "pack/release/probe.h"
#include "pack/store/load_proof.h"
#include "pack/store/sandbox.h"
#include "value/read_fields.h"

namespace gpuready::pack {
namespace {

// The driver API as far as a load test needs it, found when it is asked for.
// On the one GPU that this process sees. What is loaded stays: the process ends after its test.
class LoadDriver {
 public:
  Result<void> start();
  Result<void> load(const void* image);  // and unload
  // Launches the kernel where the image holds it, and compares what it must have written. False:
  // the image has no kernel of that name.
  Result<bool> launch(const void* image, const Probe& probe);

 private:
  using Address = unsigned long long;
  Result<void> run(void* function, const Probe& probe);
  Result<void> prepare(const Probe& probe, std::vector<Address>& values);
  Result<void> compare(const Probe& probe, const std::vector<Address>& values);

  int (*load_)(void**, const void*, unsigned, int*, void**) = nullptr;
  int (*unload_)(void*) = nullptr;
  int (*get_function_)(void**, void*, const char*) = nullptr;
  int (*allocate_)(Address*, std::size_t) = nullptr;
  int (*to_device_)(Address, const void*, std::size_t, void*) = nullptr;
  int (*to_host_)(void*, Address, std::size_t, void*) = nullptr;
  int (*launch_)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                 void**, void**) = nullptr;
  int (*wait_)(void*) = nullptr;
};

constexpr int kNotFound = 500;  // CUDA_ERROR_NOT_FOUND
// What output memory holds before: a kernel that writes nothing is found out.
constexpr std::uint32_t kUnwritten = 0xa5a5a5a5;

Result<void> checked(int code, const char* call) {
  if (code == 0) return {};
  return fail(ErrorKind::device, fmt::format("{} gives error {}", call, code), code);
}

Result<void> LoadDriver::start() {
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
      {"cuModuleLoadDataEx", reinterpret_cast<void**>(&load_)},
      {"cuModuleUnload", reinterpret_cast<void**>(&unload_)},
      {"cuModuleGetFunction", reinterpret_cast<void**>(&get_function_)},
      {"cuMemAlloc_v2", reinterpret_cast<void**>(&allocate_)},
      {"cuMemcpyHtoDAsync_v2", reinterpret_cast<void**>(&to_device_)},
      {"cuMemcpyDtoHAsync_v2", reinterpret_cast<void**>(&to_host_)},
      {"cuLaunchKernel", reinterpret_cast<void**>(&launch_)},
      {"cuStreamSynchronize", reinterpret_cast<void**>(&wait_)},
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

Result<void> LoadDriver::load(const void* image) {
  void* module = nullptr;
  TRY(checked(load_(&module, image, 0, nullptr, nullptr), "cuModuleLoadDataEx"));
  return checked(unload_(module), "cuModuleUnload");
}

Result<bool> LoadDriver::launch(const void* image, const Probe& probe) {
  void *module = nullptr, *function = nullptr;
  TRY(checked(load_(&module, image, 0, nullptr, nullptr), "cuModuleLoadDataEx"));
  const int found = get_function_(&function, module, probe.kernel.c_str());
  if (found == kNotFound) {
    TRY(checked(unload_(module), "cuModuleUnload"));
    return false;
  }
  TRY(checked(found, "cuModuleGetFunction"));
  TRY(run(function, probe));
  return true;
}

Result<void> LoadDriver::run(void* function, const Probe& probe) {
  std::vector<Address> values;
  TRY(prepare(probe, values));
  // A number of 32 bits is read from the lower half: GPUs are found on little-endian machines.
  std::vector<void*> addresses;
  for (auto& value : values) addresses.push_back(&value);
  TRY(checked(launch_(function, probe.blocks, 1, 1, probe.threads, 1, 1, 0, nullptr,
                      addresses.empty() ? nullptr : addresses.data(), nullptr),
              "cuLaunchKernel"));
  TRY(checked(wait_(nullptr), "the kernel"));
  return compare(probe, values);
}

// Each value is a number, or the address of memory on the GPU.
Result<void> LoadDriver::prepare(const Probe& probe, std::vector<Address>& values) {
  for (const auto& argument : probe.arguments) {
    if (argument.u32 || argument.u64) {
      values.push_back(argument.u32 ? *argument.u32 : *argument.u64);
      continue;
    }
    auto words = argument.words.value_or(std::vector<std::uint32_t>());
    if (argument.expect) words.assign(argument.expect->size(), kUnwritten);
    auto& address = values.emplace_back(0);
    const auto bytes = words.size() * sizeof(std::uint32_t);
    TRY(checked(allocate_(&address, bytes), "cuMemAlloc"));
    TRY(checked(to_device_(address, words.data(), bytes, nullptr), "cuMemcpyHtoD"));
    TRY(checked(wait_(nullptr), "cuMemcpyHtoD"));
  }
  return {};
}

Result<void> LoadDriver::compare(const Probe& probe, const std::vector<Address>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto& wanted = probe.arguments[i].expect;
    if (!wanted) continue;
    std::vector<std::uint32_t> got(wanted->size());
    TRY(checked(to_host_(got.data(), values[i], got.size() * sizeof(std::uint32_t), nullptr),
                "cuMemcpyDtoH"));
    TRY(checked(wait_(nullptr), "cuMemcpyDtoH"));
    const auto differ = std::ranges::mismatch(got, *wanted);
    if (differ.in1 != got.end())
      return fail(ErrorKind::device,
                  fmt::format("word {} of its argument {} is {:#x}, and {:#x} is expected",
                              differ.in1 - got.begin(), i + 1, *differ.in1, *differ.in2));
  }
  return {};
}

void say(const Json& doc) { write_channel_line(dump_line(doc)); }

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
  return run_in_sandbox(args, SandboxNetwork::offline, [](const SandboxChild& child) {
    tell_end(child.ready
                 ? std::unexpected(replace_program("/proc/self/exe", {kLoadHere, child.folder}))
                 : child.ready);
    return 1;
  });
}

int run_load_here(std::span<const std::string> args) {
  end_with_parent();
  const auto request = parse_json(read_channel_line().value_or(""), "request");
  const auto done = args.empty() ? fail(ErrorKind::bad_input, "the package's folder is missing")
                    : request    ? load_all(args[0], *request)
                                 : std::unexpected(request.error());
  tell_end(done);
  _exit(done ? 0 : 1);  // not through the exit handlers of what was loaded
}

}  // namespace gpuready::pack
