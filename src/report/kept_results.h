// What `check` and `test` keep of each GPU for `status`: the latest result that decided, and what
// clears it. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpuready/finding.h"
#include "gpuready/obligation.h"
#include "health/test.h"
#include "report/report.h"

namespace gpuready {

inline constexpr const char* kKeptResultsFile = "/var/lib/gpuready/results.json";
// How long a good result counts if nothing else is asked for: a daily test may start an hour late.
inline constexpr std::int64_t kDefaultValidSeconds = 25 * 3600;

// Of one GPU, or of the machine. The order is that of urgency: `status` reports the last one.
enum class Standing {
  good,
  never_tested,  // no test has decided
  expired,       // good, but too long ago, in an earlier boot, or with another driver
  unknown,       // the latest test gave no answer
  retest,        // bad in an earlier boot or with another driver, and not tested again
  absent,        // the machine lacks what was required
  bad,           // until a test of the level that failed passes
};
NAMES_OF(Standing, "good", "never_tested", "expired", "unknown", "retest", "absent", "bad");

struct KeptResult {
  std::string subject;  // "GPU 3" as numbered then, or "the machine"
  std::optional<std::string> uuid;
  std::optional<PciAddress> pci;
  Standing standing = Standing::never_tested;
  Level level = Level::quick;       // that passed; of a bad GPU the lowest that clears it
  std::vector<std::string> failed;  // tests, all of which must pass to clear it
  double endurance_seconds = 0;     // of the test that failed
  bool hammer = false;  // with repeated access; of a bad GPU: if that memory test failed
  std::int64_t tested_unix_seconds = 0;
  std::optional<std::string> boot_id, driver_version;
  std::string reason;
  std::optional<Action> action;  // the strongest of the findings about it then; absent: not asked
  std::vector<Obligation> obligations;
};

struct KeptResults {
  std::optional<std::string> machine_id;
  std::vector<KeptResult> results;  // the machine last
};

// How much of the tests a run did: `whole` if all tests of its level could use the whole GPU.
struct RunExtent {
  Level level = Level::quick;
  bool whole = true;
  double endurance_seconds = 0;
  bool hammer = false;
};

// The results after this report. A bad GPU becomes good only by a whole run of at least the level,
// length and repeated access that failed, in which every test that failed passes; one that was not
// tested, being in use or asleep, keeps its result, and one that is gone is absent.
KeptResults keep(KeptResults before, const Report& report, const RunExtent& extent);

// The versions of the kernel modules that have one of their own, as kept and compared.
std::optional<std::string> driver_versions(const std::optional<std::string>& nvidia,
                                           const std::optional<std::string>& amdgpu);

// What the results are worth now.
struct Present {
  std::int64_t unix_seconds = 0;
  std::int64_t valid_seconds = 0;
  std::optional<std::string> machine_id, boot_id, driver_version;
};
struct StatusReport {
  Standing standing = Standing::never_tested;
  std::string line;  // at most 80 bytes, printable ASCII
  std::int64_t valid_seconds = 0;
  std::vector<KeptResult> results;  // as they stand now
};
StatusReport status_of(KeptResults kept, const Present& now);

Result<KeptResults> parse_kept_results(std::string_view text, const std::string& name);
std::string kept_results_text(const KeptResults& kept);
std::string render_terminal(const StatusReport& report, const TerminalStyle& style);

}  // namespace gpuready
