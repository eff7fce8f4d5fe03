#include "filled.h"
#include "samples.h"

namespace gpuready::samples {
namespace {

Evidence filled_evidence() {
  Evidence out;
  out.source = "text 1254";
  out.quote = "text 1255";
  return out;
}

Finding filled_finding() {
  Finding out;
  out.id = "text 1246";
  out.severity = Severity::warning;
  out.title = "text 1247";
  out.explanation = "text 1248";
  out.gpus = {1249};
  out.pci = {PciAddress{1250, 51, 12, 5}};
  out.evidence = {filled_evidence()};
  out.cure = "text 1256";
  out.command = "text 1257";
  return out;
}

Coverage filled_coverage() {
  Coverage out;
  out.tested_bytes = 1264;
  out.free_bytes = 1265;
  out.total_bytes = 1266;
  out.reserved_bytes = 1267;
  return out;
}

Metric filled_metric() {
  Metric out;
  out.name = "text 1268";
  out.value = 1269.5;
  out.unit = "text 1270";
  out.threshold = 1271.5;
  out.threshold_source = "text 1272";
  return out;
}

BadWord filled_bad_word() {
  BadWord out;
  out.offset_bytes = 1274;
  out.expected = 1275;
  out.actual = 1276;
  out.phase = "text 1277";
  out.repeats = true;
  return out;
}

Verdict filled_verdict() {
  Verdict out;
  out.test = "text 1258";
  out.subject = "text 1259";
  out.uuid = "text 1260";
  out.pci_address = "text 1261";
  out.peer_uuid = "text 1286";
  out.executor = "text 1262";
  out.status = VerdictStatus::inconclusive;
  out.reason = "text 1263";
  out.coverage = filled_coverage();
  out.units = UnitCoverage{1287, 1288};
  out.metrics = {filled_metric()};
  out.bad_words_total = 1273;
  out.bad_words = {filled_bad_word()};
  out.mismatches_total = 1289;
  out.mismatches = {{"text 1290", 1291u, 1292, 1293, 1294}};
  out.digests = {{"text 1295", 1296}};
  out.started_ms = 1297.5;
  out.duration_ms = 1278.5;
  out.injected_fault = "bitflip";
  return out;
}

Samples filled_samples() {
  Samples out;
  out.interval_ms = 1298.5;
  out.absent = {"text 1299"};
  SampleSeries& series = out.series.emplace_back();
  series.gpu = 1300;
  series.uuid = "text 1301";
  series.name = "text 1302";
  series.unit = "text 1303";
  series.taken = 1304;
  series.min = 1305.5;
  series.mean = 1306.5;
  series.max = 1307.5;
  series.last = 1308.5;
  series.t_ms = {1309.5};
  series.value = {1310.5};
  out.sampled_xids = {{1311, 1312.5, 1313}};
  return out;
}

}  // namespace

Report filled() {
  Report out;
  out.command = "text 1001";
  out.tool_version = "text 1002";
  out.created_utc = "text 1003";
  out.machine = filled_machine();
  out.findings.emplace();
  out.findings->push_back(filled_finding());
  out.findings->front().explains = {filled_finding()};
  out.verdicts.emplace();
  out.verdicts->push_back(filled_verdict());
  out.samples = filled_samples();
  out.conclusion = "text 1283";
  out.notes = {"text 1284"};
  out.exit = Exit::unknown;
  out.duration_ms = 1285.5;
  return out;
}

}  // namespace gpuready::samples
