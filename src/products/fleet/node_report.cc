#include "fleet/node_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/clock.h"
#include "base/nodes/hostlist.h"
#include "base/text.h"
#include "fleet/node_facts.h"
#include "health/siblings.h"
#include "report/fields.h"
#include "value/about.h"
#include "value/json.h"
#include "value/read_fields.h"

namespace gpuready::fleet {
namespace {

// What a fleet is not judged by, which is most of a report's bytes.
constexpr std::string_view kLeftOut[] = {
    "samples",    "evidence",  "lines",     "xids",       "nodes",   "vulkan",
    "paths",      "toolkits",  "libraries", "mismatches", "digests", "bad_words",
    "timings_ms", "processes", "ports",     "explains",   "unseen"};
constexpr std::size_t kMostName = 253, kMostCauses = 64;

std::string short_text(std::string_view text, std::size_t most = kMostText) {
  std::string out = one_line(text.substr(0, 4 * most));
  return out.size() <= most ? out : cut(out, most);
}

std::string host_of(std::string_view name) { return short_text(short_host_name(name), kMostName); }

// An array, which may be absent.
Result<const Json*> list_of(const Json& doc, const char* key, const std::string& source) {
  const Json& list = member(doc, key);
  if (!list.is_null() && !list.is_array())
    return fail(ErrorKind::bad_input, fmt::format("{}: {} is not a list", source, key));
  return &list;
}

std::unexpected<Error> contradiction(const std::string& source, std::string_view what) {
  return fail(ErrorKind::bad_input, fmt::format("{} contradicts itself: {}", source, what));
}

// What `verdicts` must say of a GPU that the report calls ready.
bool is_proven(const std::vector<Verdict>& verdicts, const Gpu& gpu) {
  bool any_passed = false;
  for (const Verdict& verdict : verdicts) {
    if (!is_about(verdict, gpu)) continue;
    if (verdict.status == VerdictStatus::passed)
      any_passed = true;
    else if (verdict.status != VerdictStatus::not_supported)
      return false;
  }
  return any_passed;
}

Result<void> read_gpus(const Json& doc, const std::string& source, const Machine& machine,
                       const std::vector<Verdict>& verdicts, NodeReport& out) {
  const Json& list = *TRY(list_of(doc, "gpu_status", source));
  if (list.size() != machine.gpus.size())
    return contradiction(source, fmt::format("gpu_status has {}, and the machine {}",
                                             counted(list.size(), "GPU"), machine.gpus.size()));
  std::set<std::int64_t> seen;
  std::optional<GpuState> worst;
  for (const Json& item : list) {
    const auto name = get_string(item, "status").value_or("");
    const auto state = named<GpuState>(name);
    if (!state)
      return fail(ErrorKind::bad_input, fmt::format("{}: the status \"{}\" of a GPU is not known",
                                                    source, short_text(name, 40)));
    const auto index = get_int(item, "index").value_or(-1);
    const auto gpu = std::ranges::find(machine.gpus, index, &Gpu::index);
    if (gpu == machine.gpus.end() || !seen.insert(index).second)
      return contradiction(source, fmt::format("GPU {} of gpu_status is not one of the machine's, "
                                               "or is there twice",
                                               index));
    if (is_ready(*state) && !is_proven(verdicts, *gpu))
      return contradiction(source,
                           fmt::format("GPU {} is ready, and no test of it says so", index));
    if (is_ready(*state) || *state == GpuState::display_only) continue;
    const bool only_seen = *state == GpuState::no_problem || *state == GpuState::found;
    if (only_seen && verdicts.empty()) continue;  // as all others
    if (worst && (tone_of(*worst) == Tone::bad || tone_of(*state) != Tone::bad)) continue;
    worst = state;
    out.bad_gpu = tone_of(*state) == Tone::bad;
    out.gpu_reason = only_seen ? fmt::format("GPU {} was not tested", index)
                               : fmt::format("GPU {} is {}", index, to_text(*state));
    if (const auto reason = get_string(item, "reason"); reason && !reason->empty())
      out.gpu_reason += ": " + short_text(*reason);
  }
  return {};
}

Result<void> read_causes(const Json& doc, const std::string& name, std::size_t gpus,
                         NodeReport& out) {
  for (const Json& item : *TRY(list_of(doc, "findings", name))) {
    const Finding finding = TRY(value_from_json<Finding>(item, name));
    out.action = std::max(out.action, finding.action);
    if (finding.severity == Severity::info) continue;
    const bool some = !finding.gpus.empty() && finding.gpus.size() < gpus;
    out.causes.push_back(
        {.id = short_text(finding.id, 40),
         .title = short_text(finding.title),
         .cure = short_text(finding.cure.value_or("")),
         .severity = finding.severity,
         .action = finding.action,
         .gpus = finding.gpus.size(),
         .place = some ? short_text(fmt::format("GPU {}: ", fmt::join(finding.gpus, ", "))) : ""});
  }
  std::ranges::stable_sort(out.causes, std::greater(), &NodeCause::severity);
  if (out.causes.size() > kMostCauses) out.causes.resize(kMostCauses);
  return {};
}

Result<std::vector<Verdict>> read_verdicts(const Json& doc, const std::string& source) {
  std::vector<Verdict> verdicts;
  for (const Json& item : *TRY(list_of(doc, "verdicts", source))) {
    verdicts.push_back(TRY(value_from_json<Verdict>(item, source)));
    const Verdict& one = verdicts.back();
    if (one.status != VerdictStatus::passed) continue;
    if (one.bad_words_total + one.mismatches_total > 0)
      return contradiction(source, "a test passed with wrong results");
    for (const Metric& metric : one.metrics)
      if (is_comparable(one, metric) && metric.value <= 0)
        return contradiction(source, "a test passed, and its rate is not positive");
  }
  return verdicts;
}

void take_verdicts(const std::vector<Verdict>& verdicts, const Machine& machine, NodeReport& out) {
  std::map<std::string, NodeCause> failed;
  for (const Verdict& verdict : verdicts) {
    out.tested |=
        verdict.status == VerdictStatus::passed || verdict.status == VerdictStatus::failed;
    if (verdict.status == VerdictStatus::failed) {
      NodeCause& cause = failed[verdict.test];
      cause.id = short_text("test-" + verdict.test, 40);
      if (cause.title.empty())
        cause.title = short_text(
            fmt::format("{} test, {}: {}", verdict.test, verdict.subject, verdict.reason));
      cause.gpus += verdict.uuid ? 1 : 0;
      cause.action = Action::check_again;
    }
    const Gpu* gpu = verdict.uuid && !verdict.peer_uuid && verdict.status == VerdictStatus::passed
                         ? machine.find_gpu_by_uuid(*verdict.uuid)
                         : nullptr;
    if (gpu == nullptr) continue;
    for (const Metric& metric : verdict.metrics)
      if (is_comparable(verdict, metric))
        out.rates.push_back(
            {.name = short_text(verdict.test + ": " + metric_title(metric.name), 80),
             .unit = short_text(metric.unit, 16),
             .gpu = gpu->index,
             .value = metric.value});
  }
  for (auto& [test, cause] : failed) out.causes.push_back(std::move(cause));
}

}  // namespace

Result<NodeReport> parse_node_report(std::string_view text, const std::string& source,
                                     const std::string& label) {
  const Json doc = TRY(parse_json(text, source, kMostReportBytes, kLeftOut));
  if (!value::is_document(doc, kForm<Report>))
    return fail(
        ErrorKind::bad_input,
        fmt::format("{}: {} is not a report: take the JSON of check, test, doctor or detect",
                    source,
                    short_text(get_string(doc, "schema").value_or("a text without schema"), 80)));
  const Envelope envelope = TRY(value::read_document<Envelope>(doc, source));
  // Another version may word it in another way, but not as the meaning of another code.
  const auto meaning = get_string(doc, "exit_meaning").value_or("");
  if (envelope.exit == Exit::ok && named<Exit>(meaning).value_or(Exit::ok) != Exit::ok)
    return contradiction(source, fmt::format("exit code 0, and its meaning is \"{}\"", meaning));
  const Machine machine = TRY(value_from_json<Machine>(member(doc, "machine"), source));
  const std::string_view unreal = machine.source != "live" ? "recording (--replay)"
                                  : !machine.fakes.empty() ? "machine with faked GPUs"
                                  : !machine.named_libraries.empty()
                                      ? "driver library that was named"
                                  : doc.contains("injected_faults") ? "test with an injected fault"
                                                                    : "";
  if (!unreal.empty())
    return fail(ErrorKind::bad_input,
                fmt::format("{} does not describe a real machine: it is of a {}", source, unreal));
  NodeReport out;
  out.claimed = host_of(machine.system.host_name);
  out.machine_id = envelope.machine_id.value_or("");
  out.tool_version = short_text(get_string(member(doc, "tool"), "version").value_or(""), 40);
  out.conclusion = short_text(envelope.conclusion.value_or(""));
  out.exit = envelope.exit;
  out.product = short_text(machine.system.product_name.value_or(""), 80);
  out.name = label.empty() ? out.claimed : host_of(label);
  if (out.name.empty())
    return fail(ErrorKind::bad_input, source + " does not say which node it is of");
  const auto created = parse_utc(envelope.created_utc);
  if (!created) return fail(ErrorKind::bad_input, source + ": created_utc is not a time");
  out.created_unix_seconds = *created;
  constexpr double kDay = 86400;
  out.duration_seconds =
      static_cast<std::int64_t>(std::clamp(envelope.duration_ms / 1000, 0.0, kDay));
  for (const Gpu& gpu : machine.gpus)
    if (gpu.uuid) out.gpu_ids.push_back(short_text(*gpu.uuid, 80));
  std::ranges::sort(out.gpu_ids);
  if (std::ranges::adjacent_find(out.gpu_ids) != out.gpu_ids.end())
    return contradiction(source, "two GPUs have the same UUID");
  const auto verdicts = TRY(read_verdicts(doc, source));
  TRY(read_gpus(doc, source, machine, verdicts, out));
  TRY(read_causes(doc, source, machine.gpus.size(), out));
  take_verdicts(verdicts, machine, out);
  read_facts(machine, out);
  return out;
}

}  // namespace gpuready::fleet
