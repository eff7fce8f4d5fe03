// What is known of the devices that can be given to virtual machines, as plain values.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "vm/pci_function.h"

namespace gpuready::vm {

enum class Readiness {
  ready,
  in_use,  // somebody uses it; what says who
  needs,   // something is missing: IOMMU, vfio-pci, a clean memory
  never,   // the machine itself lives on it
};

// Who or what uses a function now.
struct Use {
  std::string kind;  // "process", "persistence", "display", "disk", "network", "virtual functions"
  std::string what;  // "process 4711 (python3) holds /dev/nvidia0 open"
  std::optional<std::uint32_t> pid;
  bool whole_machine = false;   // without it the machine stops: its root disk, its swap
  bool ends_with_plan = false;  // `vm attach` ends it by itself: persistence mode, a service
  std::optional<std::string> service = {};  // of systemd, whose process it is
};

// What surrounds a function.
struct Surroundings {
  std::optional<std::string> uuid;  // of a GPU, where its driver told
  std::optional<bool> persistence;  // kernel persistence mode (NVIDIA)
  std::vector<std::string> nodes;   // "/dev/nvidia0", "/dev/dri/card1"
  std::vector<Use> uses;
  std::vector<std::string> unclear;        // what could not be read and decides whether it may go
  std::vector<PciAddress> group;           // all functions of its IOMMU group, bridges left out
  std::vector<PciAddress> companions;      // other functions of its slot: audio, USB-C
  std::vector<PciAddress> moves_together;  // closure of both, itself included; sorted
  std::optional<std::string> attached_to;  // --for NAME of `vm attach`
  std::optional<std::string> quarantine;   // why it may not be given away yet
  std::optional<std::string> not_told;     // why it is not known whom it is attached to
  Readiness readiness = Readiness::ready;
  std::string reason;  // a clause; empty when ready
  std::optional<std::string> cure;
};

struct Device {
  PciFunction function;
  Surroundings around;
};

// An instance of a mediated device (vGPU), which a driver made of a part of its device
// (Linux, Documentation/driver-api/vfio-mediated-device.rst).
struct MediatedFacts {
  std::string uuid;
  std::string parent;                 // "0000:17:00.0", or what its driver calls it
  std::string type;                   // "nvidia-63"
  std::optional<std::string> name;    // of the type: "GRID P40-2Q"
  std::optional<std::string> api;     // "vfio-pci": what a guest sees
  std::optional<std::string> driver;  // bound now
  std::optional<int> iommu_group;
};
struct MediatedDevice : MediatedFacts {
  Surroundings around;
};
bool is_uuid(std::string_view text);  // of 36 characters, in lower case

// A line of modules.alias by which a VFIO driver other than vfio-pci claims devices (Linux 5.16):
// "vfio_pci:v000010DEd00002342sv*sd*bc*sc*i*".
struct VfioVariant {
  std::string pattern, module;
};

struct HugePagePool {
  int node = 0;
  std::uint64_t page_bytes = 0, total = 0, free = 0;
};

// What the host offers to all of its devices.
struct HostFacts {
  bool iommu_groups = false;              // any exists
  std::optional<std::string> cpu_vendor;  // "intel", "amd", "arm": which parameter switches it on
  bool vfio_pci_registered = false;       // the driver is loaded
  bool vfio_pci_present = false;          // loaded, or a module of this kernel
  bool vfio_type1_present = false;
  std::vector<VfioVariant> variants;
  std::vector<std::string> services;  // that run and hold GPUs: "nvidia-persistenced.service"
  std::vector<HugePagePool> huge_pages;
  std::string kernel_release;
  std::optional<std::string> hypervisor;  // of the machine that this is a guest of
  std::uint32_t effective_uid = 0;
};

struct Inventory {
  HostFacts host;
  std::vector<Device> devices;            // by address
  std::vector<MediatedDevice> instances;  // by UUID
  std::vector<PciAddress> addresses;      // of all functions of this machine, bridges too
  std::vector<std::string> unseen;        // what could not be read, and why
  std::optional<std::string> bus_unread;  // why: then devices may be here unseen

  const Device* find(const PciAddress& address) const;
  Device* find(const PciAddress& address);
  const MediatedDevice* find_instance(std::string_view uuid) const;
};

// Of a name that the inventory does not have.
std::string no_such_device(const PciAddress& address);
std::string no_such_instance(std::string_view uuid);

// GPUs, processing accelerators and NVIDIA's switches: what `vm list` shows.
bool is_passable(std::uint16_t vendor, std::uint32_t class_code);
// Why what is done on it now must not be disturbed; nullptr: no one does anything.
const Use* use_that_stays(const Surroundings& around);
// Something that keeps what a guest wrote: it must be overwritten before another sees it.
bool has_memory(const PciFunction& function);
bool is_vfio(const std::optional<std::string>& driver);  // vfio-pci and its variants
// The driver that it has hands it to virtual machines: a VFIO driver, or that of a vGPU.
bool is_handed_over(const PciFunction& function);

}  // namespace gpuready::vm
