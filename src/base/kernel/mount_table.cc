#include "base/kernel/mount_table.h"

#include <algorithm>

#include "base/text.h"

namespace gpuready {

std::string without_escapes(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto code = text[i] == '\\' && i + 3 < text.size() ? parse_uint(text.substr(i + 1, 3), 8)
                                                             : std::nullopt;
    out += code && *code < 256 ? static_cast<char>(*code) : text[i];
    if (code && *code < 256) i += 3;
  }
  return out;
}

std::vector<Mount> parse_mounts(std::string_view text) {
  std::vector<Mount> mounts;
  for (const auto line : lines(text)) {
    const auto fields = split(line, " ");
    if (fields.size() < 5) continue;
    Mount mount{.device = std::string(fields[2]),
                .root = std::string(fields[3]),
                .point = without_escapes(fields[4]),
                .type = {},
                .source = {}};
    const auto dash = std::ranges::find(fields, "-");
    if (fields.end() - dash > 2) {
      mount.type = *(dash + 1);
      mount.source = without_escapes(*(dash + 2));
    }
    if (fields.end() - dash > 3) mount.options = *(dash + 3);
    mounts.push_back(std::move(mount));
  }
  return mounts;
}

}  // namespace gpuready
