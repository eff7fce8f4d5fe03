// Parts of samples::filled(): every field of every struct set, each to a value of its own, so that
// a field that a document lacks, or that two keys share, is found out.
#pragma once

#include "report/report.h"

namespace gpuready::samples {

Gpu filled_gpu();                 // filled_gpu_test.cc
PcieLink filled_pcie_link();      // filled_gpu_test.cc
PcieErrors filled_pcie_errors();  // filled_gpu_test.cc
ApiStatus filled_api_status();    // filled_gpu_test.cc
Machine filled_machine();         // filled_machine_test.cc

}  // namespace gpuready::samples
