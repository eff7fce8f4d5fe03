// Reports from files, folders and streams. What cannot be read costs only itself.
#pragma once

#include <string>
#include <vector>

#include "base/nodes/document_stream.h"
#include "fleet/node_report.h"
#include "host/host.h"

namespace gpuready::fleet {

// Takes parts of a stream of reports.
class ReportReader {
 public:
  void take(StreamPart part, const std::string& source);
  void note(std::string fault) { faults.push_back(std::move(fault)); }

  std::vector<NodeReport> reports;
  std::vector<std::string> faults;
};

// A file with any number of reports, or a folder: all *.json files in it and below.
Result<void> read_reports(Host& host, const std::string& path, ReportReader& reader);
// Of `source`: what `next` gives until it gives nothing.
Result<void> read_stream(const std::function<Result<std::string_view>()>& next,
                         const std::string& source, ReportReader& reader);

}  // namespace gpuready::fleet
