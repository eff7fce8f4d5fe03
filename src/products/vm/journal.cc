#include "vm/journal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "value/read_fields.h"
#include "value/write_fields.h"
#include "vm/known_steps.h"
#include "vm/plan_fields.h"

namespace gpuready::vm {
namespace {

constexpr std::string_view kEnding = ".jsonl";
constexpr std::string_view kUnnamed = ".new";
constexpr std::string_view kDone = "done", kRolledBack = "rolled back";
constexpr std::size_t kMostBytes = 16u << 20;
constexpr std::uint32_t kPrivate = 0600;

struct FileName {
  unsigned id = 0, sequence = 0;
};
std::optional<FileName> parse_name(std::string_view name) {
  if (!name.ends_with(kEnding)) return std::nullopt;
  const auto parts = split(name, ".");
  if (parts.size() != 4) return std::nullopt;
  const auto id = parse_uint(parts[0]), sequence = parse_uint(parts[1]);
  if (!id || !sequence || *id > UINT32_MAX || *sequence > UINT32_MAX) return std::nullopt;
  return FileName{static_cast<unsigned>(*id), static_cast<unsigned>(*sequence)};
}

Result<void> read_line(const Json& doc, std::string_view name, Operation& out) {
  if (const auto& plan = member(doc, "plan"); !plan.is_null()) {
    out.plan = TRY(value::read_document<Plan>(plan, name));
    if (const auto& boot = member(doc, "boot_id"); boot.is_string())
      out.boot_id = boot.get<std::string>();
  }
  if (const auto& begin = member(doc, "begin"); begin.is_number_unsigned())
    out.begun.insert(begin.get<std::size_t>());
  const auto text = [&](const char* key) {
    const auto& found = member(doc, key);
    return found.is_string() ? std::optional(found.get<std::string>()) : std::nullopt;
  };
  const auto address = [&](const char* key) {
    const auto found = text(key);
    return found ? parse_pci_address(*found) : std::nullopt;
  };
  if (const auto device = address("vbios")) out.vbios[*device] = text("sha256").value_or("");
  if (const auto device = address("unclean")) out.unclean[*device] = text("reason").value_or("");
  if (const auto device = address("returned")) out.returned.insert(*device);
  if (const auto end = text("end")) {
    out.ended = true;
    out.rolled_back = *end == kRolledBack;
  }
  return {};
}

}  // namespace

std::map<PciAddress, std::string> Claim::quarantine() const {
  return state_of(*this) == ClaimState::quarantined ? last().unclean
                                                    : std::map<PciAddress, std::string>{};
}

ClaimState state_of(const Claim& claim) {
  if (!claim.problem.empty() || claim.operations.empty()) return ClaimState::unreadable;
  const Operation* last = &claim.last();
  // A detach that was taken back leaves what was before it.
  for (std::size_t i = claim.operations.size(); i-- > 0;) {
    last = &claim.operations[i];
    if (!last->rolled_back || last->plan.operation != "detach") break;
  }
  if (last->plan.operation == "attach") {
    if (!last->ended) return ClaimState::attaching;
    return last->rolled_back ? ClaimState::gone : ClaimState::attached;
  }
  if (!last->ended) return ClaimState::detaching;
  return last->unclean.empty() && !last->lost ? ClaimState::gone : ClaimState::quarantined;
}

Result<Operation> parse_operation(std::string_view text, std::string_view name) {
  Operation out;
  bool first = true;
  while (!text.empty()) {
    const auto end = text.find('\n');
    if (end == text.npos) break;  // cut short
    const Json doc = Json::parse(text.substr(0, end), nullptr, false);
    text.remove_prefix(end + 1);
    // Blocks of a file may reach the disk in any order: what follows a torn line was never synced.
    if (!doc.is_object() && !first) break;
    if (first && member(doc, "plan").is_null())
      return fail(ErrorKind::bad_input, printable(name) +
                                            ": not an operation's journal. See that its devices "
                                            "are as they should be, then remove the file");
    TRY(read_line(doc, name, out));
    first = false;
  }
  if (first)
    return fail(ErrorKind::truncated,
                printable(name) +
                    ": empty, or its first line is damaged. See that its devices are "
                    "as they should be, then remove the file");
  return out;
}

namespace {

Result<Operation> read_operation(Host& host, const std::string& path) {
  auto operation = TRY(parse_operation(TRY(host.read_own_file(path, kMostBytes)), path));
  if (const auto known = check_known_steps(operation.plan); !known)
    return fail(ErrorKind::bad_input,
                fmt::format("{}: {}. Nothing of it is carried out. See that its devices are as "
                            "they should be, then remove the file",
                            printable(path), known.error().message));
  return operation;
}

}  // namespace

Result<std::vector<Claim>> read_journal(Host& host, const std::string& folder) {
  std::vector<Claim> claims;
  const auto names = host.list_directory(folder);
  if (!names) {
    if (names.error().kind == ErrorKind::not_found || names.error().kind == ErrorKind::not_recorded)
      return claims;
    return std::unexpected(names.error());
  }
  if (const auto own = host.check_own(folder + "/"); !own)
    return fail(ErrorKind::bad_input, "the journal of what is attached: " + own.error().message,
                own.error().code);
  std::map<unsigned, Claim> by_id;
  for (const auto& name : *names) {
    const auto parsed = parse_name(name);
    if (!parsed) continue;
    auto& claim = by_id[parsed->id];
    claim.id = parsed->id;
    const std::string path = folder + "/" + name;
    auto operation = read_operation(host, path);
    if (!operation) {
      claim.problem = operation.error().message;
      continue;
    }
    operation->file = path;
    operation->id = parsed->id;
    operation->sequence = parsed->sequence;
    claim.operations.push_back(std::move(*operation));
  }
  for (auto& [id, claim] : by_id) {
    std::ranges::sort(claim.operations, {}, &Operation::sequence);
    // Files are removed from the first on, so one that ended may be the last to go.
    if (claim.problem.empty() && claim.operations.front().plan.operation != "attach" &&
        !claim.last().ended)
      claim.problem = claim.operations.front().file + ": the attach before it is missing";
    claims.push_back(std::move(claim));
  }
  return claims;
}

Result<void> JournalWriter::line(const Json& doc, bool sync) {
  TRY(file_->write(doc.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"));
  return sync ? file_->sync() : Result<void>{};
}

Result<JournalWriter> JournalWriter::begin(Storage& storage, const std::string& folder, unsigned id,
                                           unsigned sequence, const Plan& plan,
                                           const std::optional<std::string>& boot_id) {
  const std::string path =
      fmt::format("{}/{:06}.{}.{}{}", folder, id, sequence, plan.operation, kEnding);
  // It gets its name when its first line is durable: one without a plan is damaged, whatever cut
  // the power.
  const std::string unnamed = path + std::string(kUnnamed);
  static_cast<void>(storage.unlink(unnamed));  // of an operation that never began
  auto file = TRY(storage.create(unnamed, kPrivate));
  JournalWriter writer(std::move(file), path);
  Json doc = {{"plan", value::write_fields(plan)}};
  if (boot_id) doc["boot_id"] = *boot_id;
  const auto written = [&]() -> Result<void> {
    TRY(writer.line(doc, true));
    TRY(storage.rename(unnamed, path, OnExisting::replace));
    return storage.sync_folder(folder);
  }();
  if (!written) {
    static_cast<void>(storage.unlink(unnamed));  // nothing was done yet
    static_cast<void>(storage.unlink(path));
    return std::unexpected(written.error());
  }
  return writer;
}

Result<void> JournalWriter::begin_step(std::size_t index) { return line({{"begin", index}}, true); }
Result<void> JournalWriter::note_vbios(const PciAddress& device, const std::string& sha256) {
  return line({{"vbios", device.text()}, {"sha256", sha256}}, false);
}
Result<void> JournalWriter::note_unclean(const PciAddress& device, const std::string& reason) {
  return line({{"unclean", device.text()}, {"reason", printable(reason)}}, false);
}
Result<void> JournalWriter::note_returned(const PciAddress& device) {
  return line({{"returned", device.text()}}, false);
}
Result<void> JournalWriter::end(bool rolled_back) {
  return line({{"end", rolled_back ? kRolledBack : kDone}}, true);
}

Result<void> remove_unnamed(Host& host, Storage& storage, const std::string& folder) {
  const auto names = host.list_directory(folder).value_or(std::vector<std::string>{});
  for (const auto& name : names)
    if (name.ends_with(std::string(kEnding) + std::string(kUnnamed)))
      TRY(storage.unlink(folder + "/" + name));
  return {};
}

Result<void> remove_claim(Storage& storage, const std::string& folder, const Claim& claim) {
  for (const auto& operation : claim.operations) {
    if (const auto removed = storage.unlink(operation.file);
        !removed && removed.error().kind != ErrorKind::not_found)
      return removed;
    TRY(storage.sync_folder(folder));
  }
  return {};
}

}  // namespace gpuready::vm
