// The one truth about what was done to devices. Each operation is a file of JSON lines in one
// folder: the plan, then a line for each step before it is begun, synced before it is carried out.
// What a power cut left is therefore known: every step that a line names may have been done, and no
// other was.
//
//   ID.SEQUENCE.OPERATION.jsonl   "000007.1.attach.jsonl", "000007.2.detach.jsonl"
//   {"plan":{...},"boot_id":"...","vbios":{...}}   the first line
//   {"begin":0}                                    before step 0
//   {"vbios":"0000:17:00.0","sha256":"..."}        what a step found
//   {"unclean":"0000:17:00.0","reason":"..."}      in quarantine
//   {"returned":"0000:17:00.0"}                    back, while others of the claim are not
//   {"end":"done"}                                 or "rolled back"
//
// A file has another ending until its first line is durable, so one without a plan is damaged.
//
// The files of one ID are one claim: the devices that were attached together. They are removed when
// the devices are back, whole and clean.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/named.h"
#include "host/storage.h"
#include "vm/plan.h"

namespace gpuready::vm {

inline constexpr const char* kJournalFolder = "/var/lib/gpuready/vm";

struct Operation {
  std::string file;  // its path
  unsigned id = 0, sequence = 0;
  std::optional<std::string> boot_id;
  Plan plan;
  std::set<std::size_t> begun;  // steps that may have been done
  bool ended = false;           // to the end, or wholly rolled back
  bool rolled_back = false;
  std::map<PciAddress, std::string> vbios;    // SHA-256
  std::map<PciAddress, std::string> unclean;  // why
  std::set<PciAddress> returned;              // by a detach that did not end for all
  bool lost = false;                          // a device in `unclean` is gone (vm/identity.h)
};

// One claim: an attach, and what followed it.
struct Claim {
  unsigned id = 0;
  std::vector<Operation> operations;  // by sequence; the first is the attach
  std::vector<DeviceIdentity> gone;   // no longer in this machine
  std::string problem;  // why a file of it cannot be read; then nothing may be done to its devices

  const Plan& attached() const { return operations.front().plan; }
  const Operation& last() const { return operations.back(); }
  std::map<PciAddress, std::string> quarantine() const;  // devices and why
};

enum class ClaimState {
  attaching,    // the attach was not finished
  attached,     //
  detaching,    // the detach was not finished
  quarantined,  // back, and not clean
  gone,         // nothing remains to be done but to remove its files
  unreadable,
};
ClaimState state_of(const Claim& claim);

// The claims in a folder, by id. A folder that is not there holds none.
Result<std::vector<Claim>> read_journal(Host& host, const std::string& folder);
// One file's text. A last line that is cut short was never acted on, and is passed over.
Result<Operation> parse_operation(std::string_view text, std::string_view name);

// Writes an operation while it is carried out.
class JournalWriter {
 public:
  // A new file, durable with its first line.
  static Result<JournalWriter> begin(Storage& storage, const std::string& folder, unsigned id,
                                     unsigned sequence, const Plan& plan,
                                     const std::optional<std::string>& boot_id);
  Result<void> begin_step(std::size_t index);  // one fsync
  // These reach the disk with the next fsync at the latest.
  Result<void> note_vbios(const PciAddress& device, const std::string& sha256);
  Result<void> note_unclean(const PciAddress& device, const std::string& reason);
  Result<void> note_returned(const PciAddress& device);
  Result<void> end(bool rolled_back);  // one fsync
  const std::string& file() const { return path_; }

 private:
  JournalWriter(std::unique_ptr<Storage::File> file, std::string path)
      : file_(std::move(file)), path_(std::move(path)) {}
  Result<void> line(const Json& doc, bool sync);
  std::unique_ptr<Storage::File> file_;
  std::string path_;
};

// Removes files of operations that never began. For who holds the journal's lock.
Result<void> remove_unnamed(Host& host, Storage& storage, const std::string& folder);
// Removes the claim's files, the attach's first: without it, what remains says that all was ended.
Result<void> remove_claim(Storage& storage, const std::string& folder, const Claim& claim);

}  // namespace gpuready::vm

namespace gpuready {
NAMES_OF(vm::ClaimState, "attaching", "attached", "detaching", "quarantined", "gone", "unreadable");
}  // namespace gpuready
