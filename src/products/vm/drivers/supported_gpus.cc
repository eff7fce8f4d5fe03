#include "vm/drivers/supported_gpus.h"

#include <fmt/format.h>

#include <set>

#include "base/json.h"
#include "base/text.h"

namespace gpuready::vm {

Result<std::vector<std::uint16_t>> parse_supported_gpus(std::string_view text,
                                                        std::string_view name) {
  const Json doc = TRY(parse_json(text, name));
  const auto& chips = member(doc, "chips");
  if (!chips.is_array())
    return fail(ErrorKind::bad_input, fmt::format("{}: not a list of supported GPUs", name));
  std::set<std::uint16_t> ids;
  for (const auto& chip : chips) {
    const std::string text_of_id = get_string(chip, "devid").value_or("");
    const std::string lower = to_lower(text_of_id);  // what `digits` looks into
    const auto digits = after_prefix(lower, "0x");
    const auto id = digits && digits->size() <= 4 ? parse_hex(*digits) : std::nullopt;
    if (!id)
      return fail(ErrorKind::bad_input, fmt::format("{}: \"{}\" is not a PCI device id such as "
                                                    "0x2330",
                                                    name, printable(text_of_id)));
    if (!get_string(chip, "legacybranch")) ids.insert(static_cast<std::uint16_t>(*id));
  }
  return std::vector<std::uint16_t>(ids.begin(), ids.end());
}

}  // namespace gpuready::vm
