#include "pack/release/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/clock.h"
#include "base/sha256.h"
#include "pack/release/manifest_fields.h"
#include "pack/rules/can_load.h"

namespace gpuready::pack {
namespace {

constexpr std::string_view kMembersFolder = "variants";

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 50;  // of one size: no sum overflows
constexpr std::uint64_t kMostIndexBytes = 64u << 20;          // of 100 GB of content
constexpr std::size_t kMostFiles = 200'000;

// The path of a link's target within the package, or nothing when it leaves it.
std::optional<std::string> target_of(std::string_view path, std::string_view text) {
  std::vector<std::string_view> parts = split(path, "/");
  if (!parts.empty()) parts.pop_back();
  for (const auto part : split(text, "/")) {
    if (part == ".") continue;
    if (part != "..") {
      parts.push_back(part);
    } else if (parts.empty()) {
      return std::nullopt;
    } else {
      parts.pop_back();
    }
  }
  std::string joined;
  for (const auto part : parts) joined += (joined.empty() ? "" : "/") + std::string(part);
  return joined;
}

std::optional<std::string> wrong_with_file(const PackedFile& file, std::uint64_t archive_bytes) {
  if (auto wrong = wrong_with_path(file.path)) return wrong;
  if (file.link) return wrong_with_link(file.path, *file.link);
  if (!file.sha256 || !is_sha256(*file.sha256)) return "its SHA-256 is missing or malformed";
  if (file.size_bytes > kMostBytes) return "its size is out of range";
  if (file.offset_bytes > archive_bytes || file.frame_bytes > archive_bytes - file.offset_bytes)
    return "its frame is outside the archive";
  return std::nullopt;
}

// Frames that overlap would unpack to more than the archive ever held.
std::optional<std::string> wrong_with_frames(const Variant& variant) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> frames;
  for (const auto& file : variant.files)
    if (!file.link) frames.emplace_back(file.offset_bytes, file.frame_bytes);
  std::ranges::sort(frames);
  std::uint64_t end = 0;
  for (const auto& [offset, size] : frames) {
    if (size == 0 || offset < end) return "frames of its archive overlap or are empty";
    end = offset + size;
  }
  return std::nullopt;
}

std::optional<std::string> wrong_with_variant(const Variant& variant) {
  if (auto wrong = wrong_with_name(variant.name)) return wrong;
  if (variant.files.size() > kMostFiles) return "it has more than 200000 files";
  std::set<std::string_view> names;
  for (const auto& part : variant.archive) {
    if (auto wrong = wrong_with_name(part.name))
      return fmt::format("archive {}: {}", part.name, *wrong);
    if (!names.insert(part.name).second)
      return fmt::format("archive {} is listed twice", part.name);
    if (part.size_bytes > kMostBytes || !is_sha256(part.sha256))
      return fmt::format("archive {}: its size or SHA-256 is out of range", part.name);
  }
  if (variant.archive.size() > 1000) return "its archive has more than 1000 parts";
  for (const auto& pieces : variant.pieces) {
    if (auto wrong = wrong_with_name(pieces.name))
      return fmt::format("pieces {}: {}", pieces.name, *wrong);
    if (pieces.size_bytes > kMostBytes || pieces.index_bytes > pieces.size_bytes ||
        pieces.index_bytes > kMostIndexBytes || !is_sha256(pieces.index_sha256))
      return fmt::format("pieces {}: a size or the SHA-256 is out of range", pieces.name);
  }
  if (variant.pieces.size() > 1) return "it has more than one file of pieces";
  std::set<std::string_view> paths, links;
  for (const auto& file : variant.files) {
    if (auto wrong = wrong_with_file(file, variant.archive_bytes()))
      return fmt::format("{}: {}", file.path, *wrong);
    if (!paths.insert(file.path).second) return fmt::format("{} is listed twice", file.path);
    if (file.link) links.insert(file.path);
  }
  // A file below a link, or below a file, would be written through it.
  for (const std::string_view path : paths)
    for (auto at = path.find('/'); at != path.npos; at = path.find('/', at + 1))
      if (paths.contains(path.substr(0, at)))
        return fmt::format("{} lies below {}, which is not a folder", path, path.substr(0, at));
  if (auto wrong = wrong_with_frames(variant)) return wrong;
  for (const auto& code : variant.code)
    if (!paths.contains(code.path) || links.contains(code.path))
      return fmt::format("its code names {}, which is not one of its files", code.path);
    else if (code.cuda && !parse_version(*code.cuda))
      return fmt::format("its code of {} has no CUDA version: {}", code.path, *code.cuda);
  if (variant.for_cpu() && !variant.probes.empty())
    return "it has probes and no architectures, so nothing of it is launched";
  for (const auto& probe : variant.probes) {
    if (auto wrong = wrong_with_probe(probe))
      return fmt::format("probe {}: {}", probe.kernel, *wrong);
    if (std::ranges::find(variant.code, probe.file, &CodeOfFile::path) == variant.code.end())
      return fmt::format("probe {}: {} is not one of its files with device code", probe.kernel,
                         probe.file);
  }
  const auto& floors = variant.floors;
  for (const auto* floor : {&floors.driver, &floors.cuda, &floors.cudnn, &floors.glibc})
    if (*floor && !parse_version(**floor))
      return fmt::format("its floor {} is not a version", **floor);
  return std::nullopt;
}

// The file that a path leads to, by links of the variant; nothing: there is none.
const PackedFile* led_to(const Variant& variant, std::string_view path) {
  constexpr int kMostLinks = 40;  // as the kernel follows
  const auto* file = variant.find(path);
  std::string next;
  for (int links = 0; file != nullptr && file->link; file = variant.find(next)) {
    const auto target = target_of(file->path, *file->link);
    if (!target || ++links > kMostLinks) return nullptr;
    next = *target;
  }
  return file;
}

// Whatever variant is installed holds the program of each model that may be chosen with it.
std::optional<std::string> wrong_with_model(const Model& model, const Manifest& manifest) {
  if (model.name.empty() || model.name.size() > 128 || printable(model.name) != model.name ||
      model.name.find_first_of("\n\t") != std::string::npos)
    return "a name has 1 to 128 characters, and no control character";
  if (model.seconds < 1 || model.seconds > kMostModelSeconds)
    return fmt::format("its program may not take {} s", model.seconds);
  if (model.load.empty()) return std::nullopt;
  for (const auto& argument : model.load)
    if (argument.empty() || argument.size() > 4096 || argument.contains('\0'))
      return "an argument of its program is empty, too long or holds a zero";
  if (model.load.size() > 100) return "its program has more than 99 arguments";
  for (const auto& variant : manifest.variants) {
    if (variant.for_cpu() && model.free_bytes > 0) continue;
    const auto* file = led_to(variant, model.load.front());
    if (file == nullptr || !file->executable)
      return fmt::format("variant {} has no program {}", variant.name, model.load.front());
  }
  return std::nullopt;
}

std::optional<std::string> wrong_with(const Manifest& manifest) {
  if (auto wrong = wrong_with_name(manifest.name)) return "name: " + *wrong;
  if (!parse_version(manifest.version)) return "version: it is not made of digits and dots";
  if (auto wrong = wrong_with_name(manifest.version)) return "version: " + *wrong;
  if (!parse_utc(manifest.created_utc) || !parse_utc(manifest.expires_utc))
    return "created_utc or expires_utc is not a time such as 2026-03-01T12:00:00Z";
  if (manifest.variants.empty()) return "it has no variants";
  std::set<std::string_view> names;
  for (const auto& variant : manifest.variants) {
    if (auto wrong = wrong_with_variant(variant))
      return fmt::format("variant {}: {}", variant.name, *wrong);
    if (!names.insert(variant.name).second)
      return fmt::format("variant {} is listed twice", variant.name);
  }
  std::set<std::string_view> models;
  for (const auto& model : manifest.models) {
    if (auto wrong = wrong_with_model(model, manifest))
      return fmt::format("model {}: {}", model.name, *wrong);
    if (!models.insert(model.name).second)
      return fmt::format("model {} is listed twice", model.name);
  }
  for (const auto& machine : manifest.machines) {
    for (const auto& gpu : machine.gpus)
      if (!parse_target_gpu(gpu))
        return fmt::format("machine {}: {} is not a GPU", machine.name, gpu);
    if (machine.driver && !parse_version(*machine.driver))
      return fmt::format("machine {}: {} is not a driver", machine.name, *machine.driver);
  }
  return std::nullopt;
}

}  // namespace

