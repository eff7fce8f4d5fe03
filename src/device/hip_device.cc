#include "device/hip_device.h"

#include <fmt/format.h>

#include <map>

#include "base/text.h"
#include "device/hip_driver.h"
#include "device/hip_errors.h"
#include "kernels/hip_images.h"

namespace gpuready {
namespace {

constexpr unsigned kHostMallocPortable = 1;   // hipHostMallocPortable: usable from every device
constexpr unsigned kStreamNonBlocking = 1;    // hipStreamNonBlocking
constexpr int kNotFound = 500;                // hipErrorNotFound
constexpr std::size_t kPciAddressBytes = 32;  // HIP asks for 13 at least

class HipDevice final : public Device {
 public:
  HipDevice(const HipDriver& driver, HipDeviceNumber number, std::string pci_address,
            const HipImage& image)
      : driver_(driver), number_(number), image_(image) {
    info_.executor = "hip";
    info_.pci_address = std::move(pci_address);
  }
  ~HipDevice() override {
    if (module_ && driver_.set_device(number_)) (void)driver_.module_unload(module_);
  }

  Result<void> open() {
    if (auto read = read_info(); !read) return read;
    return note(driver_.set_device(number_));
  }

  const DeviceInfo& info() const override { return info_; }
  Result<DeviceMemory> memory() override {
    std::size_t free_bytes = 0, total_bytes = 0;
    auto done = on_device(driver_.memory_info, &free_bytes, &total_bytes);
    if (!done) return std::unexpected(done.error());
    return DeviceMemory{free_bytes, total_bytes};
  }
  DeviceFault fault_of(const Error& error) const override { return hip_fault_of(error); }

  Result<DeviceAddress> allocate(std::uint64_t bytes) override {
    HipPointer memory = nullptr;
    auto done = on_device(driver_.memory_allocate, &memory, static_cast<std::size_t>(bytes));
    if (!done) return std::unexpected(done.error());
    return reinterpret_cast<DeviceAddress>(memory);
  }
  Result<void> release(DeviceAddress address) override {
    return on_device(driver_.memory_free, pointer(address));
  }
  Result<void*> allocate_pinned(std::uint64_t bytes) override {
    void* memory = nullptr;
    auto done = on_device(driver_.host_allocate, &memory, static_cast<std::size_t>(bytes),
                          kHostMallocPortable);
    if (!done) return std::unexpected(done.error());
    return memory;
  }
  Result<void> release_pinned(void* memory) override {
    return on_device(driver_.host_free, memory);
  }

  Result<void> copy_to_device(StreamId stream, DeviceAddress target, const void* source,
                              std::uint64_t bytes) override {
    return on_device(driver_.copy_to_device, pointer(target), source,
                     static_cast<std::size_t>(bytes), handle(stream));
  }
  Result<void> copy_to_host(StreamId stream, void* target, DeviceAddress source,
                            std::uint64_t bytes) override {
    return on_device(driver_.copy_to_host, target, pointer(source), static_cast<std::size_t>(bytes),
                     handle(stream));
  }
  Result<void> copy_on_device(StreamId stream, DeviceAddress target, DeviceAddress source,
                              std::uint64_t bytes) override {
    return on_device(driver_.copy_on_device, pointer(target), pointer(source),
                     static_cast<std::size_t>(bytes), handle(stream));
  }

  Result<StreamId> create_stream() override {
    HipHandle stream = nullptr;
    auto done = on_device(driver_.stream_create, &stream, kStreamNonBlocking);
    if (!done) return std::unexpected(done.error());
    return StreamId{reinterpret_cast<std::uint64_t>(stream)};
  }
  Result<void> destroy_stream(StreamId stream) override {
    return on_device(driver_.stream_destroy, handle(stream));
  }
  Result<void> synchronize(StreamId stream) override {
    return on_device(driver_.stream_synchronize, handle(stream));
  }
  Result<EventId> create_event() override {
    HipHandle event = nullptr;
    auto done = on_device(driver_.event_create, &event, 0u);
    if (!done) return std::unexpected(done.error());
    return EventId{reinterpret_cast<std::uint64_t>(event)};
  }
  Result<void> destroy_event(EventId event) override {
    return on_device(driver_.event_destroy, handle(event));
  }
  Result<void> record(EventId event, StreamId stream) override {
    return on_device(driver_.event_record, handle(event), handle(stream));
  }
  Result<double> elapsed_ms(EventId start, EventId stop) override {
    float milliseconds = 0;
    auto done = on_device(driver_.event_elapsed_ms, &milliseconds, handle(start), handle(stop));
    if (!done) return std::unexpected(done.error());
    return static_cast<double>(milliseconds);
  }

