#include "device/cuda/cuda_device.h"

#include <fmt/format.h>

#include <map>

#include "base/cuda_errors.h"
#include "base/text.h"
#include "device/cuda/cuda_aliased.h"
#include "device/cuda/cuda_driver.h"
#include "device/cuda/cuda_identity.h"
#include "device/driver_device.h"

namespace gpuready {
namespace {

constexpr int kJitErrorLogBuffer = 5, kJitErrorLogBytes = 6;  // CUjit_option
constexpr int kMaxDynamicSharedBytes = 8;                     // CUfunction_attribute
constexpr unsigned kSharedBytesWithoutAsking = 48 * 1024;
constexpr int kPeerAccessAlreadyEnabled = 704;
constexpr int kCaptureThreadLocal = 1;               // CUstreamCaptureMode
constexpr int kProgrammaticStreamSerialization = 6;  // CUlaunchAttributeID
// From here on launches that overlap can also be captured into a graph.
constexpr int kOverlapDriverVersion = 12030, kOverlapCapability = 90;

class CudaDevice final : public DriverDevice<CudaDriver> {
 public:
  CudaDevice(const CudaDriver& driver, CudaDeviceNumber number, std::string uuid)
      : DriverDevice(driver, number) {
    info_.executor = "cuda";
    info_.uuid = std::move(uuid);
    info_.ordinal = number;
  }
  ~CudaDevice() override {
    if (!context_) return;
    if (borrowed_) {
      for (const auto& [image, module] : modules_) (void)call(driver_.module_unload, module);
      return;
    }
    // Errors are of no interest any more: the context goes, and with it all that is in it.
    (void)driver_.context_set_current(context_);
    for (const auto& [image, module] : modules_) (void)driver_.module_unload(module);
    (void)driver_.context_set_current(nullptr);
    (void)driver_.primary_context_release(number_);
  }

  Result<void> open() {
    TRY(read_info());
    TRY(read_cuda_info());
    if (auto done = driver_.primary_context_retain(&context_, number_); !done) return note(done);
    return note(make_current());
  }

  Result<void> borrow(CudaHandle context) {
    TRY(read_info());
    TRY(read_cuda_info());
    context_ = context;
    borrowed_ = true;
    return {};
  }

  DeviceFault fault_of(const Error& error) const override { return cuda_fault_of(error); }

  Result<void> release(DeviceAddress address) override {
    const auto aliased = aliased_.extract(address);
    if (aliased.empty()) return DriverDevice::release(address);
    return in_context([&] { return release_aliased(driver_, aliased.mapped()); });
  }
  Result<AddressRange> allocate_aliased(std::uint64_t bytes) override {
    CudaAliased aliased;
    TRY(in_context([&] { return map_aliased(driver_, number_, bytes, aliased); }));
    aliased_[aliased.address] = aliased;
    return AddressRange{aliased.address, 2 * aliased.half_bytes};
  }
  Result<void> pin(void* memory, std::uint64_t bytes) override {
    constexpr unsigned kPortable = 1;
    return call(driver_.host_register, memory, bytes, kPortable);
  }
  Result<void> unpin(void* memory) override { return call(driver_.host_unregister, memory); }

  Result<void> begin_capture(StreamId stream) override {
    return call(driver_.capture_begin, handle(stream), kCaptureThreadLocal);
  }
  Result<GraphId> end_capture(StreamId stream) override {
    CudaHandle graph = nullptr, executable = nullptr;
    auto done = call(driver_.capture_end, handle(stream), &graph);
    if (!done) return std::unexpected(done.error());
    done = call(driver_.graph_instantiate, &executable, graph, 0ull);
    (void)call(driver_.graph_destroy, graph);  // the executable one is independent of it
    if (!done) return std::unexpected(done.error());
    return GraphId{std::bit_cast<std::uint64_t>(executable)};
  }
  Result<void> launch_graph(StreamId stream, GraphId graph) override {
    return call(driver_.graph_launch, std::bit_cast<CudaHandle>(graph.value), handle(stream));
  }
  Result<void> destroy_graph(GraphId graph) override {
    return call(driver_.graph_destroy_executable, std::bit_cast<CudaHandle>(graph.value));
  }

