// What a hook does about its node: one pure function of what Slurm says of the node, what is wrong
// with its GPUs, and what we did before.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/named.h"
#include "slurm/causes.h"
#include "slurm/node.h"

namespace gpuready::slurm {

// What we did to the node; kept in a file. Only a reason that is here and in Slurm,
// letter for letter, is ours to change.
struct Record {
  std::string node = {};
  // That we set since the node was fit. Several if a cause was added: whether Slurm took the latest
  // is not known if it did not answer. Empty: we resumed the node, or never drained it.
  std::vector<std::string> reasons = {};
  std::vector<std::string> causes = {};  // ids of all that were seen since then, sorted
  std::vector<std::uint32_t> pids = {};  // processes that the job left
  std::optional<Level> needs_test = {};  // before the node is resumed
  std::int64_t drained_unix_seconds = 0;
  std::optional<std::string> boot_id = {};  // of the latest resume
  int resumed_on_sight = 0;                 // in that boot: without a test
};

enum class Act { nothing, drain, resume };

struct Situation {
  Node node = {};
  std::vector<Cause> causes = {};
  bool determined = true;  // no cause means that nothing is wrong
  StatusReport kept = {};
  std::optional<Record> record = {};
  std::int64_t looked_unix_seconds = 0;  // when the look began
  std::optional<std::string> boot_id = {};
  bool may_resume = false;  // only the health check resumes
  bool adopt = false;       // a drain of ours whose record is lost
  // The causes are those of a recording. A rehearsal drains and resumes, but touches no other
  // drain.
  bool rehearses = false;
};

struct Decision {
  Act act = Act::nothing;
  std::string reason = {};  // of a drain
  std::string why = {};     // a sentence
};
Decision decide(const Situation& situation);

// Whether decide() needs to ask Slurm: a node that is healthy and that we did not drain needs no
// request, so a fleet of them costs the controller nothing.
bool must_ask(const std::vector<Cause>& causes, const std::optional<Record>& record, bool adopt);

// The record once `decision` is carried out, `pids` being what the job left. None where there was
// none and nothing is done.
std::optional<Record> record_after(const Situation& situation, const Decision& decision,
                                   std::int64_t now, const std::vector<std::uint32_t>& pids = {});

}  // namespace gpuready::slurm

namespace gpuready {
NAMES_OF(slurm::Act, "nothing", "drain", "resume");
}  // namespace gpuready
