// What `pack key`, `pack build` and `pack publish` did, as documents and as text.
#pragma once

#include <span>
#include <string>

#include "pack/release/build.h"
#include "pack/release/publish.h"
#include "report/envelope.h"
#include "report/report.h"

namespace gpuready {

struct KeyFiles {
  std::string secret_path, public_path;
  pack::PublicKey key;
  std::string chain_path;  // empty: no other key signed it
};
Json to_json(const KeyFiles& files, const Envelope& envelope);  // schema/pack-key
std::string render_terminal(const KeyFiles& files, const TerminalStyle& style);

struct BuildReport {
  std::string name, version, folder;
  std::vector<pack::BuiltVariant> variants;
};
Json to_json(const BuildReport& report, const Envelope& envelope);  // schema/pack-build
std::string render_terminal(const BuildReport& report, const TerminalStyle& style);

struct PublishReport {
  std::string folder;
  pack::Published published;
  pack::PublicKey key;
  std::optional<std::string> oci_layout = {};  // that it was added to, too
};
Json to_json(const PublishReport& report, const Envelope& envelope);  // schema/pack-publish
std::string render_terminal(const PublishReport& report, const TerminalStyle& style);

// "12.8 to 12.9", "13.0 or newer", "none"
std::string releases_text(const std::optional<pack::CudaReleases>& releases);

}  // namespace gpuready