  Result<bool> can_access_peer(const Device& peer) override {
    auto other = TRY(peer_of(peer));
    int can = 0;
    TRY(driver_.can_access_peer(&can, number_, other->number_));
    return can != 0;
  }
  Result<PeerFacts> peer_facts(const Device& peer) override {
    auto other = TRY(peer_of(peer));
    PeerFacts facts;
    int value = 0;
    if (driver_.peer_attribute(&value, CudaPeerAttribute::native_atomic_supported, number_,
                               other->number_))
      facts.native_atomics = value != 0;
    if (driver_.peer_attribute(&value, CudaPeerAttribute::performance_rank, number_,
                               other->number_))
      facts.performance_rank = value;
    return facts;
  }
  Result<void> enable_peer_access(Device& peer) override {
    auto other = TRY(peer_of(peer));
    auto done = call(driver_.enable_peer_access, other->context_, 0u);
    if (!done && done.error().code == kPeerAccessAlreadyEnabled) return {};
    return done;
  }
  Result<void> copy_from_peer(StreamId stream, DeviceAddress target, Device& peer,
                              DeviceAddress source, std::uint64_t bytes) override {
    auto other = TRY(peer_of(peer));
    return call(driver_.copy_peer, target, context_, source, other->context_,
                static_cast<std::size_t>(bytes), handle(stream));
  }
  Result<void> copy_to_peer(StreamId stream, Device& peer, DeviceAddress target,
                            DeviceAddress source, std::uint64_t bytes) override {
    auto other = TRY(peer_of(peer));
    return call(driver_.copy_peer, target, other->context_, source, context_,
                static_cast<std::size_t>(bytes), handle(stream));
  }

 private:
  static Result<const CudaDevice*> peer_of(const Device& device) {
    if (const auto* peer = dynamic_cast<const CudaDevice*>(&device)) return peer;
    return fail(ErrorKind::unsupported, "a GPU's peer must be a GPU of the same driver");
  }

  Result<void> make_current() override {
    if (!borrowed_) return driver_.context_set_current(context_);
    CudaHandle now = nullptr;
    TRY(driver_.context_get_current(&now));
    if (now == context_) return {};
    TRY(driver_.context_push(context_));
    pushed_ = true;
    return {};
  }
  void restore_current() override {
    CudaHandle popped = nullptr;
    if (std::exchange(pushed_, false)) (void)driver_.context_pop(&popped);
  }
  Result<CudaHandle> load(const Kernel& kernel) override;
  // More than 48 KiB of dynamic shared memory must be allowed, function by function.
  Result<void> allow_shared(CudaHandle function, unsigned bytes) override {
    unsigned& allowed =
        shared_bytes_.try_emplace(function, kSharedBytesWithoutAsking).first->second;
    if (bytes <= allowed) return {};
    auto done = call(driver_.function_set_attribute, function, kMaxDynamicSharedBytes,
                     static_cast<int>(bytes));
    if (done) allowed = bytes;
    return done;
  }
  bool can_overlap() const {
    return driver_.launch_configured.is_there() && info_.compute_capability >= kOverlapCapability &&
           info_.driver_version >= kOverlapDriverVersion;
  }
  Result<void> start(CudaHandle function, StreamId stream, const LaunchShape& shape,
                     const void* params, std::size_t) override;

  Result<void> read_cuda_info();
  Result<CudaHandle> module_of(const KernelImage& image);