std::uint64_t Variant::content_bytes() const {
  std::uint64_t sum = 0;
  for (const auto& file : files) sum += file.size_bytes;
  return sum;
}
std::uint64_t Variant::archive_bytes() const {
  std::uint64_t sum = 0;
  for (const auto& part : archive) sum += part.size_bytes;
  return sum;
}
const PackedFile* Variant::find(std::string_view path) const {
  const auto found = std::ranges::find(files, path, &PackedFile::path);
  return found == files.end() ? nullptr : &*found;
}
std::vector<std::string> members_of(std::string_view set) {
  std::vector<std::string> members;
  for (const auto member : split(set, std::string_view(&kSetSeparator, 1)))
    members.emplace_back(member);
  return members;
}
std::string set_of(const std::vector<std::string>& members) {
  return join(members, std::string_view(&kSetSeparator, 1));
}

std::string folder_of_member(std::string_view set, std::string_view member) {
  return set.substr(0, set.find(kSetSeparator)) == member
             ? ""
             : fmt::format("{}/{}", kMembersFolder, member);
}

namespace {

// Its archives follow those that are there; so do the places of its files in them.
void add_member(Variant& set, const Variant& member) {
  const auto before = set.archive_bytes();
  const auto folder = fmt::format("{}/{}/", kMembersFolder, member.name);
  for (PackedFile file : member.files) {
    file.path = folder + file.path;
    file.offset_bytes += before;
    set.files.push_back(std::move(file));
  }
  for (CodeOfFile code : member.code) {
    code.path = folder + code.path;
    set.code.push_back(std::move(code));
  }
  for (const auto& architecture : member.architectures)
    if (std::ranges::find(set.architectures, architecture) == set.architectures.end())
      set.architectures.push_back(architecture);
  set.archive.insert(set.archive.end(), member.archive.begin(), member.archive.end());
  set.pieces.insert(set.pieces.end(), member.pieces.begin(), member.pieces.end());
  set.name += kSetSeparator + member.name;
}

}  // namespace

