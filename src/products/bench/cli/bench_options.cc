#include "bench/cli/bench_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>

#include "base/text.h"
#include "bench/run/adapters.h"

namespace gpuready::cli {
namespace {

// What is read of it: runs, their history, the last tag, and the adapters' scripts.
std::vector<std::string> files_of_results(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& name :
       make_live_host()->list_directory(folder).value_or(std::vector<std::string>{}))
    if (!bench::tag_in_name(name).empty() || name == bench::kHistoryFile || name == "latest" ||
        name.starts_with("adapters-"))
      files.push_back(folder + "/" + name);
  return files;
}

std::vector<std::string> files_of_runs(const std::string& names) {
  std::vector<std::string> files;
  for (const std::string_view name : split(names, ",")) files.emplace_back(name);
  return files;
}

}  // namespace

Option runs_option(const char* name, std::string& names, std::string_view help) {
  return {.name = name,
          .value = &names,
          .help = std::string(help),
          .required = true,
          .files = Files::read,
          .files_of = files_of_runs};
}

Option reported_runs_option(std::string& names) {
  Option option = runs_option(
      "RUNS", names,
      "Tags, ids of runs, files or a folder (comma-separated) (default: the latest run)");
  option.required = false;
  return option;
}

Option results_option(std::string& folder, std::string_view what) {
  return {.name = "--results",
          .value = &folder,
          .help = fmt::format("Folder of {} (default: {})", what, bench::kResultsFolder),
          .type = "FOLDER",
          .files = Files::read,
          .files_of = files_of_results};
}

Option kpi_option(std::vector<std::string>& names, std::string_view help) {
  Option option{.name = "--kpi", .value = &names, .help = std::string(help), .type = "LIST"};
  for (const auto kpi : bench::kKpis) option.one_of.emplace_back(name_of(kpi));
  option.commas = true;
  return option;
}

std::vector<bench::Kpi> kpis_of(const std::vector<std::string>& names) {
  std::vector<bench::Kpi> out;
  for (const auto& name : names)
    for (const auto kpi : bench::kKpis)
      if (name == name_of(kpi)) out.push_back(kpi);
  return out;
}

namespace {

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

template <class T>
std::vector<std::string> as_words(const Option& option, const T& value) {
  const std::string name = option.name;
  if constexpr (std::is_same_v<T, bool>) {
    return value ? std::vector{name} : std::vector<std::string>{};
  } else if constexpr (kIsOptional<T>) {
    return value ? as_words(option, *value) : std::vector<std::string>{};
  } else if constexpr (std::is_arithmetic_v<T>) {
    const auto number = static_cast<double>(value);
    const bool given =
        !option.range || (option.range->least <= number && number <= option.range->most);
    if (!given) return {};
    const std::string text = fmt::format("{}", value);
    return option.if_bare != nullptr ? std::vector{name + "=" + text} : std::vector{name, text};
  } else if constexpr (std::is_same_v<T, std::string>) {
    return value.empty() ? std::vector<std::string>{} : std::vector{name, value};
  } else {
    return value.empty() ? std::vector<std::string>{}
                         : std::vector{name, fmt::format("{}", fmt::join(value, ","))};
  }
}

}  // namespace

std::vector<std::string> as_words(const Option& option) {
  return std::visit([&](const auto* value) { return as_words(option, *value); }, option.value);
}

std::vector<std::string> bench_tasks() { return {"mlp", "gemm", "attention", "copy", "ternary"}; }

Option stack_option(std::vector<std::string>& names, const char* help, bool several) {
  Option option{.name = "--stack",
                .value = &names,
                .help = help,
                .type = several ? "LIST" : "NAME",
                .commas = several};
  for (const auto& known : bench::known_adapters()) option.such_as.emplace_back(known.id);
  return option;
}

Option learn_option(bool& alone) {
  return {.name = "--no-history",
          .value = &alone,
          .help =
              "Learn the noise only from the runs of the comparison: not from earlier runs of "
              "the folder, nor from the other stacks of these runs"};
}

void RuleOptions::declare(CommandSpec& command) {
  command.add(
      {{.name = "--min-gain",
        .value = &least_gain_percent,
        .help = "Gain in percent that the candidate must surely exceed (default: 1)",
        .type = "PERCENT",
        .range = Range{0, 1000}},
       {.name = "--risk",
        .value = &risk_percent,
        .help = "Accepted chance, in percent, of a promotion that is not deserved (default: 1)",
        .type = "PERCENT",
        .range = Range{0.001, 20}},
       {.name = "--allow-loss",
        .value = &losses,
        .help = "What a figure may lose, such as energy=10,p95=20 (percent); if not given p50=2, "
                "throughput=5, memory=5, p95=10 and energy=10. none: the figure may lose anything",
        .type = "LIST",
        .commas = true},
       learn_option(alone)});
}

Result<void> RuleOptions::set(bench::PromoteOptions& rule) const {
  rule.least_gain = least_gain_percent / 100;
  rule.risk = risk_percent / 100;
  rule.compare.learn = !alone;
  for (const auto& text : losses) {
    const auto equals = text.find('=');
    const auto kpi = named<bench::Kpi>(text.substr(0, equals));
    const auto value = equals == text.npos ? std::string() : text.substr(equals + 1);
    const auto percent = parse_double(value);
    if (!kpi || (value != "none" && (!percent || *percent < 0)))
      return fail(ErrorKind::bad_input,
                  fmt::format("--allow-loss {}: write a figure and percent, such as energy=10, or "
                              "energy=none",
                              printable(text)));
    if (percent)
      rule.allowances[*kpi] = *percent / 100;
    else
      rule.allowances.erase(*kpi);
  }
  return {};
}

namespace {

// A run that is held against itself would count as evidence that nothing changed.
Result<void> check_apart(const Sides& sides) {
  for (const auto& run : sides.base.runs)
    for (const auto& other : sides.candidate.runs)
      if (run.id == other.id)
        return fail(ErrorKind::bad_input,
                    fmt::format("the run {} is on both sides, {} and {}: name other runs on one "
                                "side, by another tag or by a comma-separated list of ids",
                                printable(run.id), sides.base.name, sides.candidate.name));
  return {};
}

}  // namespace

Result<Sides> find_sides(Host& host, const std::string& folder, const std::string& base,
                         const std::string& candidate) {
  Sides sides{{base, TRY(bench::find_runs(host, folder, base))},
              {candidate, TRY(bench::find_runs(host, folder, candidate))}};
  TRY(check_apart(sides));
  return sides;
}

std::optional<std::string> variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

}  // namespace gpuready::cli
