// What `pack list`, `verify`, `rollback`, `gc` and `uninstall` find or do, as a document and as
// text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pack/store/install.h"
#include "report/report.h"
#include "value/envelope.h"

namespace gpuready {

// One package that is installed here.
struct PackageState {
  std::string store;
  std::optional<std::uint64_t> current;
  std::vector<pack::Installed> installed;
  std::vector<std::string> problems;  // what is damaged, or was added
};
struct StoreReport {
  std::vector<PackageState> packages;
  std::string conclusion = {};
};

// A damaged record of the current version is a problem; a store that cannot be read is an error.
Result<PackageState> state_of(const pack::Store& store);
// All packages in their default places. What keeps one from being read is its problem, and hides
// none of the others; a package of another name, which --to put there, is not listed.
Result<StoreReport> list_packages(Host& host, Storage& storage);
Result<StoreReport> verify_package(Host& host, pack::Store& store);
Result<StoreReport> roll_back_package(Host& host, Storage& storage, const pack::Places& places,
                                      std::optional<std::uint64_t> number,
                                      const pack::LockWait& wait = {});
Result<StoreReport> collect_package(Host& host, Storage& storage, const pack::Places& places,
                                    const pack::LockWait& wait = {});
Result<StoreReport> uninstall_package(Host& host, Storage& storage, const pack::Places& places,
                                      bool forget, const pack::LockWait& wait = {});

std::string render_terminal(const std::vector<PackageState>& packages, const Envelope& envelope,
                            const TerminalStyle& style);

}  // namespace gpuready
