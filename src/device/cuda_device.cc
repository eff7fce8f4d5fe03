#include "device/cuda_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "base/cuda_errors.h"
#include "base/text.h"
#include "device/cuda_driver.h"

namespace gpuready {
namespace {

constexpr int kJitErrorLogBuffer = 5, kJitErrorLogBytes = 6;  // CUjit_option
constexpr int kMaxDynamicSharedBytes = 8;                     // CUfunction_attribute
constexpr unsigned kSharedBytesWithoutAsking = 48 * 1024;
constexpr unsigned kHostAllocPortable = 1;  // usable from every context
constexpr unsigned kHostRegisterPortable = 1;
constexpr CudaStatus kPeerAccessAlreadyEnabled = 704;
constexpr int kCaptureThreadLocal = 1;               // CUstreamCaptureMode
constexpr int kProgrammaticStreamSerialization = 6;  // CUlaunchAttributeID
// From here on launches that overlap can also be captured into a graph.
constexpr int kOverlapDriverVersion = 12030, kOverlapCapability = 90;

class CudaDevice final : public Device {
 public:
  CudaDevice(const CudaDriver& driver, CudaDeviceNumber number, std::string uuid)
      : driver_(driver), number_(number) {
    info_.executor = "cuda";
    info_.uuid = std::move(uuid);
    info_.ordinal = number;
  }
  ~CudaDevice() override {
    if (!context_) return;
    // Errors are of no interest any more: the context goes, and with it all that is in it.
    (void)driver_.context_set_current(context_);
    for (const auto& [image, module] : modules_) (void)driver_.module_unload(module);
    (void)driver_.context_set_current(nullptr);
    (void)driver_.primary_context_release(number_);
  }

  Result<void> open() {
    if (auto read = read_info(); !read) return read;
    if (auto done = driver_.primary_context_retain(&context_, number_); !done) return note(done);
    return make_current();
  }

  const DeviceInfo& info() const override { return info_; }
  Result<DeviceMemory> memory() override {
    std::size_t free_bytes = 0, total_bytes = 0;
    auto done = in_context(driver_.memory_info, &free_bytes, &total_bytes);
    if (!done) return std::unexpected(done.error());
    return DeviceMemory{free_bytes, total_bytes};
  }
  DeviceFault fault_of(const Error& error) const override { return cuda_fault_of(error); }

  Result<DeviceAddress> allocate(std::uint64_t bytes) override {
    CudaPointer address = 0;
    auto done = in_context(driver_.memory_allocate, &address, static_cast<std::size_t>(bytes));
    if (!done) return std::unexpected(done.error());
    return address;
  }
  Result<void> release(DeviceAddress address) override {
    if (const auto found = aliased_.find(address); found != aliased_.end())
      return release_aliased(address, aliased_.extract(found).mapped());
    return in_context(driver_.memory_free, address);
  }
  Result<AddressRange> allocate_aliased(std::uint64_t bytes) override;
  Result<void*> allocate_pinned(std::uint64_t bytes) override {
    void* memory = nullptr;
    auto done = in_context(driver_.host_allocate, &memory, static_cast<std::size_t>(bytes),
                           kHostAllocPortable);
    if (!done) return std::unexpected(done.error());
    return memory;
  }
  Result<void> release_pinned(void* memory) override {
    return in_context(driver_.host_free, memory);
  }

  Result<void> copy_to_device(StreamId stream, DeviceAddress target, const void* source,
                              std::uint64_t bytes) override {
    return in_context(driver_.copy_to_device, target, source, static_cast<std::size_t>(bytes),
                      handle(stream));
  }
  Result<void> copy_to_host(StreamId stream, void* target, DeviceAddress source,
                            std::uint64_t bytes) override {
    return in_context(driver_.copy_to_host, target, source, static_cast<std::size_t>(bytes),
                      handle(stream));
  }
  Result<void> copy_on_device(StreamId stream, DeviceAddress target, DeviceAddress source,
                              std::uint64_t bytes) override {
    return in_context(driver_.copy_on_device, target, source, static_cast<std::size_t>(bytes),
                      handle(stream));
  }

