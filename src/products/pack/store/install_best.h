// What an installer does, from an address to files that load: trust the release, choose for the
// machine, install what was chosen, and the CPU's variant where that cannot be fetched or does not
// load.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pack/store/install.h"
#include "pack/store/load_report.h"
#include "pack/store/select.h"

namespace gpuready::pack {

struct BestOptions {
  std::optional<PublicKey> key = {};   // to trust; else the one that the package's store remembers
  std::optional<std::string> to = {};  // the package's folder; else the default place
  std::optional<std::string> variant = {};  // this one, whatever the machine is
  bool load_test = true;                    // only where the machine is this one
  InstallOptions how = {};                  // its places are not looked at
};
struct BestInstall {
  std::string name, version, from;
  Decision decision;  // empty: the release could not be read, or is not trusted
  InstallOutcome outcome;
  std::optional<std::string> model;       // that the machine's memory holds
  std::vector<std::string> notes;         // why this variant
  std::optional<LoadReport> load_report;  // where something was tried
};
BestInstall install_best(Host& host, Origin& origin, const SelectMachine& machine,
                         const BestOptions& options);

// A release that is trusted, of which the package's store has seen no newer one. `bad_input`: it is
// not trusted.
Result<Release> read_trusted_release(Host& host, Origin& origin,
                                     const std::optional<PublicKey>& key,
                                     const std::optional<std::string>& to);

// A public key: the file of one, or its one line of text.
Result<PublicKey> read_public_key(Host& host, const std::string& text);

// Where a package lives: in `folder`, made absolute, else in the default place of its name.
Result<Places> places_of(Host& host, const std::string& name,
                         const std::optional<std::string>& folder);

// Whether the CPU's variant, or what is installed, may replace a variant that ended so: it does not
// load, or could not be fetched. Where someone else installs, it was interrupted, or the disk is
// full or read-only, whoever installs has to know.
bool may_be_replaced(const InstallOutcome& outcome);

}  // namespace gpuready::pack