  Result<void> prepare(const Kernel& kernel) override {
    auto found = function_of(kernel);
    if (!found) return std::unexpected(found.error());
    return {};
  }
  Result<void> launch(StreamId stream, const Kernel& kernel, const LaunchShape& shape,
                      const void* params, std::size_t params_bytes) override;
  Result<unsigned> resident_blocks(const Kernel& kernel, unsigned threads,
                                   unsigned shared_bytes) override {
    auto function = function_of(kernel);
    if (!function) return std::unexpected(function.error());
    int blocks = 0;
    auto done = on_device(driver_.resident_blocks, &blocks, *function, static_cast<int>(threads),
                          static_cast<std::size_t>(shared_bytes));
    if (!done) return std::unexpected(done.error());
    return static_cast<unsigned>(blocks);
  }

  const std::optional<Error>& lost() const override { return lost_; }

 private:
  static HipPointer pointer(DeviceAddress address) { return reinterpret_cast<HipPointer>(address); }
  static HipHandle handle(StreamId stream) { return reinterpret_cast<HipHandle>(stream.value); }
  static HipHandle handle(EventId event) { return reinterpret_cast<HipHandle>(event.value); }

  // A sticky error is kept, and is the answer to everything from then on.
  Result<void> note(Result<void> result) {
    if (!result && !lost_ && result.error().kind == ErrorKind::device) {
      const HipErrorInfo* error = find_hip_error(result.error().code);
      if (error && error->sticky) lost_ = result.error();
    }
    return result;
  }

  // HIP's current device belongs to the calling thread, which may be another one each time.
  template <class... Args>
  Result<void> on_device(const HipSymbol<HipStatus(Args...)>& symbol,
                         std::type_identity_t<Args>... args) {
    if (lost_) return std::unexpected(*lost_);
    if (auto current = note(driver_.set_device(number_)); !current) return current;
    return note(symbol(args...));
  }

  std::optional<int> attribute(HipAttribute which) const {
    int value = 0;
    if (!driver_.device_attribute(&value, which, number_)) return std::nullopt;
    return value;
  }

  Result<void> read_info();
  Result<HipHandle> function_of(const Kernel& kernel);