  Result<StreamId> create_stream() override {
    constexpr unsigned kNonBlocking = 1;  // no hidden ordering with the default stream
    CudaHandle stream = nullptr;
    auto done = in_context(driver_.stream_create, &stream, kNonBlocking);
    if (!done) return std::unexpected(done.error());
    return StreamId{reinterpret_cast<std::uint64_t>(stream)};
  }
  Result<void> destroy_stream(StreamId stream) override {
    return in_context(driver_.stream_destroy, handle(stream));
  }
  Result<void> synchronize(StreamId stream) override {
    return in_context(driver_.stream_synchronize, handle(stream));
  }
  Result<EventId> create_event() override {
    CudaHandle event = nullptr;
    auto done = in_context(driver_.event_create, &event, 0u);
    if (!done) return std::unexpected(done.error());
    return EventId{reinterpret_cast<std::uint64_t>(event)};
  }
  Result<void> destroy_event(EventId event) override {
    return in_context(driver_.event_destroy, handle(event));
  }
  Result<void> record(EventId event, StreamId stream) override {
    return in_context(driver_.event_record, handle(event), handle(stream));
  }
  Result<double> elapsed_ms(EventId start, EventId stop) override {
    float milliseconds = 0;
    auto done = in_context(driver_.event_elapsed_ms, &milliseconds, handle(start), handle(stop));
    if (!done) return std::unexpected(done.error());
    return static_cast<double>(milliseconds);
  }

  Result<void> prepare(const Kernel& kernel) override {
    auto found = function_of(kernel);
    if (!found) return std::unexpected(found.error());
    return {};
  }
  Result<void> launch(StreamId stream, const Kernel& kernel, const LaunchShape& shape,
                      const void* params, std::size_t params_bytes) override {
    if (params_bytes > kMaxKernelParameterBytes) {
      return fail(ErrorKind::bad_input, "kernel parameters exceed 128 bytes");
    }
    auto function = function_of(kernel);
    if (!function) return std::unexpected(function.error());
    if (auto allowed = allow_shared(*function, shape.shared_bytes); !allowed) return allowed;
    void* arguments[] = {const_cast<void*>(params)};
    if (shape.cooperative) {
      return in_context(driver_.launch_cooperative, *function, shape.blocks, 1u, 1u, shape.threads,
                        1u, 1u, shape.shared_bytes, handle(stream), static_cast<void**>(arguments));
    }
    if (shape.overlaps && can_overlap()) {
      CudaLaunchAttribute attribute;
      attribute.id = kProgrammaticStreamSerialization;
      attribute.value.number = 1;
      CudaLaunchConfiguration configuration;
      configuration.grid[0] = shape.blocks;
      configuration.block[0] = shape.threads;
      configuration.shared_bytes = shape.shared_bytes;
      configuration.stream = handle(stream);
      configuration.attributes = &attribute;
      configuration.attribute_count = 1;
      return in_context(driver_.launch_configured, &configuration, *function,
                        static_cast<void**>(arguments), static_cast<void**>(nullptr));
    }
    return in_context(driver_.launch, *function, shape.blocks, 1u, 1u, shape.threads, 1u, 1u,
                      shape.shared_bytes, handle(stream), static_cast<void**>(arguments),
                      static_cast<void**>(nullptr));
  }
  Result<unsigned> resident_blocks(const Kernel& kernel, unsigned threads,
                                   unsigned shared_bytes) override {
    auto function = function_of(kernel);
    if (!function) return std::unexpected(function.error());
    if (auto allowed = allow_shared(*function, shared_bytes); !allowed)
      return std::unexpected(allowed.error());
    int blocks = 0;
    auto done = in_context(driver_.resident_blocks, &blocks, *function, static_cast<int>(threads),
                           static_cast<std::size_t>(shared_bytes));
    if (!done) return std::unexpected(done.error());
    return static_cast<unsigned>(blocks);
  }

