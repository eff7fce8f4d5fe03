// What `pack key`, `pack build` and `pack publish` did, as documents and as text.
#pragma once

#include <span>
#include <string>

#include "pack/release/build.h"
#include "pack/release/publish.h"
#include "report/report.h"
#include "value/envelope.h"

namespace gpuready {

struct KeyFiles {
  std::string secret_path, public_path;
  pack::PublicKey key;
  std::string chain_path;  // empty: no other key signed it
};
std::string render_terminal(const KeyFiles& files, const TerminalStyle& style);

struct BuildReport {
  std::string name, version, folder;
  std::vector<pack::BuiltVariant> variants;
};
std::string render_terminal(const BuildReport& report, const TerminalStyle& style);

struct PublishReport {
  std::string folder;
  pack::Published published;
  pack::PublicKey key;
  std::optional<std::string> oci_layout = {};  // that it was added to, too
};
std::string render_terminal(const PublishReport& report, const TerminalStyle& style);

// The CUDA releases that compile for all of its architectures; nothing of the CPU's.
std::optional<pack::CudaReleases> compilers_of(const pack::Variant& variant);
// "12.8 to 12.9", "13.0 or newer", "none"
std::string releases_text(const std::optional<pack::CudaReleases>& releases);

}  // namespace gpuready
