#include "slurm/record_file.h"

#include <fmt/format.h>

#include "base/characters.h"
#include "value/document.h"
#include "value/fields.h"

namespace gpuready {
DOCUMENT_OF(slurm::Record, .name = "slurm-record", .title = "What was done to a node of Slurm",
            .description = "What gpuready slurm keeps of its node. Only gpuready writes it.",
            .input = true);
}  // namespace gpuready

namespace gpuready::slurm {

FIELDS_OF(Record) {
  FIELD(node, "As slurm.conf names it.", kAlways);
  FIELD(reasons, "That gpuready set since the node was fit; absent: it is not drained by it.");
  FIELD(causes, "Ids of all causes that were seen since then.");
  FIELD(pids, "Processes that a job left on its GPUs.");
  FIELD(needs_test, "The level of tests that must pass before the node is resumed. Absent: none.");
  FIELD(drained_unix_seconds, "When.", {.sparse = true});
  FIELD(boot_id, "The boot of the latest resume.");
  FIELD(resumed_on_sight, "How often in that boot without a test.", {.sparse = true});
}

Result<Record> parse_record(std::string_view text, const std::string& name) {
  const Json doc = TRY(parse_json(text, name));
  if (!value::is_document(doc, kForm<Record>))
    return fail(ErrorKind::bad_input,
                name + " is not what gpuready slurm kept of a node; delete it");
  return value::read_document<Record>(doc, name);
}

std::string record_text(const Record& record) { return dump(value::write_document(record)); }

std::string record_path(const std::string& folder, std::string_view node) {
  std::string name;
  for (const char c : node) name += is_letter_or_digit(c) ? c : '-';
  return fmt::format("{}/slurm-{}.json", folder, name);
}

Result<std::optional<Record>> read_record(Host& host, const std::string& path) {
  const auto text = host.read_own_file(path);
  if (text) return TRY(parse_record(*text, path));
  if (text.error().kind == ErrorKind::not_found) return std::nullopt;
  return std::unexpected(text.error());
}

}  // namespace gpuready::slurm
