// Small questions about a Machine that several causes ask.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doctor/cause.h"
#include "machine/gpu_use.h"
#include "machine/pci/pci_addresses.h"
#include "machine/system/kernel_drivers.h"

namespace gpuready::doctor {

// Printable, on one line, at most 200 characters.
std::string quote(std::string_view text);
Evidence evidence(std::string_view source, std::string_view text);
Evidence evidence(const ApiStatus& status);

Match about(const Gpu& gpu);
Match about(const Machine& machine, const PciAddress& address);
bool in_wsl1(const Machine& machine);
// A board of an embedded processor, which describes itself by a device tree instead of DMI.
bool is_plain_arm(const Machine& machine);
// Drivers count on PCI Express that is coherent with the processor's caches and combines writes.
// Where the machine's is not, as on small ARM boards: says so in the match, with the cure for a GPU
// of this vendor.
bool explain_arm_board(const Machine& machine, Vendor vendor, Match& match);
Match about_all(const Machine& machine, Vendor vendor);  // every GPU of the vendor
// One for each GPU that can be asked and for which test(gpu, match) adds evidence.
template <class Test>
std::vector<Match> each_gpu(const Facts& facts, Test&& test) {
  std::vector<Match> matches;
  for (const auto& gpu : facts.machine.gpus) {
    if (gpu.faked || gpu.suspended) continue;
    Match match = about(gpu);
    test(gpu, match);
    if (!match.evidence.empty()) matches.push_back(std::move(match));
  }
  return matches;
}
Match about_xid(int code);  // what it means and what to do; its line tells how grave it is

// ---- GPUs
std::vector<const PciDevice*> gpus_on_bus(const Machine& machine, Vendor vendor);
const PciDevice* pci_device(const Machine& machine, const PciAddress& address);
// The GPU at this address, if it is set aside under vfio-pci.
const PciDevice* vfio_gpu(const Machine& machine, const std::optional<PciAddress>& address);
bool any_gpu(const Machine& machine, Vendor vendor);
// The first number of an NVIDIA GPU's compute capability, by its driver or its chip's name: 9 is
// Hopper.
std::optional<std::uint64_t> capability_major(const Machine& machine, const PciAddress& address);
// Whether the proprietary flavour of NVIDIA's driver can do the work of this GPU's system processor
// (GSP) itself: up to Ada (NVIDIA's README, "GSP Firmware"; done so on EC2's g4dn and g5:
// awslabs/amazon-eks-ami issue 1523).
bool may_do_without_gsp(const Machine& machine, const PciAddress& gpu);
// NVML was asked about this GPU, listed it, and lost it in no call.
bool answers(const Machine& machine, const Gpu& gpu);
bool answers(const Machine& machine, const PciAddress& address);
// It answers, and the driver does not ask for a reset before it takes work again.
bool works(const Machine& machine, const Gpu& gpu);
// A reading that NVML does not give in WSL 2, of a GPU that it lists and with which CUDA starts.
bool is_unread_in_wsl(const Machine& machine, const Gpu& gpu, const ApiStatus& status);
bool computes(const Machine& machine, const Gpu& gpu);  // it works, and CUDA did not fail to start
// NVIDIA's driver answers for the GPU; AMD's or Intel's is bound to it.
bool runs_now(const Machine& machine, const PciAddress& address);
// What a line of the log says of a recovery counts only with this: the GPU runs now; or NVML was
// not asked about it, since it sleeps, and its driver is bound.
bool may_have_recovered(const Machine& machine, const PciAddress& address);
// The first failed call about this GPU with this code, of NVML ("nvml") or the CUDA driver ("cu").
const ApiStatus* failed_call(const Gpu& gpu, std::string_view library, int code);
const ApiStatus* failed_start(const std::optional<ApiStatus>& start,
                              std::initializer_list<int> codes);
bool in_container(const Machine& machine);
// The host has this GPU, and this container or job was not given it: nothing is wrong with that.
bool not_given(const Machine& machine, const Gpu& gpu);
bool not_given(const Machine& machine, const PciAddress& address);
// The GPUs that a line without an address can be about: those without their driver, and those that
// it does not list. Nothing when all answer: then the line is history.
std::optional<Match> suspects(const Machine& machine, Vendor vendor);

// ---- drivers: machine/system/kernel_drivers.h
inline constexpr Vendor kDrivenVendors[] = {Vendor::nvidia, Vendor::amd, Vendor::intel};
// GPUs of this vendor without the driver that makes them usable. A container that was given other
// GPUs has no part in what its host does with these.
std::vector<const PciDevice*> without_driver(const Machine& machine, Vendor vendor);
// The device, and what is bound to it as evidence. For the processor's own graphics beside a GPU
// that works it is info: no one needs it.
// "-> nvidia", or that none is bound.
Evidence driver_of(const PciDevice& device);
Match at_device(const Machine& machine, const PciDevice& device);

// Whether this kernel is published as older than the support of the GPUs that its driver left out;
// says so in the match.
bool needs_newer_kernel(const Machine& machine, Match& match);

// ---- kernel log
struct LogHit {
  std::size_t line = 0;           // index into Machine::kernel_log.lines
  std::size_t count = 1;          // with those like it that the log left out
  std::optional<PciAddress> pci;  // of this line, else of its neighbours in the same message
  std::string text;               // joined with the lines that the message goes on with
};
// Whether a line is a driver's, the bus's or the kernel's message that begins as one of these
// patterns says (machine/system/kernel_log.h).
bool says_any(std::string_view line, std::span<const std::string_view> patterns);
inline bool says_any(std::string_view line, std::initializer_list<std::string_view> patterns) {
  return says_any(line, std::span(patterns.begin(), patterns.size()));
}
// Every line that does. The driver writes long messages over several lines.
std::vector<LogHit> log_hits(const Machine& machine, const Ids& any);
// A line of a driver that serves another vendor's devices.
bool is_of_another_vendor(const LogHit& hit, const PciDevice& device);
// Of the lines from `first` on that are about the match's GPUs or name none, one that says the
// earliest of `lines`: its place there, and what it says.
std::optional<std::pair<std::size_t, Evidence>> first_reason(const Machine& machine,
                                                             const Ids& lines, const Match& match,
                                                             std::size_t first);
// The lines that say that the machine has slept.
std::vector<LogHit> resumes(const Machine& machine);
// One match for each GPU concerned, quoting at most two lines each. A line of NVIDIA's driver that
// names no GPU is about the one whose failed start is logged next, else about the suspects. Lines
// from before the driver was last loaded are left out.
std::vector<Match> log_matches(const Machine& machine, const Ids& any);
// The same for what NVIDIA's driver says when it refuses a GPU, without the GPUs that answer now.
std::vector<Match> refused(const Facts& facts, const Ids& any);
// What NVIDIA's driver says of a GPU that it does not know.
inline constexpr std::string_view kUnknownGpu = "NVRM: ...in this system is not supported by the";
// What a driver logs before it gives a start up, where one line says why.
struct StartReason {
  std::string_view line, meaning, cure;
  Action action = Action::configure;
  bool guest = false;  // only in a virtual machine
  std::string_view command = {};
};
// Two for which NVIDIA's driver starts neither the GPU nor the system processor (GSP) on it. The
// first is the status of the failure (nvstatuscodes.h); in the second one's libspdm_lkca.c are
// stubs.
inline constexpr StartReason kNoHostMemory = {
    "NVRM: RmInitAdapter failed! (0x*:0x51:",
    "The machine had no memory, or none in one piece, for the driver and the firmware of the GPU's "
    "system processor (GSP) when the GPU was started.",
    "Free memory and have the kernel join its pieces, then start the GPU again; reboot if that "
    "does not help. Persistence (nvidia-persistenced) keeps the driver from starting the GPU again "
    "later, when memory is short.",
    Action::reboot,
    false,
    "echo 3 > /proc/sys/vm/drop_caches && echo 1 > /proc/sys/vm/compact_memory && nvidia-smi"};
inline constexpr StartReason kNoCrypto = {
    "NVRM: ...SPDM cannot boot without proper crypto backend",
    "The GPU is in confidential computing mode, and the driver's module was built for a kernel "
    "without the cryptography (ECDH, ECDSA) that it needs to talk to the GPU.",
    "Run a kernel with CONFIG_CRYPTO_ECC, CONFIG_CRYPTO_ECDH and CONFIG_CRYPTO_ECDSA, and build "
    "the driver's modules for it again."};
// Where the log of a laptop says that the GSP fails, mostly when the GPU wakes: quotes it, and puts
// what keeps it from failing behind the first step, if there is one.
void add_gsp_advice(const Machine& machine, Match& match, std::string_view first_step);
// nvidia_uvm mirrors no memory of programs, because somebody told it so.
bool hmm_is_off(const Machine& machine);
// The driver knows GPUs of this kind: it runs another one here, or its branch is newer than they
// are. It takes such a GPU for an unknown one where the GPU does not say what it is.
bool runs_like(const Machine& machine, const PciAddress& address);
bool driver_knows(const Machine& machine, const PciAddress& address, std::string_view refusal);
// The line at which NVIDIA's driver that runs now began to load; 0 when the log does not hold it.
std::size_t load_line(const Machine& machine);
// The same where every GPU of NVIDIA may have recovered, else 0: what was logged before is history.
std::size_t past_until(const Machine& machine);
std::optional<PciAddress> pci_address_in(std::string_view text);

// What an Xid says of the GPU now. `past`: the driver was loaded or the GPU recovered since, and it
// runs; or the Xid's own traces (counters, pending flags, recovery action) are known to be gone; or
// the GPU is another container's. `survived`: the kind that ends a GPU's work, and the GPU answers;
// or a link's error, and all links are up.
enum class XidState { present, survived, past };
// "Ch 00000008 caused by previous Xid 149" of drivers from 580 on.
std::optional<int> named_cause(const XidEvent& event);
std::vector<XidState> xid_states(const Machine& machine);  // of machine.kernel_log.xids
// Those that are not past.
std::vector<const XidEvent*> xids(const Machine& machine, std::initializer_list<int> codes);
// Adds the Xids of these codes to the GPU's evidence; true when there was one.
bool add_xids(const Machine& machine, const Gpu& gpu, std::initializer_list<int> codes,
              Match& match);
// The log's addresses give the function as NVIDIA's driver prints it, often without.

int links_up(const Gpu& gpu);  // of its NVLinks

// ---- AMD
// "gfx1030" for HSA_OVERRIDE_GFX_VERSION=10.3.0; the stepping is a hexadecimal digit.
std::optional<std::string> override_target(const Machine& machine);

// ---- nodes and libraries
const DeviceNode* node(const Machine& machine, std::string_view path);
std::vector<const DeviceNode*> gpu_nodes(
    const Machine& machine);  // /dev/nvidia0, /dev/nvidia1, ...
const LibraryFile* library(const Machine& machine, std::string_view name);
// The real path of libcuda.so.1: that which the probe loaded, else that which the search finds.
std::optional<std::string> cuda_library_path(const Machine& machine);

}  // namespace gpuready::doctor
