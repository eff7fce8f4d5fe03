// Asking probes: each in a child of its own, all at once.
#pragma once

#include <string>
#include <vector>

#include "host/host.h"
#include "jobs/running_job.h"

namespace gpuready {

// Runs `gpuready __probe <probe> <args>...` for each request.
class ProbeChildren {
 public:
  void start(const ProbeRequest& request);
  // What they say, those that were started for the same question before included; one document per
  // request, in the same order.
  std::vector<ProbeDocument> ask(const std::vector<ProbeRequest>& requests);

 private:
  struct Child {
    ProbeRequest request;
    Result<RunningJob> job;
  };
  std::vector<Child>::iterator find(const ProbeRequest& request);
  Child take(const ProbeRequest& request);
  std::vector<Child> waiting_;  // not asked yet, or to be asked again
};

std::vector<ProbeDocument> probe_in_children(const std::vector<ProbeRequest>& requests);

// The document of a child that has ended, however it ended.
ProbeDocument probe_document_of(const JobOutcome& result, std::string_view probe);

}  // namespace gpuready