  Result<void> begin_capture(StreamId stream) override {
    return in_context(driver_.graphs.begin_capture, handle(stream), kCaptureThreadLocal);
  }
  Result<GraphId> end_capture(StreamId stream) override {
    CudaHandle graph = nullptr, executable = nullptr;
    auto done = in_context(driver_.graphs.end_capture, handle(stream), &graph);
    if (!done) return std::unexpected(done.error());
    done = in_context(driver_.graphs.instantiate, &executable, graph, 0ull);
    (void)in_context(driver_.graphs.destroy, graph);  // the executable one is independent of it
    if (!done) return std::unexpected(done.error());
    return GraphId{reinterpret_cast<std::uint64_t>(executable)};
  }
  Result<void> launch_graph(StreamId stream, GraphId graph) override {
    return in_context(driver_.graphs.launch, reinterpret_cast<CudaHandle>(graph.value),
                      handle(stream));
  }
  Result<void> destroy_graph(GraphId graph) override {
    return in_context(driver_.graphs.destroy_executable, reinterpret_cast<CudaHandle>(graph.value));
  }

  Result<void> pin(void* memory, std::uint64_t bytes) override {
    return in_context(driver_.host_register, memory, static_cast<std::size_t>(bytes),
                      kHostRegisterPortable);
  }
  Result<void> unpin(void* memory) override { return in_context(driver_.host_unregister, memory); }

  Result<bool> can_access_peer(const Device& peer) override {
    auto other = peer_of(peer);
    if (!other) return std::unexpected(other.error());
    int can = 0;
    auto done = driver_.can_access_peer(&can, number_, (*other)->number_);
    if (!done) return std::unexpected(done.error());
    return can != 0;
  }
  Result<PeerFacts> peer_facts(const Device& peer) override {
    auto other = peer_of(peer);
    if (!other) return std::unexpected(other.error());
    PeerFacts facts;
    int value = 0;
    if (driver_.peer_attribute(&value, CudaPeerAttribute::native_atomic_supported, number_,
                               (*other)->number_))
      facts.native_atomics = value != 0;
    if (driver_.peer_attribute(&value, CudaPeerAttribute::performance_rank, number_,
                               (*other)->number_))
      facts.performance_rank = value;
    return facts;
  }
  Result<void> enable_peer_access(Device& peer) override {
    auto other = peer_of(peer);
    if (!other) return std::unexpected(other.error());
    auto done = in_context(driver_.enable_peer_access, (*other)->context_, 0u);
    if (!done && done.error().code == kPeerAccessAlreadyEnabled) return {};
    return done;
  }
  Result<void> copy_from_peer(StreamId stream, DeviceAddress target, Device& peer,
                              DeviceAddress source, std::uint64_t bytes) override {
    auto other = peer_of(peer);
    if (!other) return std::unexpected(other.error());
    return in_context(driver_.copy_peer, target, context_, source, (*other)->context_,
                      static_cast<std::size_t>(bytes), handle(stream));
  }
  Result<void> copy_to_peer(StreamId stream, Device& peer, DeviceAddress target,
                            DeviceAddress source, std::uint64_t bytes) override {
    auto other = peer_of(peer);
    if (!other) return std::unexpected(other.error());
    return in_context(driver_.copy_peer, target, (*other)->context_, source, context_,
                      static_cast<std::size_t>(bytes), handle(stream));
  }

  const std::optional<Error>& lost() const override { return lost_; }

 private:
  static Result<const CudaDevice*> peer_of(const Device& device) {
    if (const auto* peer = dynamic_cast<const CudaDevice*>(&device)) return peer;
    return fail(ErrorKind::unsupported, "a GPU's peer must be a GPU of the same driver");
  }
  static CudaHandle handle(StreamId stream) { return reinterpret_cast<CudaHandle>(stream.value); }
  static CudaHandle handle(EventId event) { return reinterpret_cast<CudaHandle>(event.value); }