std::optional<Variant> Manifest::find(std::string_view variant) const {
  std::optional<Variant> set;
  for (const auto& member : members_of(variant)) {
    const auto found = std::ranges::find(variants, member, &Variant::name);
    if (found == variants.end()) return std::nullopt;
    if (set) {
      add_member(*set, *found);
      continue;
    }
    set = *found;
    // Nothing of the first may stand where the others go.
    if (set->name != variant && std::ranges::any_of(set->files, [](const PackedFile& file) {
          return file.path.substr(0, file.path.find('/')) == kMembersFolder;
        }))
      return std::nullopt;
  }
  return set;
}

std::optional<std::string> wrong_with_name(std::string_view name) {
  if (name.empty() || name.size() > 128) return "a name has 1 to 128 characters";
  if (name.front() == '.' || name.front() == '-') return "a name does not begin with '.' or '-'";
  for (const char c : name)
    if ((c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' &&
        c != '_' && c != '.')
      return "a name is made of letters, digits, '-', '_' and '.'";
  return std::nullopt;
}

std::optional<std::string> wrong_with_path(std::string_view path) {
  if (path.empty() || path.size() > 255) return "a path has 1 to 255 bytes";
  if (path.front() == '/') return "a path in a package does not begin with '/'";
  for (const unsigned char c : path)
    if (c < 0x20 || c == 0x7f || c == '\\') return "a path holds no control character or '\\'";
  if (printable(path) != path) return "a path is valid UTF-8";
  std::size_t begin = 0;
  for (;;) {
    const auto end = std::min(path.find('/', begin), path.size());
    const auto part = path.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..")
      return "a path in a package has no empty, '.' or '..' part";
    if (begin == 0 && part == ".gpuready") return "the folder .gpuready is gpuready's own";
    if (end == path.size()) return std::nullopt;
    if (part.find_first_of(":;") != part.npos)
      return "a folder's name has no ':' or ';', at which loaders split their search path";
    begin = end + 1;
  }
}

std::optional<std::string> wrong_with_link(std::string_view path, std::string_view text) {
  if (text.empty() || text.size() > 255 || text.front() == '/')
    return "a link of a package is relative, with at most 255 bytes";
  if (printable(text) != text || text.find_first_of("\\\n\t") != text.npos)
    return "a link holds no control character or '\\'";
  const auto target = target_of(path, text);
  if (!target || target->empty()) return fmt::format("the link to {} leaves the package", text);
  return std::nullopt;
}

std::string manifest_text(const Manifest& manifest) {
  return dump(value::write_document(manifest));
}

Result<Manifest> parse_manifest(std::string_view text, std::string_view name) {
  const Json doc = TRY(parse_json(text, name, kMostManifestBytes));
  if (get_string(doc, "schema") != kForm<Manifest>.schema())
    return fail(ErrorKind::bad_input, fmt::format("{}: not the manifest of a package", name));
  if (get_int(doc, "schema_version") != value::kSchemaVersion)
    return fail(ErrorKind::unsupported,
                fmt::format("{}: made for another version of gpuready (schema_version is not {})",
                            name, value::kSchemaVersion));
  auto manifest = TRY(value::read_document<Manifest>(doc, name));
  if (const auto wrong = wrong_with(manifest))
    return fail(ErrorKind::bad_input, fmt::format("{}: {}", name, printable(*wrong)));
  return manifest;
}

}  // namespace gpuready::pack
