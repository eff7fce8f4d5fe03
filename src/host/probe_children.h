// Asking probes: each in a child of its own, all at once.
#pragma once

#include <string>
#include <vector>

#include "host/host.h"

namespace gpuready {

// Starts `gpuready __probe <probe> <args>...` for every request and collects what they say.
std::vector<ProbeDocument> probe_in_children(const std::vector<ProbeRequest>& requests);

// The document of a child that has ended, however it ended.
ProbeDocument probe_document_of(const JobOutcome& result, std::string_view probe);

}  // namespace gpuready