  // A sticky error is kept, and is the answer to everything from then on.
  Result<void> note(Result<void> result) {
    if (!result && !lost_) {
      const CudaErrorInfo* error = find_cuda_error(result.error().code);
      if (result.error().kind == ErrorKind::device && error && error->sticky)
        lost_ = result.error();
    }
    return result;
  }
  // The context is made current each time: the calling thread may be another one, or may have made
  // another context current meanwhile.
  Result<void> make_current() { return note(driver_.context_set_current(context_)); }

  template <class... Args>
  Result<void> in_context(const CudaSymbol<CudaStatus(Args...)>& symbol,
                          std::type_identity_t<Args>... args) {
    if (lost_) return std::unexpected(*lost_);
    if (auto current = make_current(); !current) return current;
    return note(symbol(args...));
  }

  std::optional<int> attribute(CudaAttribute which) const {
    int value = 0;
    if (!driver_.device_attribute(&value, which, number_)) return std::nullopt;
    return value;
  }

  bool can_overlap() const {
    return driver_.launch_configured.function && info_.compute_capability >= kOverlapCapability &&
           info_.driver_version >= kOverlapDriverVersion;
  }
  // More than 48 KiB of dynamic shared memory must be allowed, function by function.
  Result<void> allow_shared(CudaHandle function, unsigned bytes) {
    unsigned& allowed =
        shared_bytes_.try_emplace(function, kSharedBytesWithoutAsking).first->second;
    if (bytes <= allowed) return {};
    auto done = in_context(driver_.function_set_attribute, function, kMaxDynamicSharedBytes,
                           static_cast<int>(bytes));
    if (done) allowed = bytes;
    return done;
  }
  // A range both of whose halves map `allocation`, as far as that was done.
  struct Aliased {
    std::size_t half_bytes = 0;
    CudaAllocation allocation = 0;
    unsigned halves_mapped = 0;
  };
  Result<void> map_aliased(CudaPointer address, Aliased& aliased);
  Result<void> release_aliased(CudaPointer address, const Aliased& aliased);

  Result<void> read_info();
  Result<CudaHandle> module_of(const KernelImage& image);
  Result<CudaHandle> function_of(const Kernel& kernel);

