#include "doctor/xid_table.h"

#include <algorithm>
#include <functional>

#include "base/named.h"
#include "base/text.h"

namespace gpuready {

NAMES_OF(XidClass, "hardware", "driver", "application", "memory", "link", "power or heat",
         "firmware", "informational", "unused");
namespace {

using enum XidClass;
using enum XidAction;

constexpr XidEntry kXids[] = {
    {1, "Invalid command stream (FIFO method)",
     "Older GPUs: the command stream held a method that the host engine does not accept.", driver,
     restart_app, false},
    {2, "Invalid command stream (software method)",
     "Older GPUs: the command stream asked the driver for a software method that failed.", driver,
     restart_app, false},
    {3, "Invalid command stream (unknown method)",
     "Older GPUs: the command stream held an unknown method.", driver, restart_app, false},
    {4, "Invalid command stream or semaphore timeout",
     "Older GPUs: a channel stayed busy or a semaphore was never released.", driver, restart_app,
     false},
    {5, "Unused (run-out overflow)", "No current driver reports this code.", unused, contact_vendor,
     false},
    {6, "Invalid command stream (parse error)",
     "Older GPUs: the command stream could not be parsed.", driver, restart_app, false},
    {7, "Invalid command stream address",
     "Older GPUs: the command stream was fetched from an address without a valid page table entry.",
     driver, restart_app, false},
    {8, "GPU stopped processing (idle timeout)",
     "A channel made no progress for too long and was stopped.", application, restart_app, false},
    {9, "Driver programmed the GPU wrongly",
     "Older GPUs: the driver handed the graphics engine a bad instance.", driver, update_software,
     false},
    {10, "Unused (single step)", "No current driver reports this code.", unused, contact_vendor,
     false},
    {11, "Invalid command stream (missing hardware)",
     "A command was meant for a unit that this GPU lacks, or the command stream was damaged.",
     application, restart_app, false},
    {12, "Driver failed to handle a GPU exception",
     "Older GPUs: the driver could not handle a software method of the graphics engine.", driver,
     update_software, false},
    {13, "Graphics engine exception",
     "A kernel did something illegal, mostly an access out of bounds; repeats on one SM hint at "
     "hardware.",
     application, restart_app, false},
    {14, "Injected error", "An error was injected on purpose for a test.", informational, none,
     false},
    {15, "Unused (scanline timeout)", "No current driver reports this code.", unused,
     contact_vendor, false},
    {16, "Display engine hung",
     "A vertical blank callback did not come back in time; the display comes back with a reboot.",
     driver, reboot, false},
    {17, "Unused (parameter error)", "No current driver reports this code.", unused, contact_vendor,
     false},
    {18, "Bus mastering is off",
     "The GPU may not reach host memory because bus mastering is off in its PCI configuration.",
     driver, update_software, false},
    {19, "Display engine missed a notification",
     "The display engine did not report that it had finished.", driver, update_software, false},
    {20, "Invalid command stream (MPEG engine)",
     "Older GPUs: bad commands reached the MPEG video engine.", driver, restart_app, false},
    {21, "Invalid command stream (motion estimation)",
     "Older GPUs: bad commands reached the motion estimation engine.", driver, restart_app, false},
    {22, "Invalid command stream (video processor)",
     "Older GPUs: bad commands reached the video processor.", driver, restart_app, false},
    {23, "Unused (error logging switched on)",
     "No current driver reports this code; it used to say that error logging is on.", unused,
     contact_vendor, false},
    {24, "GPU semaphore timeout",
     "Older GPUs: work waited for a semaphore that was not released in time.", application,
     restart_app, false},
    {25, "Illegal notification in the command stream",
     "The command stream asked for a notification that is not allowed.", application, restart_app,
     false},
    {26, "Framebuffer timeout",
     "Older GPUs: the framebuffer interface did not reach the expected state in time.", driver,
     update_software, false},
    {27, "Video processor exception (VP)", "Older GPUs: the video processor raised an exception.",
     driver, restart_app, false},
    {28, "Video processor exception (VP2)",
     "Older GPUs: the second-generation video processor raised an exception.", driver, restart_app,
     false},
    {29, "Video processor exception (BSP)",
     "Older GPUs: the bit stream processor raised an exception.", driver, restart_app, false},
    {30, "GPU semaphore access error", "Older GPUs: a semaphore was accessed at a bad address.",
     driver, update_software, false},
    {31, "GPU memory page fault",
     "Code on the GPU touched an address that is not mapped; mostly a fault of the application.",
     application, restart_app, false},
    {32, "Invalid command stream (PBDMA)",
     "The DMA unit that fetches commands got bad data; a poor PCIe link is a frequent reason.",
     link, restart_app, false},
    {33, "Security engine error (SEC)",
     "Older GPUs: the micro-controller of the security engine reported an error.", driver,
     update_software, false},
    {34, "Video processor exception (MSVLD)",
     "Older GPUs: the variable-length decoder raised an exception.", driver, restart_app, false},
    {35, "Video processor exception (MSPDEC)",
     "Older GPUs: the picture decoder raised an exception.", driver, restart_app, false},
    {36, "Video processor exception (MSPPP)",
     "Older GPUs: the video post-processor raised an exception.", driver, restart_app, false},
    {37, "Context switch firmware: unknown method",
     "The context switch firmware (FECS) was sent a command that it does not implement.", driver,
     restart_app, false},
    {38, "Context switch firmware: watchdog timeout",
     "The context switch firmware (FECS) ran into its watchdog.", firmware, update_software, false},
    {39, "Copy engine 0 exception",
     "Copy engine 0 raised an exception and the channel that used it was stopped.", hardware,
     restart_app, false},
    {40, "Copy engine 1 exception",
     "Copy engine 1 raised an exception and the channel that used it was stopped.", hardware,
     restart_app, false},
    {41, "Copy engine 2 exception",
     "Copy engine 2 raised an exception and the channel that used it was stopped.", hardware,
     restart_app, false},
    {42, "Video image compositor exception (VIC)",
     "The video image compositor raised an exception.", driver, restart_app, false},
    {43, "GPU stopped processing (channel reset)",
     "An application's channel was reset after a fault of its own; the GPU itself is healthy.",
     application, restart_app, false},
    {44, "Graphics engine fault during context switch",
     "A fault hit the graphics engine while it switched from one context to another.", driver,
     watch, false},
    {45, "Preemptive channel removal",
     "A channel was torn down because its process ended or another Xid hit it: look at the Xid "
     "before.",
     informational, follow_other_xid, false},
    {46, "GPU stopped processing (GPU timeout)",
     "The GPU did not answer in time and takes no further work.", driver, reset_gpu, true},
    {47, "Video encoder 0 exception (NVENC0)",
     "Video encoder 0 raised an exception and the channel that used it was stopped.", driver,
     restart_app, false},
    {48, "Double-bit ECC error",
     "Memory held an error that ECC cannot correct; if Xid 63 or 64 follows, that memory was in "
     "DRAM.",
     memory, reset_gpu, true},
    {49, "Unused (clock level fixed by registry)",
     "No current driver reports this code; it belonged to an old scheme of reduced clocks.", unused,
     contact_vendor, false},
    {50, "Unused (clock level lowered after an error)",
     "No current driver reports this code; it belonged to an old scheme of reduced clocks.", unused,
     contact_vendor, false},
    {51, "Unused (stress test failed)",
     "No current driver reports this code; it belonged to an old scheme of reduced clocks.", unused,
     contact_vendor, false},
    {52, "Unused (clock level lowered by heat)",
     "No current driver reports this code; it belonged to an old scheme of reduced clocks.", unused,
     contact_vendor, false},
    {53, "Unused (clocks reduced by heat)",
     "No current driver reports this code; it belonged to an old scheme of reduced clocks.", unused,
     contact_vendor, false},
    {54, "Auxiliary power not connected", "A power connector of the board has no power.",
     thermal_power, check_power_thermal, true},
    {55, "Unused (temperature not readable)",
     "No current driver reports this code; it belonged to an old scheme of reduced clocks.", unused,
     contact_vendor, false},
    {56, "Display engine exception",
     "A display channel raised an exception; computing is not touched.", driver, update_software,
     false},
    {57, "Memory link training failed",
     "The link between the GPU and its memory chips could not be trained.", memory, check_hardware,
     true},
    {58, "Unstable memory interface", "The link between the GPU and its memory chips makes errors.",
     memory, check_hardware, true},
    {59, "Power controller error (PMU, older drivers)",
     "The micro-controller for power management reported an error.", firmware, update_software,
     false},
    {60, "Security engine exception (SEC2)",
     "The SEC2 engine raised an exception on an application's channel.", driver, restart_app,
     false},
    {61, "Power controller breakpoint (PMU)",
     "The micro-controller for power management hit a breakpoint; clocks may stay where they are.",
     firmware, reset_gpu, false},
    {62, "Power controller halted (PMU)", "The micro-controller for power management has stopped.",
     firmware, reset_gpu, true},
    {63, "Row remap or page retirement recorded",
     "Bad memory was written down for replacement; the repair takes effect at the next reset.",
     memory, none, false},
    {64, "Row remap or page retirement failed",
     "Bad memory could not be replaced; if the remap failure flag stays after a reset, replace the "
     "GPU.",
     memory, reset_gpu, true},
    {65, "Video encoder 1 exception (NVENC1)",
     "Video encoder 1 raised an exception and the channel that used it was stopped.", hardware,
     restart_app, false},
    {66, "Illegal register access by the driver",
     "The context switch firmware (FECS) refused an access to a register.", driver, watch, false},
    {67, "Illegal access by the driver (verification)",
     "The context switch firmware (FECS) found a violation while it verified an access.", driver,
     watch, false},
    {68, "Video decoder 0 exception (NVDEC0)",
     "Video decoder 0 raised an exception and the channel that used it was stopped.", hardware,
     restart_app, false},
    {69, "Graphics engine class error",
     "An application used a method or a value that this GPU's engine class does not allow.",
     application, restart_app, false},
    {70, "Copy engine 3 exception",
     "Copy engine 3 raised an exception and the channel that used it was stopped.", hardware,
     restart_app, false},
    {71, "Copy engine 4 exception",
     "Copy engine 4 raised an exception and the channel that used it was stopped.", hardware,
     restart_app, false},
    {72, "Copy engine 5 exception",
     "Copy engine 5 raised an exception and the channel that used it was stopped.", hardware,
     restart_app, false},
    {73, "Video encoder 2 exception (NVENC2)",
     "Video encoder 2 raised an exception and the channel that used it was stopped.", hardware,
     restart_app, false},
    {74, "NVLink error",
     "An NVLink to another GPU or a switch failed; the fault may be here, in the link or at the "
     "peer.",
     link, check_link, true},
    {75, "Copy engine 6 exception",
     "Copy engine 6 raised an exception and the channel that used it was stopped.", hardware,
     restart_app, false},
    {76, "Copy engine 7 exception",
     "Copy engine 7 raised an exception and the channel that used it was stopped.", hardware,
     restart_app, false},
    {77, "Copy engine 8 exception",
     "Copy engine 8 raised an exception and the channel that used it was stopped.", hardware,
     restart_app, false},
    {78, "vGPU did not start",
     "The guest's driver and the host's do not fit, or this GPU or guest lacks that vGPU type.",
     driver, update_software, true},
    {79, "GPU has fallen off the bus",
     "The GPU no longer answers over PCIe: link, power or the GPU itself; often hardware.", link,
     reboot, true},
    {80, "Command stream checksum mismatch",
     "Commands were damaged on their way to the GPU (CRC of the push buffer).", link, restart_app,
     false},
    {81, "VGA subsystem error", "The VGA part of the GPU reported a hardware error.", hardware,
     check_hardware, false},
    {82, "JPEG engine 0 exception (NVJPG0)",
     "JPEG engine 0 raised an exception and the channel that used it was stopped.", hardware,
     restart_app, false},
    {83, "Video decoder 1 exception (NVDEC1)",
     "Video decoder 1 raised an exception and the channel that used it was stopped.", hardware,
     restart_app, false},
    {84, "Video decoder 2 exception (NVDEC2)",
     "Video decoder 2 raised an exception and the channel that used it was stopped.", hardware,
     restart_app, false},
    {85, "Copy engine 9 exception",
     "Copy engine 9 raised an exception and the channel that used it was stopped.", hardware,
     restart_app, false},
    {86, "Optical flow engine 0 exception (OFA0)",
     "Optical flow engine 0 raised an exception and the channel that used it was stopped.",
     hardware, restart_app, false},
    {87, "Unused (telemetry report)",
     "No current driver reports this code; it was kept for driver telemetry.", unused,
     contact_vendor, false},
    {88, "Video decoder 3 exception (NVDEC3)",
     "Video decoder 3 raised an exception and the channel that used it was stopped.", hardware,
     restart_app, false},
    {89, "Video decoder 4 exception (NVDEC4)",
     "Video decoder 4 raised an exception and the channel that used it was stopped.", hardware,
     restart_app, false},
    {90, "Unused (L2 cache error)",
     "Not logged by itself: errors of the L2 cache show as Xid 48, 94 or 95.", unused,
     contact_vendor, false},
    {91, "Unused (reserved)", "Reserved; no current driver reports this code.", unused,
     contact_vendor, false},
    {92, "High rate of single-bit ECC errors",
     "Corrected errors came so often that their interrupt was switched off; data is right, and the "
     "memory is failing.",
     memory, watch, false},
    {93, "InfoROM wear limit reached",
     "An InfoROM write was refused by the erase limit that nvflash set; clear that limit with "
     "nvflash.",
     firmware, none, false},
    {94, "Contained memory error",
     "An uncorrectable error hit one application only; reset the GPU when that is convenient.",
     memory, restart_app, false},
    {95, "Uncontained memory error",
     "An uncorrectable error may have reached every application on this GPU.", memory, reset_gpu,
     true},
    {96, "Video decoder 5 exception (NVDEC5)",
     "Video decoder 5 raised an exception and the channel that used it was stopped.", hardware,
     restart_app, false},
    {97, "Video decoder 6 exception (NVDEC6)",
     "Video decoder 6 raised an exception and the channel that used it was stopped.", hardware,
     restart_app, false},
    {98, "Video decoder 7 exception (NVDEC7)",
     "Video decoder 7 raised an exception and the channel that used it was stopped.", hardware,
     restart_app, false},
    {99, "JPEG engine 1 exception (NVJPG1)",
     "JPEG engine 1 raised an exception and the channel that used it was stopped.", hardware,
     restart_app, false},
    {100, "JPEG engine 2 exception (NVJPG2)",
     "JPEG engine 2 raised an exception and the channel that used it was stopped.", hardware,
     restart_app, false},
    {101, "JPEG engine 3 exception (NVJPG3)",
     "JPEG engine 3 raised an exception and the channel that used it was stopped.", hardware,
     restart_app, false},
    {102, "JPEG engine 4 exception (NVJPG4)",
     "JPEG engine 4 raised an exception and the channel that used it was stopped.", hardware,
     restart_app, false},
    {103, "JPEG engine 5 exception (NVJPG5)",
     "JPEG engine 5 raised an exception and the channel that used it was stopped.", hardware,
     restart_app, false},
    {104, "JPEG engine 6 exception (NVJPG6)",
     "JPEG engine 6 raised an exception and the channel that used it was stopped.", hardware,
     restart_app, false},
    {105, "JPEG engine 7 exception (NVJPG7)",
     "JPEG engine 7 raised an exception and the channel that used it was stopped.", hardware,
     restart_app, false},
    {106, "SMBPBI test message", "Somebody asked for a test message over the board management bus.",
     informational, none, false},
    {107, "SMBPBI test message, silent",
     "Somebody asked for a silent test message over the board management bus.", informational, none,
     false},
    {108, "NVLink remote translation error",
     "A peer's NVLink access touched an address that is not mapped on this GPU.", application,
     restart_app, false},
    {109, "Context switch timeout",
     "The GPU could not switch away from a context in time and is stuck in it.", driver, reset_gpu,
     true},
    {110, "Security fault",
     "The GPU locked itself down after a security fault; a reset clears that, or else a cold "
     "start.",
     hardware, reset_gpu, true},
    {111, "Display bundle error",
     "The display engine reported a bundle error; computing is not touched.", driver,
     update_software, false},
    {112, "Display supervisor error",
     "A mode change of the display engine failed; computing is not touched.", driver,
     update_software, false},
    {113, "DisplayPort link training failed",
     "The link to a display could not be trained: cable, connector or monitor.", link,
     check_hardware, false},
    {114, "Display pipeline underflow",
     "The display engine got its pixels too late; computing is not touched.", driver,
     update_software, false},
    {115, "Display core channel error", "The core channel of the display engine reported an error.",
     driver, update_software, false},
    {116, "Display window channel error",
     "A window channel of the display engine reported an error.", driver, update_software, false},
    {117, "Display cursor channel error",
     "A cursor channel of the display engine reported an error.", driver, update_software, false},
    {118, "Display pixel pipeline error",
     "A pixel pipeline of the display engine reported an error.", driver, update_software, false},
    {119, "GSP timeout", "The GPU's system processor (GSP) did not answer the driver in time.",
     firmware, reset_gpu, true},
    {120, "GSP error", "The firmware on the GPU's system processor (GSP) failed.", firmware,
     reset_gpu, true},
    {121, "C2C link error, corrected",
     "The chip-to-chip link to the CPU corrected errors; a reset when convenient retrains it.",
     link, none, false},
    {122, "Board flash read failed",
     "The power controller could not read the board's flash memory.", firmware, contact_vendor,
     false},
    {123, "Board flash write failed",
     "The power controller could not write the board's flash memory.", firmware, reset_gpu, false},
    {124, "Board flash erase failed",
     "The power controller could not erase the board's flash memory.", firmware, contact_vendor,
     false},
    {125, "InfoROM file system error",
     "The file system in the InfoROM is damaged, so new faults may not be recorded.", firmware,
     contact_vendor, false},
    {126, "Copy engine 10 exception",
     "Copy engine 10 raised an exception and the channel that used it was stopped.", hardware,
     restart_app, false},
    {127, "Copy engine 11 exception",
     "Copy engine 11 raised an exception and the channel that used it was stopped.", hardware,
     restart_app, false},
    {128, "Copy engine 12 exception",
     "Copy engine 12 raised an exception and the channel that used it was stopped.", hardware,
     restart_app, false},
    {129, "Copy engine 13 exception",
     "Copy engine 13 raised an exception and the channel that used it was stopped.", hardware,
     restart_app, false},
    {130, "Copy engine 14 exception",
     "Copy engine 14 raised an exception and the channel that used it was stopped.", hardware,
     restart_app, false},
    {131, "Copy engine 15 exception",
     "Copy engine 15 raised an exception and the channel that used it was stopped.", hardware,
     restart_app, false},
    {132, "Copy engine 16 exception",
     "Copy engine 16 raised an exception and the channel that used it was stopped.", hardware,
     restart_app, false},
    {133, "Copy engine 17 exception",
     "Copy engine 17 raised an exception and the channel that used it was stopped.", hardware,
     restart_app, false},
    {134, "Copy engine 18 exception",
     "Copy engine 18 raised an exception and the channel that used it was stopped.", hardware,
     restart_app, false},
    {135, "Copy engine 19 exception",
     "Copy engine 19 raised an exception and the channel that used it was stopped.", hardware,
     restart_app, false},
    {136, "NVLink training failed",
     "An NVLink could not be brought up; if a reset does not help, check that link's signal.", link,
     reset_gpu, true},
    {137, "NVLink privilege error",
     "A peer refused an access over NVLink; mostly an application used a bad peer address.",
     application, restart_app, false},
    {138, "Deep learning accelerator error (DLA)",
     "The deep learning accelerator of a system-on-chip reported an error.", hardware,
     contact_vendor, false},
    {139, "Optical flow engine 1 exception (OFA1)",
     "Optical flow engine 1 raised an exception and the channel that used it was stopped.",
     hardware, restart_app, false},
    {140, "Unrecovered ECC error",
     "An uncorrectable memory error came in a way that the driver could not contain or repair.",
     memory, reset_gpu, true},
    {141, "CUDA fast path error",
     "The fast path of the driver's error handling for CUDA reported an error.", driver, none,
     false},
    {142, "Video encoder 3 exception (NVENC3)",
     "Video encoder 3 raised an exception and the channel that used it was stopped.", hardware,
     contact_vendor, false},
    {143, "GPU initialisation failed",
     "The GPU did not finish its start, for example its security processor (FSP) never got ready.",
     firmware, reset_gpu, true},
    {144, "NVLink 5 error in SAW",
     "Unit SAW of an NVLink 5 port reported an error; the line itself says if it is fatal.", link,
     follow_recovery_action, true},
    {145, "NVLink 5 error in RLW",
     "Unit RLW of an NVLink 5 port reported an error; the line itself says if it is fatal.", link,
     follow_recovery_action, true},
    {146, "NVLink 5 error in TLW",
     "Unit TLW of an NVLink 5 port reported an error; the line itself says if it is fatal.", link,
     follow_recovery_action, true},
    {147, "NVLink 5 error in TREX",
     "Unit TREX of an NVLink 5 port reported an error that does not harm the link.", link, none,
     false},
    {148, "NVLink 5 error in NVLPW_CTRL",
     "Unit NVLPW_CTRL of an NVLink 5 port reported an error that does not harm the link.", link,
     none, false},
    {149, "NVLink 5 error in NETIR",
     "An NVLink 5 port went down or has a high bit error rate; the line says if it is fatal.", link,
     follow_recovery_action, true},
    {150, "NVLink 5 error in MSE", "The firmware that manages the NVLink 5 ports has failed.", link,
     reset_gpu, true},
    {151, "Key rotation failed",
     "Confidential computing could not renew its keys; restart the guest that owns the GPU.",
     driver, reboot, true},
    {152, "DLA memory translation error",
     "The deep learning accelerator's SMMU reported an error; no data-centre GPU has this unit.",
     hardware, none, false},
    {153, "DLA timeout",
     "The deep learning accelerator did not answer in time; no data-centre GPU has this unit.",
     hardware, none, false},
    {154, "GPU recovery action changed",
     "The driver states what this GPU now needs because of another Xid: the text after \"to\" "
     "names it.",
     informational, follow_recovery_action, true},
    {155, "NVLink taken down by software",
     "An NVLink 5 port was taken down on purpose (sleep, disable); a reset brings it back.", link,
     reset_gpu, true},
    {156, "Faulty unit retired",
     "A faulty unit (TPC) will be replaced by a spare at the next reset.", hardware, reset_gpu,
     true},
    {157, "Faulty unit could not be retired",
     "A faulty unit (TPC) has no spare left; work can go on, but the fault may come again.",
     hardware, watch, false},
    {158, "GPU fatal timeout",
     "A unit of the GPU did not answer in time and cannot be recovered without a reset.", hardware,
     reset_gpu, true},
    {159, "C2C bus error (CHI, not data)",
     "The chip-to-chip bus to the CPU reported a protocol error; with unified memory it needs a "
     "reset.",
     link, follow_recovery_action, true},
    {160, "Memory channel or L2 slice retired",
     "A faulty memory channel or L2 slice will be replaced by a spare; the line says what "
     "activates it.",
     memory, follow_recovery_action, false},
    {161, "Memory channel or L2 slice not retired",
     "A faulty memory channel or L2 slice has no spare left.", memory, watch, false},
    {162, "Power smoothing back on", "The power smoothing circuit works again.", informational,
     none, false},
    {163, "Power smoothing off",
     "The power smoothing circuit switched itself off because of heat or a timeout.", thermal_power,
     check_power_thermal, false},
    {164, "Power smoothing nearly worn out",
     "The power smoothing circuit is near the end of its life; plan for larger swings of power.",
     thermal_power, check_power_thermal, false},
    {165, "Power smoothing worn out",
     "The power smoothing circuit is at the end of its life and off: the supply sees the full "
     "swings.",
     thermal_power, check_power_thermal, false},
    {166, "NVLink encryption error",
     "Confidential computing: traffic ran over an NVLink before its encryption was set up.", link,
     follow_recovery_action, true},
    {167, "PCIe fatal timeout",
     "A transfer over PCIe did not finish in time and the GPU cannot recover by itself.", link,
     reboot, true},
    {168, "Reduced GPU memory capacity",
     "With ECC off, bad memory lies in the firmware's region: enable ECC so that rows can be "
     "remapped.",
     memory, reset_gpu, false},
    {169, "Security engine halted (SEC2)", "The micro-controller of the SEC2 engine has stopped.",
     firmware, reset_gpu, true},
    {170, "NVLink security error",
     "Confidential computing: an NVLink raised a security interrupt other than Xid 166.", link,
     follow_recovery_action, false},
    {171, "Uncorrectable DRAM error",
     "Tells that the uncorrectable error of Xid 48 was in DRAM, the GPU's main memory.", memory,
     reset_gpu, true},
    {172, "Uncorrectable SRAM error",
     "Tells that the uncorrectable error of Xid 48 was in SRAM inside the GPU (caches, registers).",
     memory, reset_gpu, true},
    {173, "C2C link failed", "The chip-to-chip link to the CPU has failed for good.", link, reboot,
     true},
    {174, "Process stopped silently",
     "The driver stopped a process and reset its channel without further messages.", application,
     restart_app, false},
    {175, "Memory subsystem hangs",
     "The GPU's system processor timed out because the memory subsystem no longer answers.", memory,
     reset_gpu, true},
    {176, "PCIe correctable errors", "The PCIe link reported a fault of correctable errors.", link,
     check_hardware, false},
    {177, "Bank remap recorded",
     "A bad memory bank was marked for replacement; the repair takes effect at the next reset.",
     memory, reset_gpu, false},
    {185, "Sparing event", "The state of the GPU's spare resources changed (drivers from R620 on).",
     hardware, follow_recovery_action, false},
};

static_assert(std::ranges::is_sorted(kXids, std::ranges::less_equal{}, &XidEntry::code),
              "Xids are ascending and unique");

}  // namespace

std::span<const XidEntry> xid_table() { return kXids; }

const XidEntry* find_xid(int code) {
  const auto* found = std::ranges::lower_bound(kXids, code, {}, &XidEntry::code);
  return found != std::ranges::end(kXids) && found->code == code ? found : nullptr;
}

std::string_view to_string(XidClass klass) { return name_of(klass); }

std::string_view describe(XidAction action) {
  switch (action) {
    case none:
      return "nothing to do";
    case watch:
      return "nothing for a single one; if this comes again, update the driver, then contact the "
             "vendor with the output of nvidia-bug-report.sh";
    case restart_app:
      return "restart the application; if this comes again, look for the fault in it "
             "(compute-sanitizer finds bad accesses of CUDA programs), and update the driver";
    case reset_gpu:
      return "stop what uses the GPU and reset it (nvidia-smi --gpu-reset -i ADDRESS), or reboot "
             "where that is refused; if this comes again, update the driver, then contact the "
             "vendor";
    case reboot:
      return "reboot the machine (in a virtual machine: restart the guest), with a power cycle if "
             "that does not help";
    case check_hardware:
      return "run diagnostics (dcgmi diag -r 3 where DCGM supports the GPU, or the vendor's), and "
             "check the board's connectors, cables and seating";
    case contact_vendor:
      return "contact the vendor, with the output of nvidia-bug-report.sh";
    case update_software:
      return "install a newer driver and firmware, and report the fault if it comes again";
    case check_power_thermal:
      return "check the power cables and the supply, the fans and the airflow";
    case check_link:
      return "reset the GPU; if this comes again, check the link and the device at its other end "
             "(nvidia-smi nvlink --status, the seating of board and bridge)";
    case follow_recovery_action:
      return "do what the driver asks for: the text of Xid 154, or the GPU Recovery Action that "
             "nvidia-smi -q shows; where it asks for nothing, watch whether this comes again";
    case follow_other_xid:
      return "act on the Xid that came before it; without one, restart Fabric Manager where there "
             "are NVSwitches";
  }
  return "unknown";
}

Action action_of(const XidEntry& entry) {
  switch (entry.action) {
    case none:
      return Action::none;
    case reset_gpu:
    case check_link:
      return Action::reset_gpu;
    case reboot:
      return Action::reboot;
    case update_software:
      return Action::configure;
    case check_hardware:
    case contact_vendor:
      return entry.klass == unused ? Action::check_again : Action::replace;
    default:
      return Action::check_again;
  }
}

bool is_nonfatal(std::string_view line) {
  const auto nonfatal = line.rfind("Nonfatal"), fatal = line.rfind(" Fatal");
  return nonfatal != line.npos && (fatal == line.npos || fatal < nonfatal);
}

bool needs_no_recovery(std::string_view line) {
  const auto none = line.rfind("(None)"), to = line.rfind(" to ");
  return none != line.npos && to < none;
}

Severity xid_severity(int code, std::string_view line) {
  const auto* entry = find_xid(code);
  if (!entry) return Severity::warning;
  if (entry->code == 154) return needs_no_recovery(line) ? Severity::info : Severity::error;
  if (entry->code >= 144 && entry->code <= 150) {
    if (is_nonfatal(line)) return Severity::warning;
    if (contains(line, " Fatal")) return Severity::error;
  }
  if (entry->klass == XidClass::application || entry->klass == XidClass::informational)
    return Severity::info;
  if (entry->action == XidAction::none) return Severity::info;
  return entry->fatal ? Severity::error : Severity::warning;
}

}  // namespace gpuready
