#include "pack/release/publish.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/units.h"
#include "host/atomic_file.h"
#include "host/mapped_file.h"
#include "pack/release/bill.h"
#include "pack/release/build.h"
#include "pack/release/pieces_file.h"

namespace gpuready::pack {
namespace {

constexpr std::size_t kPiece = 4u << 20;
constexpr std::int64_t kDay = 86'400;

// What keeps a variant from being published; empty: nothing.
std::vector<std::string> wrong_with(const BuiltVariant& built, const PublishOptions& options) {
  const Variant& variant = built.variant;
  auto wrong = problems_of(built);
  for (const auto& part : variant.archive) {
    const auto path = options.built_folder + "/" + part.name;
    const auto file = MappedFile::open(path);
    if (!file)
      wrong.push_back(file.error().message);
    else if (file->bytes().size() != part.size_bytes ||
             to_hex(sha256(file->bytes())) != part.sha256)
      wrong.push_back(path + " was changed since it was built");
  }
  for (auto& problem : wrong) problem = fmt::format("variant {}: {}", variant.name, problem);
  return wrong;
}

// What the recipe wants by now and the variant was not built with. The build fills in others.
std::optional<std::string> other_floor(const Floors& wanted, const Floors& built) {
  using Floor = std::optional<std::string> Floors::*;
  for (const auto& [name, floor] : {std::pair<const char*, Floor>{"driver", &Floors::driver},
                                    {"CUDA", &Floors::cuda},
                                    {"cuDNN", &Floors::cudnn},
                                    {"glibc", &Floors::glibc},
                                    {"CPU", &Floors::cpu}})
    if (wanted.*floor && wanted.*floor != built.*floor) return name;
  return std::nullopt;
}

// Copies the archive, cut into parts where it is larger than one may be.
Result<std::vector<ArchivePart>> copy_parts(const Variant& variant, const PublishOptions& options) {
  std::vector<ArchivePart> parts;
  for (const auto& from : variant.archive) {
    const auto file = TRY(MappedFile::open(options.built_folder + "/" + from.name));
    const bool cut = from.size_bytes > options.part_bytes;
    auto rest = text_of(file.bytes());
    for (std::size_t number = 1; !rest.empty(); ++number) {
      auto now = rest.substr(0, options.part_bytes);
      rest.remove_prefix(now.size());
      ArchivePart part{
          cut ? fmt::format("{}.{:03}", from.name, number) : from.name, now.size(), {}};
      Sha256Stream hash;
      auto out =
          TRY(AtomicFile::create(options.out_folder + "/" + part.name, {}, *options.storage));
      for (; !now.empty(); now.remove_prefix(std::min(kPiece, now.size()))) {
        hash.add(now.substr(0, kPiece));
        TRY(out.write(now.substr(0, kPiece)));
      }
      TRY(out.commit());
      part.sha256 = to_hex(hash.finish());
      parts.push_back(std::move(part));
    }
  }
  return parts;
}

std::string floors_text(const Floors& floors) {
  std::vector<std::string> parts;
  const auto add = [&](const char* what, const std::optional<std::string>& floor) {
    if (floor) parts.push_back(fmt::format("{} {}", what, *floor));
  };
  add("driver", floors.driver), add("CUDA", floors.cuda), add("cuDNN", floors.cudnn);
  add("glibc", floors.glibc), add("CPU", floors.cpu);
  return parts.empty() ? "-" : join(parts, ", ");
}

std::string notes(const Manifest& manifest, const std::vector<std::string>& gaps,
                  const PublicKey& key) {
  std::string text = fmt::format(
      "# {} {}\n\n| variant | GPUs (compute capability) | needs at least | installed | download |\n"
      "|---|---|---|---|---|\n",
      manifest.name, manifest.version);
  for (const auto& variant : manifest.variants)
    text += fmt::format("| {} | {} | {} | {} | {} |\n", variant.name,
                        variant.for_cpu() ? "none: CPU" : join(variant.architectures, ", "),
                        floors_text(variant.floors), format_bytes(variant.content_bytes()),
                        format_bytes(variant.archive_bytes()));
  // Files that several variants hold are fetched once.
  std::uint64_t each = 0, once = 0;
  std::set<std::string_view> seen;
  for (const auto& variant : manifest.variants)
    for (const auto& file : variant.files)
      if (file.sha256) {
        each += file.size_bytes;
        if (seen.insert(*file.sha256).second) once += file.size_bytes;
      }
  text += fmt::format("\nAll variants hold {}; {} of them differ.\n", format_bytes(each),
                      format_bytes(once));
  if (!manifest.models.empty()) {
    text += "\n| model | free GPU memory |\n|---|---|\n";
    for (const auto& model : manifest.models)
      text += fmt::format("| {} | {} |\n", model.name,
                          model.free_bytes == 0 ? "none: CPU" : format_bytes(model.free_bytes));
  }
  if (!gaps.empty()) text += "\nKnown gaps:\n\n- " + join(gaps, "\n- ") + "\n";
  text += fmt::format(
      "\nInstall: `gpuready pack install URL --key {}`\n\nCheck by hand: `minisign -V -P {} -m "
      "{}`\n\n"
      "Valid until {}.\n",
      key.text(), key.text(), kManifestName, manifest.expires_utc);
  return text;
}

// Waivers that accept nothing of any variant: what they were for is gone, or they name it wrongly.
std::vector<std::string> unused_waivers(const Recipe& recipe, const Published& published) {
  std::vector<std::string> wrong;
  for (const auto& waiver : recipe.waivers)
    if (std::ranges::none_of(published.gaps, [&](const std::string& gap) {
          return gap.ends_with(fmt::format("({})", waiver.text()));
        }))
      wrong.push_back(fmt::format("waiver of {}: nothing needs it: remove it", waiver.file));
  return wrong;
}

}  // namespace

Result<void> check_version(Host& host, const Recipe& recipe, const PublicKey& key,
                           const std::string& folder) {
  const auto path = fmt::format("{}/{}", folder, kManifestName);
  const auto text = host.read_file(path, kMostManifestBytes);
  if (!text && text.error().kind == ErrorKind::not_found) return {};
  if (!text) return std::unexpected(text.error());
  const auto old = TRY(parse_manifest(*text, path));
  if (old.name != recipe.name)
    return fail(ErrorKind::bad_input, fmt::format("{}: belongs to the package {}", path, old.name));
  // A publisher that died between manifest and signature left a release that no one accepts.
  const auto signature =
      host.read_file(fmt::format("{}/{}", folder, kSignatureName), kMostSignatureBytes);
  const bool finished = signature && verify_signature(key, *text, *signature, path);
  const auto version = *parse_version(recipe.version), published = *parse_version(old.version);
  if (version < published || (version == published && finished))
    return fail(
        ErrorKind::bad_input,
        fmt::format("version {} is not above {}, which is published in {}: installers accept "
                    "only a version that grows",
                    recipe.version, old.version, folder));
  return {};
}

Result<Published> publish(Host& host, const Recipe& recipe, const SecretKey& key,
                          const PublishOptions& options) {
  if (options.chain && (options.chain->package != recipe.name || options.chain->keys.empty() ||
                        options.chain->keys.back().public_key != key.public_key().text()))
    return fail(ErrorKind::bad_input,
                fmt::format("the chain of keys is not one of {}, or does not end with the key that "
                            "signs",
                            recipe.name));
  TRY(check_version(host, recipe, key.public_key(), options.out_folder));
  Published published;
  auto& manifest = published.manifest;
  manifest.name = recipe.name;
  manifest.version = recipe.version;
  manifest.created_utc = format_utc(options.now_unix_seconds);
  manifest.expires_utc = format_utc(options.now_unix_seconds + recipe.expires_days * kDay);
  manifest.models = recipe.models;
  manifest.machines = recipe.machines;
  std::vector<std::string> wrong;
  for (const auto& wanted : recipe.variants) {
    auto built = read_variant(host, options.built_folder, wanted.name);
    if (!built) {
      wrong.push_back(built.error().message);
      continue;
    }
    Variant* variant = &built->variant;
    auto problems = pack::wrong_with(*built, options);
    const bool is_built = !variant->archive.empty() &&
                          variant->archive[0].name.starts_with(archive_name(recipe, wanted.name));
    if (problems.empty() && (variant->architectures != wanted.architectures || !is_built))
      wrong.push_back(
          fmt::format("variant {} was built for another version or other architectures: "
                      "build it again",
                      wanted.name));
    if (const auto other = other_floor(wanted.floors, variant->floors))
      wrong.push_back(fmt::format("variant {} was built with another floor of {}: build it again",
                                  wanted.name, *other));
    std::ranges::move(problems, std::back_inserter(wrong));
    variant->probes = wanted.probes;
    for (const auto& gap : built->waived)
      published.gaps.push_back(fmt::format("variant {}: {}", variant->name, gap));
    manifest.variants.push_back(std::move(*variant));
  }
  if (wrong.empty()) wrong = unused_waivers(recipe, published);
  if (wrong.empty() && options.gate) wrong = options.gate(manifest);
  if (!wrong.empty())
    return fail(ErrorKind::bad_input, "nothing was published:\n  " + join(wrong, "\n  "));
  // No one could install what we refuse to read, so that it is refused before anything is copied.
  TRY(parse_manifest(manifest_text(manifest), "the new manifest"));
  for (auto& variant : manifest.variants) {
    variant.pieces = TRY(write_pieces(host, manifest, variant,
                                      options.built_folder + "/" + variant.archive.front().name,
                                      options.out_folder, *options.storage));
    variant.archive = TRY(copy_parts(variant, options));
  }
  const auto text = manifest_text(manifest);
  TRY(parse_manifest(text, "the new manifest"));
  published.notes_name = fmt::format("{}-{}.md", manifest.name, manifest.version);
  for (const auto& variant : manifest.variants) {
    for (const auto& part : variant.archive) published.files.push_back(part.name);
    for (const auto& pieces : variant.pieces) published.files.push_back(pieces.name);
  }
  const auto write = [&](std::string_view name, std::string_view content) {
    published.files.emplace_back(name);
    return write_file_atomically(fmt::format("{}/{}", options.out_folder, name), content, {},
                                 *options.storage);
  };
  TRY(write(published.notes_name, notes(manifest, published.gaps, key.public_key())));
  TRY(write(fmt::format("{}-{}.cdx.json", manifest.name, manifest.version),
            bill_of_materials(manifest)));
  if (options.chain) TRY(write(kKeyChainName, key_chain_text(*options.chain)));
  TRY(write(kManifestName, text));
  TRY(write(kSignatureName,
            sign(key, text,
                 fmt::format("{} {} {}", manifest.name, manifest.version, manifest.created_utc))));
  return published;
}

}  // namespace gpuready::pack
