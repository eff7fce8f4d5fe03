#include "vm/drivers/module_info.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/elf.h"
#include "base/text.h"

namespace gpuready::vm {
namespace {

constexpr std::string_view kSignatureEnd = "~Module signature appended~\n";

// struct module_signature, before the end: what kind (2: PKCS#7) at 2, how long at 8, big endian.
constexpr std::size_t kSignatureInfoBytes = 12;
constexpr std::uint8_t kPkcs7 = 2;

Result<bool> has_signature(std::span<const std::uint8_t> bytes, std::string_view name) {
  const std::string_view whole(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!whole.ends_with(kSignatureEnd)) return false;
  const auto rest = bytes.first(bytes.size() - kSignatureEnd.size());
  std::size_t length = 0;
  bool sound = rest.size() > kSignatureInfoBytes;
  if (sound) {
    const auto info = rest.last(kSignatureInfoBytes);
    for (std::size_t at = 8; at < kSignatureInfoBytes; ++at) length = length << 8 | info[at];
    sound = info[2] == kPkcs7 && length > 0 && length < rest.size() - kSignatureInfoBytes;
  }
  if (sound) return true;
  return fail(ErrorKind::bad_input,
              fmt::format("{}: its signature is damaged; sign it again, or take the module as it "
                          "was built",
                          name));
}

enum class Visit { not_yet, under_way, done };

Result<void> visit(const std::vector<ModuleInfo>& modules, std::size_t index,
                   std::vector<Visit>& visits, std::vector<std::size_t>& order) {
  if (visits[index] == Visit::done) return {};
  if (visits[index] == Visit::under_way)
    return fail(ErrorKind::bad_input,
                fmt::format("module {} depends on itself, by way of others", modules[index].name));
  visits[index] = Visit::under_way;
  for (const auto& dependency : modules[index].depends)
    for (std::size_t other = 0; other < modules.size(); ++other)
      if (modules[other].name == module_name(dependency)) TRY(visit(modules, other, visits, order));
  visits[index] = Visit::done;
  order.push_back(index);
  return {};
}

}  // namespace

std::string module_name(std::string_view file_stem) {
  std::string name(file_stem);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

Result<ModuleInfo> read_module(std::span<const std::uint8_t> bytes, std::string_view name) {
  const auto file = TRY(parse_elf(bytes, name));
  const auto* section = file.section(".modinfo");
  if (section == nullptr)
    return fail(ErrorKind::bad_input, fmt::format("{}: not a kernel module", name));
  ModuleInfo info;
  std::string_view text(reinterpret_cast<const char*>(section->bytes.data()),
                        section->bytes.size());
  while (!text.empty()) {
    const auto end = std::min(text.find('\0'), text.size());
    const auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (const auto value = after_prefix(line, "name=")) info.name = printable(*value);
    if (const auto value = after_prefix(line, "vermagic=")) info.vermagic = printable(*value);
    if (const auto value = after_prefix(line, "version=")) info.version = printable(*value);
    if (const auto value = after_prefix(line, "license=")) info.license = printable(*value);
    if (const auto value = after_prefix(line, "depends="))
      for (const auto part : split(*value, ",")) info.depends.push_back(module_name(part));
  }
  info.kernel_release = info.vermagic.substr(0, info.vermagic.find(' '));
  info.is_signed = TRY(has_signature(bytes, name));
  return info;
}

Result<std::vector<std::size_t>> load_order(const std::vector<ModuleInfo>& modules) {
  std::vector<Visit> visits(modules.size(), Visit::not_yet);
  std::vector<std::size_t> order;
  for (std::size_t index = 0; index < modules.size(); ++index)
    TRY(visit(modules, index, visits, order));
  return order;
}

}  // namespace gpuready::vm
