#include "slurm/settle.h"

#include <fmt/format.h>

#include <ctime>

#include "base/clock.h"
#include "host/atomic_file.h"
#include "host/lock_wait.h"
#include "slurm/record_file.h"

namespace gpuready::slurm {
namespace {

constexpr std::uint32_t kMode = 0644;

// Asks Slurm, decides, and carries it out. An error is one of Slurm.
Result<void> ask_and_do(Host& host, Storage& storage, const SettleOptions& options, Situation& s,
                        Settlement& settled) {
  Slurm slurm = options.slurm;
  if (slurm.scontrol.empty()) slurm.scontrol = TRY(find_scontrol(host));
  settled.was = s.node = TRY(show_node(host, slurm, options.node));
  settled.decision = decide(s);
  if (!options.done) return {};
  const auto after = record_after(s, settled.decision, std::time(nullptr), options.left);
  const auto write = [&] {
    if (!after || (s.record && record_text(*after) == record_text(*s.record))) return;
    if (const auto written = write_file_atomically(options.record_path, record_text(*after),
                                                   {.mode = kMode}, storage);
        !written)
      settled.complaints.push_back(fmt::format("{}; without it this node is not resumed by itself",
                                               written.error().message));
  };
  // A drain is written down first: without the record it would be a stranger's. A resume only
  // when it is done.
  if (settled.decision.act != Act::resume) write();
  if (settled.decision.act == Act::drain)
    TRY(drain_node(host, slurm, options.node, settled.decision.reason));
  if (settled.decision.act == Act::resume) {
    TRY(resume_node(host, slurm, options.node));
    write();
  }
  return {};
}

}  // namespace

bool carries_out(bool dry_run, bool replays, bool rehearses) {
  return !dry_run && (!replays || rehearses);
}

Settlement settle(Host& host, Storage& storage, const SettleOptions& options, Situation s) {
  Settlement settled;
  std::unique_ptr<Storage::Lock> lock;
  if (options.done) {
    const auto deadline = deadline_in(options.lock_patience);
    auto held = lock_when_free([&] { return storage.lock(options.record_path + ".lock"); },
                               [&] { return Clock::now() < deadline; });
    if (held) {
      lock = *std::move(held);
    } else if (held.error().kind == ErrorKind::busy) {
      settled.slurm_error = held.error().message;
      return settled;
    }  // a folder that is missing costs the record only
  }
  auto record = read_record(host, options.record_path);
  if (!record) settled.complaints.push_back(record.error().message);
  s.record = std::move(record).value_or(std::nullopt);
  if (!must_ask(s.causes, s.record, s.adopt))
    settled.decision.why = s.determined ? "nothing is wrong" : "nothing is known to be wrong";
  else if (const auto asked = ask_and_do(host, storage, options, s, settled); !asked)
    settled.slurm_error = asked.error().message;
  return settled;
}

}  // namespace gpuready::slurm
