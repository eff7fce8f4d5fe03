#include "device/hip/hip_device.h"

#include <fmt/format.h>

#include "base/text.h"
#include "device/driver_device.h"
#include "device/hip/hip_driver.h"
#include "device/hip/hip_errors.h"
#include "device/hip/hip_images.h"

namespace gpuready {
namespace {

constexpr int kNotFound = 500;                // hipErrorNotFound
constexpr std::size_t kPciAddressBytes = 32;  // HIP asks for 13 at least

class HipDevice final : public DriverDevice<HipDriver> {
 public:
  HipDevice(const HipDriver& driver, HipDeviceNumber number, std::string pci_address,
            std::string_view target, std::string image)
      : DriverDevice(driver, number), target_(target), image_(std::move(image)) {
    info_.executor = "hip";
    info_.pci_address = std::move(pci_address);
  }
  ~HipDevice() override {
    if (module_ && driver_.set_device(number_)) (void)driver_.module_unload(module_);
  }

  Result<void> open() {
    TRY(read_info());
    return note(make_current());
  }

  DeviceFault fault_of(const Error& error) const override { return hip_fault_of(error); }

 private:
  // HIP's current device belongs to the calling thread.
  Result<void> make_current() override { return driver_.set_device(number_); }
  Result<HipHandle> load(const Kernel& kernel) override;
  Result<void> allow_shared(HipHandle, unsigned) override { return {}; }  // nothing is to be asked
  Result<void> start(HipHandle function, StreamId stream, const LaunchShape& shape,
                     const void* params, std::size_t params_bytes) override;

  const std::string target_;
  const std::string image_;  // the ELF file; the runtime may read it later than at its load
  HipHandle module_ = nullptr;
};

Result<void> HipDevice::start(HipHandle function, StreamId stream, const LaunchShape& shape,
                              const void* params, std::size_t params_bytes) {
  if (shape.cooperative) {
    // The runtime answers with hipErrorLaunchFailure here, which elsewhere is a fault of the GPU.
    if (info_.cooperative_launch == false)
      return fail(ErrorKind::unsupported, "this GPU or its driver has no cooperative launch");
    void* arguments[] = {const_cast<void*>(params)};
    return call(driver_.launch_cooperative, function, shape.blocks, 1u, 1u, shape.threads, 1u, 1u,
                shape.shared_bytes, handle(stream), static_cast<void**>(arguments));
  }
  void* extra[] = {kHipLaunchBufferPointer, const_cast<void*>(params), kHipLaunchBufferSize,
                   &params_bytes, kHipLaunchEnd};
  return call(driver_.launch, function, shape.blocks, 1u, 1u, shape.threads, 1u, 1u,
              shape.shared_bytes, handle(stream), nullptr, static_cast<void**>(extra));
}

Result<HipHandle> HipDevice::load(const Kernel& kernel) {
  if (!module_) {
    auto done = call(driver_.module_load, &module_, image_.data());
    if (!done) {
      Error error = done.error();
      error.message += fmt::format(" (the embedded code for {})", target_);
      return std::unexpected(error);
    }
  }
  HipHandle function = nullptr;
  const std::string name(kernel.name);
  auto done = call(driver_.module_function, &function, module_, name.c_str());
  if (!done && done.error().kind == ErrorKind::device && done.error().code == kNotFound)
    return fail(ErrorKind::unsupported,
                fmt::format("kernel {} has no code for {}", kernel.name, target_));
  if (!done) return std::unexpected(done.error());
  return function;
}

// The runtime's number of the GPU at this PCI address.
Result<HipDeviceNumber> find_device(const HipDriver& driver, const std::string& pci_address) {
  int count = 0;
  TRY(driver.device_count(&count));
  std::vector<std::string> seen;
  std::vector<HipDeviceNumber> found;
  for (HipDeviceNumber number = 0; number < count; ++number) {
    char text[kPciAddressBytes] = {};
    TRY(driver.device_pci_address(text, sizeof text - 1, number));
    seen.push_back(printable(text));
    if (to_lower(text) == pci_address) found.push_back(number);
  }
  if (found.empty())
    return fail(ErrorKind::not_found,
                fmt::format("the HIP runtime does not show {} to this process (it shows: {})",
                            pci_address, seen.empty() ? "nothing" : join(seen, ", ")));
  if (found.size() > 1)  // partitions of one GPU
    return fail(ErrorKind::unsupported,
                fmt::format("the HIP runtime shows {} devices at {}, and which of them it is "
                            "cannot be known",
                            found.size(), pci_address));
  return found.front();
}

}  // namespace

Result<std::unique_ptr<Device>> open_hip_device(std::string_view id) {
  const auto slash = id.find('/');
  if (slash == id.npos)
    return fail(ErrorKind::bad_input,
                fmt::format("{}: expected a PCI address with a target, such as 0000:03:00.0/gfx90a",
                            printable(id)));
  const std::string pci_address = to_lower(id.substr(0, slash));
  const std::string_view target = id.substr(slash + 1);
  auto image = TRY(hip_image(target));
  auto driver = TRY(HipDriver::start());
  auto number = TRY(find_device(*driver, pci_address));
  auto device = std::make_unique<HipDevice>(*driver, number, pci_address, target, std::move(image));
  TRY(device->open());
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
