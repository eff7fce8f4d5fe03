// The C interface of packages. Nothing is thrown across it.
#include "gpuready/gpu_info.h"
#include "gpuready/pack_c.h"
#include "host/host.h"
#include "pack/report/exit_rules.h"
#include "pack/report/install_report.h"
#include "pack/report/select_report.h"
#include "pack/store/install_best.h"
#include "pack/store/installed.h"
#include "report/c_document.h"

namespace {

using namespace gpuready;

std::optional<std::string> text_of(const char* text) {
  return text == nullptr ? std::nullopt : std::optional<std::string>(text);
}

Result<pack::SelectMachine> this_machine() {
  const auto machine = TRY(inspect_machine());
  auto found = pack::select_machine(*machine);
  pack::add_system(found);
  found.mark = pack::machine_mark(*machine);
  return found;
}

Result<std::optional<pack::PublicKey>> key_of(Host& host, const char* key) {
  if (key == nullptr) return std::nullopt;
  return TRY(pack::read_public_key(host, key));
}

Result<Json> select(const char* from, const char* key, const char* to) {
  const auto start = Clock::now();
  if (from == nullptr) return null_pointer("from");
  const auto host = make_live_host();
  const auto trusted = TRY(key_of(*host, key));
  const auto origin = TRY(pack::open_origin(*host, from));
  const auto release = TRY(pack::read_trusted_release(*host, *origin, trusted, text_of(to)));
  const SelectReport report{release.manifest.name, release.manifest.version,
                            pack::decide(release.manifest, TRY(this_machine()))};
  Envelope envelope = c_envelope(*host, "pack select", GPUREADY_VERSION, start);
  conclude(report, envelope);
  return to_json(report, envelope);
}

Result<Json> install(const char* from, const char* key, const char* to) {
  const auto start = Clock::now();
  if (from == nullptr) return null_pointer("from");
  const auto host = make_live_host();
  pack::BestOptions options;
  options.key = TRY(key_of(*host, key));
  options.to = text_of(to);
  options.how.wait.limit = pack::kUsualLockWait;
  const auto origin = TRY(pack::open_origin(*host, from));
  const auto report = pack::install_best(*host, *origin, TRY(this_machine()), options);
  Envelope envelope = c_envelope(*host, "pack install", GPUREADY_VERSION, start);
  conclude(report, envelope);
  envelope.notes = report.notes;
  return to_json(report, envelope);
}

Result<Json> verify(const char* name, const char* to) {
  const auto start = Clock::now();
  if (name == nullptr && to == nullptr) return null_pointer("name");
  const auto host = make_live_host();
  const auto places = TRY(pack::places_of(*host, name == nullptr ? "" : name, text_of(to)));
  pack::Store store(*host, live_storage(), places.store);
  if (!store.exists())
    return fail(ErrorKind::not_found, places.store + ": no package is installed there");
  if (name != nullptr) TRY(pack::check_name(store, name));
  const auto report = TRY(verify_package(*host, store));
  Envelope envelope = c_envelope(*host, "pack verify", GPUREADY_VERSION, start);
  envelope.exit = exit_of(report.packages);
  return to_json(report.packages, envelope);
}

}  // namespace

extern "C" {

gpuready_status gpuready_pack_select_json(const char* from, const char* key, const char* to,
                                          char** json) {
  return give_document(json, [&] { return select(from, key, to); });
}
gpuready_status gpuready_pack_install_json(const char* from, const char* key, const char* to,
                                           char** json) {
  return give_document(json, [&] { return install(from, key, to); });
}
gpuready_status gpuready_pack_verify_json(const char* name, const char* to, char** json) {
  return give_document(json, [&] { return verify(name, to); });
}

}  // extern "C"
