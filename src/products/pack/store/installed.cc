#include "pack/store/installed.h"

#include <fmt/format.h>

#include "base/text.h"
#include "pack/release/minisign.h"

namespace gpuready::pack {

Result<void> check_installed(const Store& store) {
  if (store.exists()) return {};
  return fail(ErrorKind::bad_input, store.root() + ": no package is installed there");
}

Result<void> check_name(const Store& store, std::string_view name) {
  const auto here = TRY(store.state()).name;
  if (here.empty() || here == name) return {};
  return fail(ErrorKind::bad_input,
              fmt::format("{} holds the package {}, not {}", store.root(), here, name));
}

Result<CurrentVersion> read_current(const Store& store) {
  const auto number = TRY(store.current());
  if (!number) return fail(ErrorKind::bad_input, store.root() + ": no package is installed there");
  CurrentVersion current{TRY(store.installed(*number)), {}, TRY(store.manifest_of(*number))};
  current.manifest = TRY(store.parsed_manifest(*number));
  if (!current.manifest.find(current.installed.variant))
    return as_damage({ErrorKind::bad_input,
                      store.generation_path(*number) + ": its manifest lacks its variant"});
  return current;
}

Result<std::vector<std::string>> verify_current(Host& host, Store& store,
                                                const CurrentVersion& current) {
  const auto variant = current.variant();
  std::vector<std::string> problems;
  const auto damaged = store.damaged(current.installed.number, variant);
  for (const auto& damage : damaged) problems.push_back(damage.problem);
  // Whoever may not write there learns no less.
  if (!damaged.empty())
    if (const auto lock = store.open())
      for (const auto& damage : damaged) (void)store.forget_object(*damage.file);
  for (const auto& path : TRY(store.added(current.installed.number, variant)))
    problems.push_back(printable(path) + ": the package has no such file: it was added");
  const auto key = TRY(store.state()).key;
  const auto manifest = fmt::format("{}/.gpuready/{}",
                                    store.generation_path(current.installed.number), kManifestName);
  const auto signature = host.read_file(manifest + ".minisig");
  if (!key || !signature) {
    problems.push_back(
        "the signature of the installed manifest, or the key that it was checked with, is missing");
  } else if (const auto signed_by = verify_signature(TRY(parse_public_key(*key, "state.json")),
                                                     current.text, *signature, manifest);
             !signed_by) {
    problems.push_back(signed_by.error().message);
  }
  return problems;
}

}  // namespace gpuready::pack
