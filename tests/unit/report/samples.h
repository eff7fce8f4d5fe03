// Reports that the renderers are tested on. All are synthetic.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "report/report.h"

namespace gpuready::samples {

Report empty();     // nothing is known and nothing was done
Report healthy();   // `check` on two H200s behind NVSwitch
Report eight();     // `check` on eight GPUs in two NUMA nodes: one failed, one slow, one hung
Report no_gpu();    // `check` on a virtual machine: the host was tested, llvmpipe is there
Report desktop();   // `check` on a desktop whose GPU only drives its display
Report faked();     // --fake cuda
Report detect();    // `detect --full` on the eight
Report hostile();   // strings that would break a renderer which does not escape
Report one_gpu();   // `check --level standard` on one H200: six tests, sampled
Report full();      // the same on eight: a wrong SM, a slow one that is hot, pairs without access
Report injected();  // one GPU, with a fault in the tensor test
Report filled();    // every field set, each to a value of its own (filled_test.cc)

// Text that tries HTML, Markdown, Prometheus labels, terminals and bidirectional tricks at once.
inline const std::string kHostile =
    "<script>alert('x')</script> | \"q\" \\ `b` **s** [l](javascript:x)\n# h\x1b[31m\x07\xff "
    "\u202e&amp;";

// Name and report of all of them.
std::vector<std::pair<std::string, Report>> all();

}  // namespace gpuready::samples
