#include "pack/report/exit_rules.h"

#include "report/exit_rule_table.h"

namespace gpuready {
namespace {

using namespace exit_rules;
using pack::InstallEnd;
using pack::InstallOutcome;

constexpr ExitRule<pack::Inspection> kPackInspect[] = {
    {[](const pack::Inspection& i) {
       return !i.problems.empty() ||
              any(i.files, [](const pack::FileReport& file) { return !file.problems.empty(); });
     },
     Exit::unhealthy},
};

constexpr ExitRule<Explanation> kPackExplain[] = {
    {[](const Explanation& e) { return !e.problems.empty(); }, Exit::unhealthy},
    {[](const Explanation& e) {
       return any(e.answers, [](const auto& file) {
         return any(file, [](const auto& answer) { return answer.runs == pack::Runs::none; });
       });
     },
     Exit::unhealthy},
};

// What is not trusted, or does not load, is unhealthy.
constexpr ExitRule<InstallOutcome> kInstall[] = {
    {[](const InstallOutcome& o) {
       return o.end == InstallEnd::refused || o.end == InstallEnd::not_loaded;
     },
     Exit::unhealthy},
    {[](const InstallOutcome& o) { return o.end == InstallEnd::failed && !o.error; },
     Exit::unknown},
};

constexpr ExitRule<pack::Selection> kSelect[] = {
    {[](const pack::Selection& s) { return s.variants.empty(); }, Exit::required_absent},
};

constexpr ExitRule<EnvReport> kEnv[] = {
    {[](const EnvReport& r) { return !r.right; }, Exit::unhealthy},
};

using Built = std::span<const pack::BuiltVariant>;
constexpr ExitRule<Built> kBuilt[] = {
    {[](const Built& variants) {
       return any(variants, [](const auto& built) { return !pack::problems_of(built).empty(); });
     },
     Exit::unhealthy},
};

using Packages = std::span<const PackageState>;
constexpr ExitRule<Packages> kPackages[] = {
    {[](const Packages& packages) {
       return any(packages, [](const auto& package) { return !package.problems.empty(); });
     },
     Exit::unhealthy},
};

}  // namespace

Exit exit_of(const pack::Inspection& inspection) {
  return first_that_holds(kPackInspect, inspection);
}
Exit exit_of(const Explanation& explanation) { return first_that_holds(kPackExplain, explanation); }
Exit exit_of(const pack::InstallOutcome& outcome) {
  if (outcome.end == InstallEnd::failed && outcome.error) return exit_of_error(*outcome.error);
  return first_that_holds(kInstall, outcome);
}
Exit exit_of(const pack::Selection& selection) { return first_that_holds(kSelect, selection); }
Exit exit_of(const EnvReport& report) { return first_that_holds(kEnv, report); }
Exit exit_of(Built variants) { return first_that_holds(kBuilt, variants); }
Exit exit_of(Packages packages) { return first_that_holds(kPackages, packages); }
Exit exit_of_release_error(const Error& error) {
  return error.kind == ErrorKind::bad_input ? Exit::unhealthy : exit_of_error(error);
}
Exit exit_of_store_error(const Error& error) {
  return pack::is_damage(error) ? Exit::unhealthy : exit_of_error(error);
}

}  // namespace gpuready
