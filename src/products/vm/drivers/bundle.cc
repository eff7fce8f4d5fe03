#include "vm/drivers/bundle.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "vm/drivers/driver_files.h"
#include "vm/drivers/fields.h"

namespace gpuready::vm {
namespace {

Result<void> check_paths(const DriverBundle& bundle, std::string_view name) {
  const auto bad = [&](std::string_view text, std::string_view what) {
    return fail(ErrorKind::bad_input, fmt::format("{}: \"{}\" {}", name, printable(text), what));
  };
  for (const auto& file : bundle.files) {
    if (!is_safe_relative(file.path)) return bad(file.path, "leads out of the bundle");
    if (has_control_characters(file.path) || has_control_characters(file.install_path))
      return bad(file.path, "has control characters in its name");
    if (!file.install_path.empty() &&
        (!file.install_path.starts_with('/') ||
         !is_safe_relative(std::string_view(file.install_path).substr(1))))
      return bad(file.install_path, "leads out of the root that it is installed in");
    if (!file.soname.empty() && !is_plain_name(file.soname))
      return bad(file.soname, "is not the name of a library");
    for (const auto& link : file.links)
      if (!is_plain_name(link)) return bad(link, "is not the name of a library");
    if (file.kind == DriverFileKind::module && !file.module)
      return bad(file.path, "is a module of which nothing is known");
  }
  for (const auto& release : bundle.kernel_releases)
    if (!is_plain_name(release)) return bad(release, "is not a kernel release");
  return {};
}

}  // namespace

bool has_control_characters(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char c) { return c < ' ' || c == 0x7f; });
}

bool is_plain_name(std::string_view name) {
  return !name.empty() && name.find('/') == name.npos && name != "." && name != ".." &&
         !has_control_characters(name);
}

bool is_safe_relative(std::string_view path) {
  if (path.empty() || path.front() == '/' || path.find('\0') != path.npos) return false;
  for (std::size_t at = 0; at <= path.size();) {
    const auto end = std::min(path.find('/', at), path.size());
    const auto part = path.substr(at, end - at);
    if (part.empty() || part == "." || part == "..") return false;
    at = end + 1;
  }
  return true;
}

Json to_json(const DriverBundle& bundle) { return value::write_document(bundle); }

Result<DriverBundle> bundle_from_json(const Json& doc, std::string_view name) {
  if (get_string(doc, "schema") != kForm<DriverBundle>.schema())
    return fail(ErrorKind::bad_input, fmt::format("{}: not a driver bundle's list", name));
  if (get_int(doc, "schema_version") != value::kSchemaVersion)
    return fail(ErrorKind::bad_input,
                fmt::format("{}: written by another version of gpuready; collect it again", name));
  auto bundle = TRY(value::read_document<DriverBundle>(doc, name));
  TRY(check_paths(bundle, name));
  return bundle;
}

Result<DriverBundle> bundle_from_text(std::string_view text, std::string_view name) {
  return bundle_from_json(TRY(parse_json(text, name)), name);
}

std::vector<std::string> inconsistencies(const DriverBundle& bundle) {
  std::vector<std::string> found;
  const auto& version = bundle.driver_version;
  std::map<std::string, std::string> providers;  // name of a library -> the file that has it
  std::set<std::string> paths;
  for (const auto& file : bundle.files) {
    if (!paths.insert(file.path).second) found.push_back(file.path + " is listed twice");
    if (file.module && has_driver_version(file.module->name) && !file.module->version.empty() &&
        file.module->version != version)
      found.push_back(fmt::format(
          "{} is of version {}, the libraries are of {}: the driver refuses such a mixture",
          file.path, file.module->version, version));
    if (file.kind == DriverFileKind::firmware)
      if (const auto other = firmware_version(file.path); !other.empty() && other != version)
        found.push_back(
            fmt::format("{} is of version {}, the libraries are of {}", file.path, other, version));
    if (file.kind != DriverFileKind::library) continue;
    if (const auto other = library_version(file.path);
        !other.empty() && is_driver_version(other) && other != version)
      found.push_back(
          fmt::format("{} is of version {}, the driver is {}", file.path, other, version));
    if (file.machine != bundle.machine)
      found.push_back(
          fmt::format("{} is for {}, others are for {}", file.path, file.machine, bundle.machine));
    auto names = file.links;
    if (!file.soname.empty()) names.push_back(file.soname);
    for (const auto& name : names)
      if (const auto [other, added] = providers.try_emplace(name, file.path); !added)
        found.push_back(fmt::format("{} and {} both are {}", other->second, file.path, name));
  }
  return found;
}

}  // namespace gpuready::vm
