// PCI Express errors as the kernel's Advanced Error Reporting logs them: drivers/pci/pcie/aer.c,
// err.c and dpc.c of Linux 4.x to 6.18, and drivers/firmware/efi/cper.c where the firmware reads
// them first. The words changed: "Corrected" is "Correctable" and "Uncorrected" is "Uncorrectable"
// since 6.8; "error received: id=6100", before 5.0, is "error received: 0000:61:00.0", since 6.8
// "error message received from 0000:61:00.0".
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "doctor/facts.h"

namespace gpuready::doctor {

enum class Gravity { corrected, nonfatal, fatal };

struct LinkErrors {
  std::size_t details = 0, reports = 0;  // lines for each error; the ports' own reports of them
  std::optional<double> first, last;     // seconds since boot
  std::vector<Evidence> quotes;
  bool again = false;          // the log has more than one
  bool counted_alone = false;  // no line reports them, the kernel's counters do
  std::size_t count() const { return std::max(details, reports); }
};

// By where the error was seen, and how grave it is.
using LinkErrorsByPlace = std::map<std::pair<PciAddress, Gravity>, LinkErrors>;
LinkErrorsByPlace logged_link_errors(const Machine& machine);

// The device whose access the IOMMU refused.
// "DMAR: [DMA Read NO_PASID] Request device [17:00.0] fault addr ...", which leaves out the domain;
// "AMD-Vi: Event logged [IO_PAGE_FAULT device=0000:17:00.0 ...", or with the driver's name in
// front; "arm-smmu-v3 arm-smmu-v3.1.auto: event: F_TRANSLATION client: 0000:17:00.0 sid: ...".
std::optional<PciAddress> refused_by_iommu(std::string_view text);

}  // namespace gpuready::doctor