  CudaHandle context_ = nullptr;
  bool borrowed_ = false, pushed_ = false;
  std::map<const unsigned char*, CudaHandle> modules_;
  std::map<CudaHandle, unsigned> shared_bytes_;  // dynamic, allowed so far
  std::map<DeviceAddress, CudaAliased> aliased_;
};

Result<void> CudaDevice::start(CudaHandle function, StreamId stream, const LaunchShape& shape,
                               const void* params, std::size_t) {
  void* arguments[] = {const_cast<void*>(params)};
  if (shape.cooperative)
    return call(driver_.launch_cooperative, function, shape.blocks, 1u, 1u, shape.threads, 1u, 1u,
                shape.shared_bytes, handle(stream), static_cast<void**>(arguments));
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
    return call(driver_.launch_configured, &configuration, function, static_cast<void**>(arguments),
                nullptr);
  }
  return call(driver_.launch, function, shape.blocks, 1u, 1u, shape.threads, 1u, 1u,
              shape.shared_bytes, handle(stream), static_cast<void**>(arguments), nullptr);
}

Result<void> CudaDevice::read_cuda_info() {
  using enum CudaAttribute;
  const auto major = attribute(compute_capability_major),
             minor = attribute(compute_capability_minor);
  if (!major || !minor)
    return fail(ErrorKind::device, "the driver does not report the GPU's compute capability");
  info_.compute_capability = *major * 10 + *minor;

  const auto domain = attribute(pci_domain_id), bus = attribute(pci_bus_id),
             device = attribute(pci_device_id);
  if (domain && bus && device)
    info_.pci_address = fmt::format("{:04x}:{:02x}:{:02x}.0", static_cast<unsigned>(*domain),
                                    static_cast<unsigned>(*bus), static_cast<unsigned>(*device));
  int version = 0;
  if (driver_.driver_version(&version)) info_.driver_version = version;
  return {};
}

Result<CudaHandle> CudaDevice::module_of(const KernelImage& image) {
  if (auto found = modules_.find(image.begin); found != modules_.end()) return found->second;
  const auto text = TRY(unpack_image(image.begin, image.end));
  std::string log(4096, '\0');
  int options[] = {kJitErrorLogBuffer, kJitErrorLogBytes};
  void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
  CudaHandle module = nullptr;
  auto done = call(driver_.module_load, &module, static_cast<const void*>(text.c_str()), 2u,
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

Result<CudaHandle> CudaDevice::load(const Kernel& kernel) {
  const int capability = info_.compute_capability.value_or(0);
  const KernelImage* image = best_image(kernel.cuda, capability, info_.driver_version);
  if (!image)
    return fail(ErrorKind::unsupported,
                fmt::format("kernel {} {}", kernel.name,
                            why_no_image(kernel.cuda, capability, info_.driver_version)));
  auto module = module_of(*image);
  if (!module) return module;
  CudaHandle function = nullptr;
  const std::string name(kernel.name);
  TRY(call(driver_.module_function, &function, *module, name.c_str()));
  return function;
}

}  // namespace

Result<std::unique_ptr<Device>> open_cuda_device(std::string_view uuid) {
  auto driver = CudaDriver::start();
  if (!driver) return std::unexpected(driver.error());
  auto identities = TRY(list_cuda_identities(**driver));
  std::vector<std::string> seen;
  for (const CudaDeviceIdentity& identity : identities) {
    seen.push_back(identity.uuid);
    if (!same_cuda_uuid(identity.uuid, uuid)) continue;
    auto device = std::make_unique<CudaDevice>(**driver, identity.number, std::string(uuid));
    TRY(device->open());
    return device;
  }
  return fail(ErrorKind::not_found,
              fmt::format("the CUDA driver does not show {} to this process (it shows: {})",
                          printable(uuid), seen.empty() ? "nothing" : join(seen, ", ")));
}

Result<std::unique_ptr<Device>> borrow_cuda_context(void* context) {
  const auto started = CudaDriver::start();
  if (!started && started.error().kind == ErrorKind::not_found)
    return fail(ErrorKind::no_device, started.error().message);
  const CudaDriver& driver = *TRY(started);
  CudaHandle now = nullptr, popped = nullptr;
  TRY(driver.context_get_current(&now));
  if (!context) context = now;
  if (!context)
    return fail(ErrorKind::bad_input,
                "no CUDA context was given, and this thread has no current one");
  CudaDeviceNumber number = 0;
  if (context != now) TRY(driver.context_push(context));
  const auto read = driver.context_device(&number);
  if (context != now) (void)driver.context_pop(&popped);
  if (!read) return std::unexpected(read.error());
  for (const CudaDeviceIdentity& identity : TRY(list_cuda_identities(driver))) {
    if (identity.number != number) continue;
    auto device = std::make_unique<CudaDevice>(driver, number, identity.uuid);
    TRY(device->borrow(context));
    return device;
  }
  return fail(ErrorKind::no_device, "the CUDA driver does not list the context's device");
}

DeviceFault cuda_fault_of(const Error& error) {
  if (error.kind == ErrorKind::not_found) return DeviceFault::unavailable;
  if (error.kind != ErrorKind::device) return DeviceFault::none;
  const CudaErrorInfo* info = find_cuda_error(error.code);
  if (!info) return DeviceFault::unclear;
  using enum DeviceFault;
  // In the order of CudaErrorClass.
  constexpr DeviceFault kFaults[] = {none,         out_of_memory, busy,   unavailable,
                                     refuses_code, cannot_load,   memory, execution,
                                     timed_out,    unclear};
  static_assert(std::size(kFaults) == static_cast<std::size_t>(CudaErrorClass::unclear) + 1);
  return kFaults[static_cast<std::size_t>(info->kind)];
}

}  // namespace gpuready
