// What comes from others before or after a signature was checked: manifests, signatures and keys,
// recipes, frames of archives, headers of HTTP answers. The first byte says which.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "http/http_answer.h"
#include "pack/code/image_layers.h"
#include "pack/release/archive.h"
#include "pack/release/key_chain.h"
#include "pack/release/manifest.h"
#include "pack/release/minisign.h"
#include "pack/release/oci.h"
#include "pack/release/recipe.h"
#include "pack/release/scan.h"
#include "pack/store/load_report.h"
#include "pack/store/select.h"
#include "unit/products/pack/gpus.h"

using namespace gpuready;
using namespace gpuready::pack;

namespace {

void manifest(std::string_view text) {
  const auto parsed = parse_manifest(text, "manifest");
  if (!parsed) return;
  // What was accepted comes back as it was, and can be decided for.
  const auto again = parse_manifest(manifest_text(*parsed), "again");
  if (!again || !(*again == *parsed)) std::abort();
  SelectMachine machine;
  machine.gpus = gpus_of("8.6,9.0,gfx942");
  const auto selection = select_variant(*parsed, machine);
  for (const auto& name : selection.variants)
    if (!parsed->find(name)) std::abort();
}

void frame(std::string_view bytes) {
  PackedFile file;
  file.path = "file";
  file.size_bytes = 1000;
  file.sha256 = std::string(64, '0');
  std::uint64_t taken = 0;
  FrameReader reader(file, [&](std::string_view content) -> Result<void> {
    taken += content.size();
    if (taken > file.size_bytes) std::abort();
    return {};
  });
  if (reader.add(bytes.substr(0, bytes.size() / 2)) && reader.add(bytes.substr(bytes.size() / 2)) &&
      reader.finish())
    std::abort();
}

void signature(std::string_view text) {
  static const PublicKey key = make_secret_key()->public_key();
  if (verify_signature(key, "content", text, "signature")) std::abort();
  (void)parse_public_key(text, "key");
  if (const auto chain = parse_key_chain(text, "keys.json")) {
    const auto again = parse_key_chain(key_chain_text(*chain), "again");
    if (!again || key_chain_text(*again) != key_chain_text(*chain)) std::abort();
    // Nobody but its owner names a successor of this key.
    if (newest_key(*chain, chain->package, key).text() != key.text()) std::abort();
  }
  // A password costs what the file says, so only files without one are read on.
  if (const auto encrypted = is_encrypted(text, "key"); encrypted && !*encrypted)
    (void)parse_secret_key(text, "", "key");
}

void headers(std::string_view text) {
  HttpAnswer answer;
  for (const auto line : lines(text)) answer.add(line);
  if (answer.range && answer.range->last < answer.range->first) std::abort();
}

// Signed by whoever is trusted with it, and yet of any content.
void proof(std::string_view text) {
  const auto parsed = parse_load_report(text, "report");
  if (!parsed) return;
  const auto again = parse_load_report(load_report_text(*parsed), "again");
  if (!again || load_report_text(*again) != load_report_text(*parsed)) std::abort();
  static const SecretKey key = make_secret_key().value();
  Manifest manifest;
  manifest.name = parsed->name;
  manifest.version = parsed->version;
  manifest.variants = {{}};
  manifest.variants[0].name = parsed->variant;
  manifest.machines = {{"machine", {"8.6"}, {}}};
  const PublicKey keys[] = {key.public_key()};
  const HandedReport reports[] = {{"report", std::string(text), sign(key, text, "")}};
  // No variant is for that GPU.
  if (missing_proof(manifest, keys, reports).empty()) std::abort();
}

void registry(std::string_view text) {
  if (const auto files = parse_oci_manifest(text, "manifest")) {
    const auto again = parse_oci_manifest(oci_manifest_text(*files), "again");
    if (!again || again->size() != files->size()) std::abort();
  }
  const auto stacks = layers_of_image("i!manifest.json", text);
  const std::vector<std::string> names = {"i!a!x", "i!b!.wh.x", "i!b!y"};
  for (const auto& name : hidden_in_images(stacks, names))
    if (std::ranges::find(names, name) == names.end()) std::abort();
  (void)layers_of_image("blobs/sha256/0", text);
  // It becomes a part of a URL.
  if (const auto found = parse_oci_reference(text)) {
    if (found->name.find("..") != found->name.npos && found->name.find("/..") != found->name.npos)
      std::abort();
    if (found->text().find_first_of("?# \r\n%") != text.npos) std::abort();
    const auto again = parse_oci_reference(found->text());
    if (!again || again->text() != found->text()) std::abort();
  }
}

void patterns(std::string_view text) {
  const auto cut = text.find('\n');
  (void)matches(text.substr(0, cut), cut == text.npos ? "" : text.substr(cut + 1));
  (void)parse_code(text);
  (void)parse_architecture(text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
#ifdef GPUREADY_FUZZ_KIND  // one alone, for long runs by hand
  constexpr int kind = GPUREADY_FUZZ_KIND;
#else
  const int kind = data[0] % 8;
#endif
  switch (kind) {
    case 0:
      manifest(text);
      break;
    case 1:
      signature(text);
      break;
    case 2:
      (void)parse_recipe(text, "pack.toml", "/");
      break;
    case 3:
      frame(text);
      break;
    case 4:
      headers(text);
      break;
    case 5:
      proof(text);
      break;
    case 6:
      registry(text);
      break;
    default:
      patterns(text);
  }
  return 0;
}