  const CudaDriver& driver_;
  CudaDeviceNumber number_;
  CudaHandle context_ = nullptr;
  DeviceInfo info_;
  std::optional<Error> lost_;
  std::map<const unsigned char*, CudaHandle> modules_;
  std::map<const Kernel*, CudaHandle> functions_;
  std::map<CudaHandle, unsigned> shared_bytes_;  // dynamic, allowed so far
  std::map<CudaPointer, Aliased> aliased_;
};

Result<AddressRange> CudaDevice::allocate_aliased(std::uint64_t bytes) {
  const CudaVirtualMemory& memory = driver_.virtual_memory;
  CudaAllocationProperties properties;
  properties.location.id = number_;
  std::size_t granularity = 0;
  constexpr int kMinimum = 0;
  auto done = in_context(memory.granularity, &granularity, &properties, kMinimum);
  if (!done) return std::unexpected(done.error());
  if (granularity == 0) return fail(ErrorKind::device, "the driver told a granularity of 0 bytes");
  Aliased aliased;
  aliased.half_bytes =
      std::max<std::size_t>((bytes + granularity - 1) / granularity, 1) * granularity;
  CudaPointer address = 0;
  done = in_context(memory.reserve, &address, 2 * aliased.half_bytes, std::size_t{0},
                    CudaPointer{0}, 0ull);
  if (!done) return std::unexpected(done.error());
  if (auto mapped = map_aliased(address, aliased); !mapped) {
    (void)release_aliased(address, aliased);
    return std::unexpected(mapped.error());
  }
  aliased_[address] = aliased;
  return AddressRange{address, 2 * aliased.half_bytes};
}

Result<void> CudaDevice::map_aliased(CudaPointer address, Aliased& aliased) {
  const CudaVirtualMemory& memory = driver_.virtual_memory;
  CudaAllocationProperties properties;
  properties.location.id = number_;
  auto done = in_context(memory.create, &aliased.allocation, aliased.half_bytes, &properties, 0ull);
  if (!done) return done;
  for (; aliased.halves_mapped < 2; ++aliased.halves_mapped) {
    done = in_context(memory.map, address + aliased.halves_mapped * aliased.half_bytes,
                      aliased.half_bytes, std::size_t{0}, aliased.allocation, 0ull);
    if (!done) return done;
  }
  CudaAccess access;
  access.location.id = number_;
  return in_context(memory.set_access, address, 2 * aliased.half_bytes, &access, std::size_t{1});
}

Result<void> CudaDevice::release_aliased(CudaPointer address, const Aliased& aliased) {
  const CudaVirtualMemory& memory = driver_.virtual_memory;
  Result<void> result;
  const auto keep_first = [&](Result<void> done) {
    if (result && !done) result = done;
  };
  for (unsigned half = 0; half < aliased.halves_mapped; ++half)
    keep_first(in_context(memory.unmap, address + half * aliased.half_bytes, aliased.half_bytes));
  if (aliased.allocation != 0) keep_first(in_context(memory.release, aliased.allocation));
  keep_first(in_context(memory.free_address, address, 2 * aliased.half_bytes));
  return result;
}

Result<void> CudaDevice::read_info() {
  using enum CudaAttribute;
  char name[256] = {};
  if (auto done = driver_.device_name(name, sizeof name - 1, number_); !done) return done;
  info_.name = printable(name);
  std::size_t total = 0;
  if (auto done = driver_.device_total_memory(&total, number_); !done) return done;
  info_.memory_total_bytes = total;

  const auto units = attribute(multiprocessor_count);
  if (!units || *units < 1) {
    return fail(ErrorKind::device, "the driver does not tell how many SMs the GPU has");
  }
  info_.units = static_cast<unsigned>(*units);
  const auto major = attribute(compute_capability_major),
             minor = attribute(compute_capability_minor);
  if (!major || !minor) {
    return fail(ErrorKind::device, "the driver does not tell the GPU's compute capability");
  }
  info_.compute_capability = *major * 10 + *minor;

  const auto domain = attribute(pci_domain_id), bus = attribute(pci_bus_id),
             device = attribute(pci_device_id);
  if (domain && bus && device) {
    info_.pci_address = fmt::format("{:04x}:{:02x}:{:02x}.0", static_cast<unsigned>(*domain),
                                    static_cast<unsigned>(*bus), static_cast<unsigned>(*device));
  }
  const auto positive = [&](CudaAttribute which) -> std::optional<unsigned> {
    const auto value = attribute(which);
    if (!value || *value <= 0) return std::nullopt;
    return static_cast<unsigned>(*value);
  };
  const auto flag = [&](CudaAttribute which) -> std::optional<bool> {
    const auto value = attribute(which);
    if (!value) return std::nullopt;
    return *value != 0;
  };
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
  int version = 0;
  if (driver_.driver_version(&version)) info_.driver_version = version;
  return {};
}

Result<CudaHandle> CudaDevice::module_of(const KernelImage& image) {
  if (auto found = modules_.find(image.begin); found != modules_.end()) return found->second;
  const auto text = unpack_ptx(image);
  if (!text) return std::unexpected(text.error());
  std::string log(4096, '\0');
  int options[] = {kJitErrorLogBuffer, kJitErrorLogBytes};
  void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
  CudaHandle module = nullptr;
  auto done = in_context(driver_.module_load, &module, static_cast<const void*>(text->c_str()), 2u,
                         static_cast<int*>(options), static_cast<void**>(values));
  if (!done) {
    Error error = done.error();
    const std::string_view said = trim(std::string_view(log.c_str()));
    if (!said.empty())
      error.message += fmt::format("; the driver's compiler says: {}", printable(said));
    return std::unexpected(error);
  }
  modules_[image.begin] = module;
  return module;
}

Result<CudaHandle> CudaDevice::function_of(const Kernel& kernel) {
  if (auto found = functions_.find(&kernel); found != functions_.end()) return found->second;
  // The image for the highest capability that this GPU has; an exact one only for its own.
  const int capability = info_.compute_capability.value_or(0);
  const KernelImage* best = nullptr;
  for (const KernelImage& image : kernel.cuda) {
    const bool loads = image.architecture_exact ? image.compute_capability == capability
                                                : image.compute_capability <= capability;
    if (!loads) continue;
    if (!best || image.compute_capability > best->compute_capability || image.architecture_exact) {
      best = &image;
    }
  }
  if (!best) {
    return fail(ErrorKind::unsupported,
                fmt::format("kernel {} has no code for compute capability {}.{}", kernel.name,
                            capability / 10, capability % 10));
  }
  auto module = module_of(*best);
  if (!module) return std::unexpected(module.error());
  CudaHandle function = nullptr;
  const std::string name(kernel.name);
  auto done = in_context(driver_.module_function, &function, *module, name.c_str());
  if (!done) return std::unexpected(done.error());
  functions_[&kernel] = function;
  return function;
}

// The 32 hexadecimal digits of a UUID, in lower case; empty when the text holds none.
std::string uuid_digits(std::string_view text) {
  std::string digits;
  for (std::string_view prefix : {"MIG-", "GPU-", "mig-", "gpu-"}) {
    if (auto rest = after_prefix(text, prefix)) text = *rest;
  }
  for (std::string_view prefix : {"GPU-", "gpu-"}) {
    if (auto rest = after_prefix(text, prefix)) text = *rest;
  }
  text = text.substr(0, text.find('/'));
  for (char c : text) {
    if (c != '-') digits += c;
  }
  digits = to_lower(digits);
  const bool valid =
      digits.size() == 32 && digits.find_first_not_of("0123456789abcdef") == std::string::npos;
  return valid ? digits : std::string();
}

}  // namespace

bool same_cuda_uuid(std::string_view a, std::string_view b) {
  const std::string digits = uuid_digits(a);
  return !digits.empty() && digits == uuid_digits(b);
}

Result<std::unique_ptr<Device>> open_cuda_device(std::string_view uuid) {
  auto driver = CudaDriver::start();
  if (!driver) return std::unexpected(driver.error());
  auto identities = list_cuda_identities(**driver);
  if (!identities) return std::unexpected(identities.error());
  std::vector<std::string> seen;
  for (const CudaDeviceIdentity& identity : *identities) {
    seen.push_back(identity.uuid);
    if (!same_cuda_uuid(identity.uuid, uuid)) continue;
    auto device = std::make_unique<CudaDevice>(**driver, identity.number, std::string(uuid));
    if (auto opened = device->open(); !opened) return std::unexpected(opened.error());
    return device;
  }
  return fail(ErrorKind::not_found,
              fmt::format("the CUDA driver does not show {} to this process (it shows: {})",
                          printable(uuid), seen.empty() ? "nothing" : join(seen, ", ")));
}

DeviceFault cuda_fault_of(const Error& error) {
  if (error.kind == ErrorKind::not_found) return DeviceFault::unavailable;
  if (error.kind != ErrorKind::device) return DeviceFault::none;
  const CudaErrorInfo* info = find_cuda_error(error.code);
  if (!info) return DeviceFault::unclear;
  switch (info->kind) {
    case CudaErrorClass::usage:
      return DeviceFault::none;
    case CudaErrorClass::out_of_memory:
      return DeviceFault::out_of_memory;
    case CudaErrorClass::busy:
      return DeviceFault::busy;
    case CudaErrorClass::unavailable:
      return DeviceFault::unavailable;
    case CudaErrorClass::cannot_load:
      return DeviceFault::cannot_load;
    case CudaErrorClass::memory_fault:
      return DeviceFault::memory;
    case CudaErrorClass::device_fault:
      return DeviceFault::execution;
    case CudaErrorClass::timed_out:
      return DeviceFault::timed_out;
    case CudaErrorClass::unclear:
      return DeviceFault::unclear;
  }
  return DeviceFault::unclear;
}

}  // namespace gpuready
