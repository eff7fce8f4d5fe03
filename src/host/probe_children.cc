#include "host/probe_children.h"

#include "base/text.h"

namespace gpuready {
namespace {

// The most that one probe may say: 8 GPUs with every field are some hundred KiB.
constexpr std::size_t kDocumentMaxBytes = 64u << 20;

std::string first_line(std::string_view text) {
  const auto all = lines(trim(text));
  return all.empty() ? std::string() : printable(all[0].substr(0, 400));
}

Command command_for(const ProbeRequest& request, const std::string& helper) {
  Command command;
  command.program = helper;
  command.args = {"__probe", request.probe};
  command.args.insert(command.args.end(), request.args.begin(), request.args.end());
  command.timeout = request.timeout;
  command.output_limit_bytes = kDocumentMaxBytes;
  command.document_pipe = true;
  return command;
}

ProbeDocument not_started(std::string_view probe, std::string reason) {
  ProbeDocument document;
  document.probe = probe;
  document.outcome = ProbeOutcome::failed_to_start;
  document.library_error = std::move(reason);
  return document;
}

// The last line on the wire is {"end":true}; what comes after it is a library's exit.
bool told_its_end(std::string_view document) {
  constexpr std::string_view kEnd = "{\"end\":true}\n";
  return document.ends_with(kEnd);
}

}  // namespace

ProbeDocument probe_document_of(const ProcessResult& result, std::string_view probe) {
  ProbeDocument document = probe_document_from_lines(result.document, probe);
  // One that told its end has told all, even when a library's exit handler then hung or crashed.
  if (document.outcome == ProbeOutcome::completed || document.outcome == ProbeOutcome::no_library)
    return document;
  switch (result.end) {
    case ProcessEnd::timed_out:
      document.outcome = ProbeOutcome::timed_out;
      break;
    case ProcessEnd::hung:
      document.outcome = ProbeOutcome::hung;
      break;
    case ProcessEnd::signalled:
      document.outcome = ProbeOutcome::crashed;
      document.signal = result.signal;
      break;
    case ProcessEnd::exited:
      // Without a single line the helper never ran as a probe: a loader error, or another program.
      document.outcome =
          result.document.empty() ? ProbeOutcome::failed_to_start : ProbeOutcome::crashed;
      if (document.library_error.empty()) {
        document.library_error =
            "the probe exited with " + std::to_string(result.exit_code) + " before its end";
        if (const auto line = first_line(result.err); !line.empty())
          document.library_error += ": " + line;
      }
      break;
  }
  return document;
}

std::vector<ProbeDocument> probe_in_children(const std::vector<ProbeRequest>& requests,
                                             const std::string& helper) {
  std::vector<Result<Child>> children;
  children.reserve(requests.size());
  for (const auto& request : requests)
    children.push_back(Child::start(command_for(request, helper)));

  std::vector<Child*> running;
  for (auto& child : children)
    if (child) running.push_back(&*child);
  while (!running.empty()) {
    poll_children(running, deadline_in(std::chrono::hours(1)));
    for (Child* child : running)
      if (told_its_end(child->document())) child->let_go();
    std::erase_if(running, [](const Child* child) { return child->finished(); });
  }

  std::vector<ProbeDocument> documents;
  documents.reserve(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i)
    documents.push_back(children[i] ? probe_document_of(children[i]->result(), requests[i].probe)
                                    : not_started(requests[i].probe, children[i].error().message));
  return documents;
}

}  // namespace gpuready
