// A QEMU that is started for one test: one GPU, no disk and no network. Its init is gpuready-guest
// with a bundle's driver; its root has this gpuready and the C library of this host. So no driver
// of the host touches what the previous user left in the GPU.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "gpuready/machine.h"
#include "host/host.h"
#include "host/storage.h"

namespace gpuready::vm {

struct GuestTest {
  PciAddress device;                   // VFIO has it
  std::string bundle;                  // of the driver: a folder
  std::string folder;                  // for the initrd and the guest's console
  std::chrono::milliseconds deadline;  // then the guest is killed
};
std::string console_of(const GuestTest& test);

// The kernel that a bundle's modules are for: the running one if it is among them. Either the
// bundle has it as vmlinuz-RELEASE, or this host has it.
struct GuestKernel {
  std::string release, path;
};
Result<GuestKernel> guest_kernel(Host& host, const std::string& bundle);

// QEMU's arguments; `initrd_bytes` decides the size of the guest's memory.
std::vector<std::string> guest_words(const GuestTest& test, const std::string& kernel,
                                     const std::string& initrd, std::uint64_t initrd_bytes);

// The guest's own report of `gpuready check --level standard`.
Result<Json> test_in_guest(Host& host, Storage& storage, const GuestTest& test);
using GuestTester = std::function<Result<Json>(Host&, Storage&, const GuestTest&)>;

}  // namespace gpuready::vm
