// Reports from files, folders and streams. What cannot be read costs only itself.
#pragma once

#include <string>
#include <vector>

#include "base/nodes/document_stream.h"
#include "fleet/node_report.h"
#include "host/host.h"

namespace gpuready::fleet {

// Takes parts of streams of reports, and parses many at once on all CPUs.
class ReportReader {
 public:
  void take(StreamPart part, const std::string& source);
  void note(std::string fault);
  void finish();  // parses what is left
  std::size_t taken() const { return taken_; }

  std::vector<NodeReport> reports;  // in the order of take()
  std::vector<std::string> faults;

 private:
  struct Waiting {
    std::string text, source, node, fault;
  };
  std::vector<Waiting> waiting_;
  std::size_t waiting_bytes_ = 0, taken_ = 0;
};

// A file with any number of reports, or a folder: all *.json files in it and below.
Result<void> read_reports(Host& host, const std::string& path, ReportReader& reader);
// Of `source`: what `next` gives until it gives nothing.
Result<void> read_stream(const std::function<Result<std::string_view>()>& next,
                         const std::string& source, ReportReader& reader);

}  // namespace gpuready::fleet
