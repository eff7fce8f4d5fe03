// What `vm doctor` finds in a recording, it finds in the redacted one.
#include "host/recording/recording.h"
#include "machine/redaction.h"
#include "unit/forged_log.h"
#include "vm/diagnose/host.h"
#include "vm/operations.h"
#include "vm/readiness.h"

namespace gpuready::vm {
namespace {

Json found(Host& host) {
  const auto machine = inspect(host, {.full = true, .kernel_log = true});
  const auto state = read_state(host, kJournalFolder, {.all = false, .named = {}});
  if (!state) return nullptr;
  auto devices = passable_ones(state->inventory);
  const auto settings = read_host_settings(host, *state, devices);
  Json out = Json::array();
  for (const auto& finding : diagnose_host({machine, *state, std::move(devices), settings})) {
    out.push_back({{"id", finding.id}, {"severity", to_string(finding.severity)}});
    for (const auto& address : finding.pci) out.back()["pci"].push_back(address.text());
  }
  return out;
}

TEST(RedactedHost, HasTheFindingsOfTheOriginal) {
  std::size_t findings = 0;
  for (const auto& [name, script] : test::walked(test::machines())) {
    const auto machine = make_recorded_host(script);
    Recording recording;
    const auto before = found(*make_recording_host(*machine, recording));
    findings += before.size();
    EXPECT_EQ(found(*make_recorded_host(redact(recording, redaction_rules()))), before) << name;
  }
  EXPECT_GT(findings, test::least_walked(300));
}

}  // namespace
}  // namespace gpuready::vm
