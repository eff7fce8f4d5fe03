#include "host/probe_children.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "jobs/helper.h"

namespace gpuready {
namespace {

// The most that one probe may say: 8 GPUs with every field are some hundred KiB.
constexpr std::size_t kDocumentMaxBytes = 64u << 20;

std::string first_line(std::string_view text) {
  const auto all = lines(trim(text));
  return all.empty() ? std::string() : printable(all[0].substr(0, 400));
}

Job job_for(const ProbeRequest& request) {
  Job job = helper_job({"__probe", request.probe});
  job.args.insert(job.args.end(), request.args.begin(), request.args.end());
  if (request.again) job.args.emplace_back(kProbeAgain);
  job.limits.time = request.timeout;
  job.output_limit_bytes = kDocumentMaxBytes;
  return job;
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

ProbeDocument probe_document_of(const JobOutcome& result, std::string_view probe) {
  ProbeDocument document = probe_document_from_lines(result.channel, probe);
  // One that told its end has told all, even when a library's exit handler then hung or crashed.
  if (document.outcome == ProbeOutcome::completed || document.outcome == ProbeOutcome::no_library)
    return document;
  switch (result.end) {
    case JobEnd::timed_out:
    case JobEnd::silent:
    case JobEnd::cancelled:
      document.outcome = ProbeOutcome::timed_out;
      break;
    case JobEnd::hung:
      document.outcome = ProbeOutcome::hung;
      break;
    case JobEnd::signalled:
    case JobEnd::too_much_output:
      document.outcome = ProbeOutcome::crashed;
      document.signal = result.signal;
      break;
    case JobEnd::exited:
      // Without a single line the helper never ran as a probe: a loader error, or another program.
      document.outcome =
          result.channel.empty() ? ProbeOutcome::failed_to_start : ProbeOutcome::crashed;
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

std::vector<ProbeChildren::Child>::iterator ProbeChildren::find(const ProbeRequest& request) {
  return std::ranges::find_if(waiting_, [&](const Child& child) {
    return child.request.probe == request.probe && child.request.args == request.args &&
           child.request.again == request.again;
  });
}

void ProbeChildren::start(const ProbeRequest& request) {
  if (request.again && find(request) != waiting_.end()) return;
  waiting_.push_back({request, RunningJob::start(job_for(request))});
}

ProbeChildren::Child ProbeChildren::take(const ProbeRequest& request) {
  auto found = find(request);
  if (request.again && found != waiting_.end() && found->job &&
      !found->job->resume({.time = request.timeout})) {
    waiting_.erase(found);
    found = waiting_.end();
  }
  if (found == waiting_.end()) {
    start(request);
    found = std::prev(waiting_.end());
  }
  Child child = std::move(*found);
  waiting_.erase(found);
  if (request.again && child.job) {
    child.job->text(kChannel).clear();
    child.job->send("\n");
  }
  return child;
}

std::vector<ProbeDocument> ProbeChildren::ask(const std::vector<ProbeRequest>& requests) {
  std::vector<Child> children;
  for (const auto& request : requests) children.push_back(take(request));
  while (true) {
    std::vector<RunningJob*> running;
    for (Child& child : children) {
      if (!child.job || child.job->finished()) continue;
      if (!told_its_end(child.job->text(kChannel)))
        running.push_back(&*child.job);
      else if (!child.request.again)
        child.job->release();
    }
    if (running.empty()) break;
    poll_jobs(running, Deadline::max());
  }
  std::vector<ProbeDocument> documents;
  for (Child& child : children) {
    documents.push_back(child.job ? probe_document_of(child.job->outcome(), child.request.probe)
                                  : not_started(child.request.probe, child.job.error().message));
    if (child.job && !child.job->finished()) waiting_.push_back(std::move(child));
  }
  return documents;
}

std::vector<ProbeDocument> probe_in_children(const std::vector<ProbeRequest>& requests) {
  return ProbeChildren().ask(requests);
}

}  // namespace gpuready
