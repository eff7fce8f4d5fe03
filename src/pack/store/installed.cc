#include "pack/store/installed.h"

#include <fmt/format.h>

#include "pack/release/minisign.h"

namespace gpuready::pack {

Result<CurrentVersion> read_current(const Store& store) {
  const auto number = TRY(store.current());
  if (!number) return fail(ErrorKind::not_found, store.root() + ": no version is current");
  CurrentVersion current{TRY(store.installed(*number)), {}, TRY(store.manifest_of(*number))};
  const auto where = store.generation_path(*number);
  current.manifest = TRY(parse_manifest(current.text, where));
  if (!current.manifest.find(current.installed.variant))
    return fail(ErrorKind::bad_input, where + ": its manifest lacks its variant");
  return current;
}

Result<std::vector<std::string>> verify_current(Host& host, const Store& store,
                                                const CurrentVersion& current) {
  auto problems = store.damaged(current.installed.number, current.variant());
  const auto key = TRY(store.state()).key;
  const auto signature = host.read_file(fmt::format(
      "{}/.gpuready/{}", store.generation_path(current.installed.number), kSignatureName));
  if (!key || !signature) {
    problems.push_back(
        "the signature of the installed manifest, or the key that it was checked with, is missing");
  } else if (const auto signed_by =
                 verify_signature(TRY(parse_public_key(*key, "state.json")), current.text,
                                  *signature, "the installed manifest");
             !signed_by) {
    problems.push_back(signed_by.error().message);
  }
  return problems;
}

}  // namespace gpuready::pack
