// The C interface of packages. Nothing is thrown across it.
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>

#include "base/c_status.h"
#include "base/clock.h"
#include "gpuready/gpu_info.h"
#include "gpuready/pack_c.h"
#include "host/host.h"
#include "host/machine_id.h"
#include "pack/store/install_best.h"
#include "pack/store/installed.h"
#include "report/exit_rules.h"
#include "report/pack/install_report.h"
#include "report/pack/select_report.h"

namespace {

using namespace gpuready;

std::optional<std::string> text_of(const char* text) {
  return text == nullptr ? std::nullopt : std::optional<std::string>(text);
}

// Runs `body`, which gives a document, and hands out a copy of its text.
template <class Body>
gpuready_status give(char** json, Body&& body) {
  return c_call([&]() -> Result<void> {
    if (json == nullptr) return null_pointer("json");
    *json = nullptr;
    const auto text = dump(TRY(body()));
    auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
    if (copy == nullptr) throw std::bad_alloc();
    std::memcpy(copy, text.c_str(), text.size() + 1);
    *json = copy;
    return {};
  });
}

Envelope envelope_of(Host& host, const char* command, Clock::time_point start) {
  Envelope envelope;
  envelope.command = command;
  envelope.tool_version = GPUREADY_VERSION;
  envelope.created_utc = format_utc(std::time(nullptr));
  envelope.machine_id = machine_id(host);
  envelope.boot_id = boot_id(host);
  envelope.duration_ms = elapsed_ms(start);
  return envelope;
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
  const auto store = to ? TRY(pack::places_of(*host, "", text_of(to))).store : std::string();
  const auto release = TRY(pack::read_release(*host, *origin, trusted, store));
  SelectReport report{release.manifest.name, release.manifest.version, TRY(this_machine()), {}};
  report.selection = pack::select_variant(release.manifest, report.machine);
  Envelope envelope = envelope_of(*host, "pack select", start);
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
  const auto origin = TRY(pack::open_origin(*host, from));
  const auto report = pack::install_best(*host, *origin, TRY(this_machine()), options);
  Envelope envelope = envelope_of(*host, "pack install", start);
  conclude(report, envelope);
  envelope.notes = report.notes;
  return to_json(report, envelope);
}

Result<Json> verify(const char* name, const char* to) {
  const auto start = Clock::now();
  if (name == nullptr && to == nullptr) return null_pointer("name");
  const auto host = make_live_host();
  const auto places = TRY(pack::places_of(*host, name == nullptr ? "" : name, text_of(to)));
  const pack::Store store(*host, live_storage(), places.store);
  if (!store.exists())
    return fail(ErrorKind::not_found, places.store + ": no package is installed there");
  const auto current = TRY(pack::read_current(store));
  PackageState state{places.store, current.installed.number, TRY(store.installed()), {}};
  state.problems = TRY(pack::verify_current(*host, store, current));
  Envelope envelope = envelope_of(*host, "pack verify", start);
  envelope.exit = state.problems.empty() ? Exit::ok : Exit::unhealthy;
  return to_json(std::vector<PackageState>{std::move(state)}, envelope);
}

}  // namespace

extern "C" {

gpuready_status gpuready_pack_select_json(const char* from, const char* key, const char* to,
                                          char** json) {
  return give(json, [&] { return select(from, key, to); });
}
gpuready_status gpuready_pack_install_json(const char* from, const char* key, const char* to,
                                           char** json) {
  return give(json, [&] { return install(from, key, to); });
}
gpuready_status gpuready_pack_verify_json(const char* name, const char* to, char** json) {
  return give(json, [&] { return verify(name, to); });
}

}  // extern "C"