  const HipDriver& driver_;
  HipDeviceNumber number_;
  const HipImage& image_;
  DeviceInfo info_;
  std::optional<Error> lost_;
  HipHandle module_ = nullptr;
  std::map<const Kernel*, HipHandle> functions_;
};

Result<void> HipDevice::read_info() {
  using enum HipAttribute;
  char name[256] = {};
  if (auto done = driver_.device_name(name, sizeof name - 1, number_); !done) return done;
  info_.name = printable(name);
  std::size_t total = 0;
  if (auto done = driver_.device_total_memory(&total, number_); !done) return done;
  info_.memory_total_bytes = total;

  const auto positive = [&](HipAttribute which) -> std::optional<unsigned> {
    const auto value = attribute(which);
    if (!value || *value <= 0) return std::nullopt;
    return static_cast<unsigned>(*value);
  };
  const auto flag = [&](HipAttribute which) -> std::optional<bool> {
    const auto value = attribute(which);
    if (!value) return std::nullopt;
    return *value != 0;
  };
  const auto units = positive(multiprocessor_count);
  if (!units)
    return fail(ErrorKind::device, "the runtime does not tell how many compute units the GPU has");
  info_.units = *units;
  info_.l2_cache_bytes = positive(l2_cache_bytes);
  info_.max_threads_per_block = positive(max_threads_per_block);
  info_.max_threads_per_unit = positive(max_threads_per_multiprocessor);
  info_.warp_size = positive(warp_size);
  info_.max_shared_bytes_per_block = positive(max_shared_memory_per_block);
  info_.memory_clock_khz = positive(memory_clock_rate_khz);
  info_.memory_bus_bits = positive(memory_bus_width_bits);
  info_.integrated = flag(integrated);
  info_.ecc_enabled = flag(ecc_enabled);
  info_.launch_time_limited = flag(kernel_exec_timeout);
  info_.cooperative_launch = flag(cooperative_launch);
  return {};
}

Result<void> HipDevice::launch(StreamId stream, const Kernel& kernel, const LaunchShape& shape,
                               const void* params, std::size_t params_bytes) {
  if (params_bytes > kMaxKernelParameterBytes)
    return fail(ErrorKind::bad_input, "kernel parameters exceed 128 bytes");
  auto function = function_of(kernel);
  if (!function) return std::unexpected(function.error());
  if (shape.cooperative) {
    // The runtime answers with hipErrorLaunchFailure here, which elsewhere is a fault of the GPU.
    if (info_.cooperative_launch == false)
      return fail(ErrorKind::unsupported, "this GPU or its driver has no cooperative launch");
    void* arguments[] = {const_cast<void*>(params)};
    return on_device(driver_.launch_cooperative, *function, shape.blocks, 1u, 1u, shape.threads, 1u,
                     1u, shape.shared_bytes, handle(stream), static_cast<void**>(arguments));
  }
  std::size_t bytes = params_bytes;
  void* extra[] = {kHipLaunchBufferPointer, const_cast<void*>(params), kHipLaunchBufferSize, &bytes,
                   kHipLaunchEnd};
  return on_device(driver_.launch, *function, shape.blocks, 1u, 1u, shape.threads, 1u, 1u,
                   shape.shared_bytes, handle(stream), static_cast<void**>(nullptr),
                   static_cast<void**>(extra));
}

Result<HipHandle> HipDevice::function_of(const Kernel& kernel) {
  if (auto found = functions_.find(&kernel); found != functions_.end()) return found->second;
  if (!module_) {
    auto done = on_device(driver_.module_load, &module_, static_cast<const void*>(image_.begin));
    if (!done) {
      Error error = done.error();
      error.message += fmt::format(" (the embedded code for {})", image_.target);
      return std::unexpected(error);
    }
  }
  HipHandle function = nullptr;
  const std::string name(kernel.name);
  auto done = on_device(driver_.module_function, &function, module_, name.c_str());
  if (!done && done.error().kind == ErrorKind::device && done.error().code == kNotFound)
    return fail(ErrorKind::unsupported,
                fmt::format("kernel {} has no code for {}", kernel.name, image_.target));
  if (!done) return std::unexpected(done.error());
  functions_[&kernel] = function;
  return function;
}

// The runtime's number of the GPU at this PCI address.
Result<HipDeviceNumber> find_device(const HipDriver& driver, const std::string& pci_address) {
  int count = 0;
  if (auto done = driver.device_count(&count); !done) return std::unexpected(done.error());
  std::vector<std::string> seen;
  std::vector<HipDeviceNumber> found;
  for (HipDeviceNumber number = 0; number < count; ++number) {
    char text[kPciAddressBytes] = {};
    if (auto done = driver.device_pci_address(text, sizeof text - 1, number); !done)
      return std::unexpected(done.error());
    seen.push_back(printable(text));
    if (to_lower(text) == pci_address) found.push_back(number);
  }
  if (found.empty())
    return fail(ErrorKind::not_found,
                fmt::format("the HIP runtime does not show {} to this process (it shows: {})",
                            pci_address, seen.empty() ? "nothing" : join(seen, ", ")));
  if (found.size() > 1)  // partitions of one GPU
    return fail(ErrorKind::unsupported,
                fmt::format("the HIP runtime shows {} devices at {}, and which is meant cannot be "
                            "told",
                            found.size(), pci_address));
  return found.front();
}

}  // namespace

Result<std::unique_ptr<Device>> open_hip_device(std::string_view id) {
  const auto slash = id.find('/');
  if (slash == id.npos)
    return fail(ErrorKind::bad_input,
                fmt::format("{} is no PCI address with a target, such as 0000:03:00.0/gfx90a",
                            printable(id)));
  const std::string pci_address = to_lower(id.substr(0, slash));
  const std::string_view target = id.substr(slash + 1);
  const HipImage* image = find_hip_image(target);
  if (!image) {
    std::vector<std::string> targets;
    for (const HipImage& embedded : hip_images()) targets.emplace_back(embedded.target);
    return fail(ErrorKind::unsupported, fmt::format("no code for {} is embedded, only for {}",
                                                    printable(target), join(targets, ", ")));
  }
  auto driver = HipDriver::start();
  if (!driver) return std::unexpected(driver.error());
  auto number = find_device(**driver, pci_address);
  if (!number) return std::unexpected(number.error());
  auto device = std::make_unique<HipDevice>(**driver, *number, pci_address, *image);
  if (auto opened = device->open(); !opened) return std::unexpected(opened.error());
  return device;
}

DeviceFault hip_fault_of(const Error& error) {
  if (error.kind == ErrorKind::not_found) return DeviceFault::unavailable;
  if (error.kind == ErrorKind::unsupported) return DeviceFault::cannot_load;
  if (error.kind != ErrorKind::device) return DeviceFault::none;
  const HipErrorInfo* info = find_hip_error(error.code);
  return info ? info->fault : DeviceFault::unclear;
}

}  // namespace gpuready
