#include "pack/report/store_report.h"

#include <fmt/format.h>

#include "base/text.h"
#include "base/units.h"
#include "pack/store/installed.h"
#include "report/terminal/terminal_text.h"

namespace gpuready {
namespace {

Result<PackageState> state_of_name(const pack::Store& store, const std::string& name) {
  TRY(pack::check_name(store, name));
  return state_of(store);
}

}  // namespace

Result<PackageState> state_of(const pack::Store& store) {
  PackageState state{store.root(), TRY(store.current()), TRY(store.installed()), {}};
  if (!state.current) return state;
  if (const auto now = store.installed(*state.current); !now)
    state.problems.push_back(
        fmt::format("number {} is current, and its record is damaged: {}. Install again.",
                    *state.current, now.error().message));
  return state;
}

Result<StoreReport> list_packages(Host& host, Storage& storage) {
  StoreReport report;
  const auto folder = TRY(pack::packages_folder(host));
  for (const auto& name : host.list_directory(folder).value_or(std::vector<std::string>())) {
    const auto places = pack::default_places(host, name);
    const pack::Store store(host, storage, places ? places->store : "");
    if (!places || !store.exists()) continue;
    auto state = state_of_name(store, name);
    if (state)
      report.packages.push_back(std::move(*state));
    else if (state.error().kind != ErrorKind::bad_input || pack::is_damage(state.error()))
      report.packages.push_back({store.root(), {}, {}, {state.error().message}});
  }
  if (report.packages.empty()) report.conclusion = "No package is installed in " + folder + ".";
  return report;
}

Result<StoreReport> verify_package(Host& host, pack::Store& store) {
  auto state = TRY(state_of(store));
  const auto current = TRY(pack::read_current(store));
  state.problems = TRY(pack::verify_current(host, store, current));
  const auto variant = current.variant();
  auto conclusion =
      state.problems.empty()
          ? fmt::format("All {} files ({}) are those that were signed.", variant.files.size(),
                        format_bytes(variant.content_bytes()))
          : fmt::format("{} problem{}: what is here is not what was signed. Install again.",
                        state.problems.size(), state.problems.size() == 1 ? "" : "s");
  return StoreReport{{std::move(state)}, std::move(conclusion)};
}

Result<StoreReport> roll_back_package(Host& host, Storage& storage, const pack::Places& places,
                                      std::optional<std::uint64_t> number,
                                      const pack::LockWait& wait) {
  const auto now = TRY(pack::roll_back(host, storage, places, number, wait));
  return StoreReport{
      {TRY(state_of({host, storage, places.store}))},
      fmt::format("{} {}, variant {}, is current now.", now.name, now.version, now.variant)};
}

Result<StoreReport> collect_package(Host& host, Storage& storage, const pack::Places& places,
                                    const pack::LockWait& wait) {
  const auto done = TRY(pack::collect_garbage(host, storage, places, wait));
  return StoreReport{
      {TRY(state_of({host, storage, places.store}))},
      fmt::format("Removed {} old versions and {} files that no other needs ({}).",
                  done.generations.size(), done.objects.files, format_bytes(done.objects.bytes))};
}

Result<StoreReport> uninstall_package(Host& host, Storage& storage, const pack::Places& places,
                                      bool forget, const pack::LockWait& wait) {
  TRY(pack::uninstall(host, storage, places, forget, wait));
  const auto foreign = pack::Store(host, storage, places.store).foreign();
  return StoreReport{
      {},
      places.store +
          (forget && !foreign.empty()
               ? fmt::format(" stays, since it holds {} that gpuready did not install; what was "
                             "known of the package is forgotten.",
                             join(foreign, ", "))
           : forget ? " is removed, and what was known of the package is forgotten."
                    : " is empty now. Its state.json remembers the key and the highest version "
                      "seen, so that no server goes back behind it (--forget removes that, "
                      "too).")};
}

std::string render_terminal(const std::vector<PackageState>& packages, const Envelope& envelope,
                            const TerminalStyle& style) {
  TerminalText out(style);
  for (const auto& package : packages) {
    out.heading(package.store);
    Table table;
    table.columns = {{""},        {"No.", Align::right}, {"Package"},
                     {"Version"}, {"Variant"},           {"Installed", Align::left, true}};
    for (const auto& each : package.installed)
      table.rows.push_back({{each.number == package.current ? "*" : " ", Ink::good},
                            {std::to_string(each.number)},
                            {each.name},
                            {each.version},
                            {each.variant},
                            {each.installed_utc}});
    out.table(2, table);
    for (const auto& problem : package.problems)
      out.paragraph(2, {out.mark(Tone::bad) + " ", Ink::bad}, problem);
  }
  if (envelope.conclusion) out.paragraph(0, {}, *envelope.conclusion);
  return out.take();
}

}  // namespace gpuready
