#include "host/probe_children.h"

#include "base/text.h"
#include "jobs/helper.h"
#include "jobs/running_job.h"

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

std::vector<ProbeDocument> probe_in_children(const std::vector<ProbeRequest>& requests) {
  std::vector<Job> jobs;
  for (const auto& request : requests) jobs.push_back(job_for(request));
  PoolOptions options;
  options.on_output = [](std::size_t, RunningJob& job) {
    if (told_its_end(job.text(kChannel))) job.release();
  };
  const auto outcomes = run_jobs(jobs, options);

  std::vector<ProbeDocument> documents;
  for (std::size_t i = 0; i < requests.size(); ++i)
    documents.push_back(outcomes[i] ? probe_document_of(*outcomes[i], requests[i].probe)
                                    : not_started(requests[i].probe, outcomes[i].error().message));
  return documents;
}

}  // namespace gpuready
