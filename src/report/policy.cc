#include "report/policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <map>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "machine/gpu_choice.h"
#include "report/terminal/terminal_text.h"
#include "value/toml_reader.h"
#include "value/toml_text.h"

namespace gpuready {
namespace {

constexpr unsigned kMostGpus = 1024;

std::string model_text(const ExpectedGpus& expected) {
  return expected.model.empty() ? "GPUs of any model" : expected.model;
}

ExpectedGpus read_gpus(TomlReader& reader) {
  ExpectedGpus gpus;
  const auto count = reader.count("count").value_or(1);
  if (count < 1 || count > kMostGpus)
    reader.wrong("count", fmt::format("is not from 1 to {}", kMostGpus));
  gpus.count = static_cast<unsigned>(std::min<std::uint64_t>(count, kMostGpus));
  gpus.model = reader.text("model").value_or("");
  gpus.memory_gib = reader.count("memory_gib");
  gpus.link_width = reader.count("link_width");
  gpus.link_generation = reader.count("link_generation");
  gpus.nvlinks = reader.count("nvlinks");
  return gpus;
}

std::optional<std::int64_t> end_of_day(const std::string& date) {
  return parse_utc(date + "T23:59:59Z");
}

AcceptedByPolicy read_accepted(TomlReader& reader) {
  AcceptedByPolicy accepted;
  std::string text = reader.text("name").value_or("");
  if (const auto device = reader.text("device")) text += "@" + *device;
  if (auto rules = parse_accept_rules({text}))
    accepted.rule = std::move(rules->front());
  else
    reader.wrong("name", "is wrong: " + rules.error().message);
  accepted.reason = reader.text("reason").value_or("");
  if (accepted.reason.empty()) reader.wrong("reason", "is missing: say why it is accepted");
  accepted.until = reader.text("until").value_or("");
  if (!end_of_day(accepted.until))
    reader.wrong("until", "is not a day such as \"2027-01-31\", the last on which it holds");
  return accepted;
}

void read_driver(TomlReader& top, Policy& policy, std::string& problem) {
  const auto* table = top.table("driver");
  if (table == nullptr) return;
  TomlReader reader(*table, "driver.");
  for (auto [key, version] :
       {std::pair{"least", &policy.driver_least}, std::pair{"below", &policy.driver_below}}) {
    *version = reader.text(key);
    if (*version && !parse_version(**version)) reader.wrong(key, "is not a version");
  }
  problem = reader.problem();
}

// "NVIDIA H100 80GB HBM3", but without what says nothing of the model.
std::string model_of(const Gpu& gpu) {
  return std::string(after_prefix(gpu.name, "NVIDIA ").value_or(gpu.name));
}

struct Property {
  std::string_view text;
  std::optional<std::uint64_t> ExpectedGpus::* expected;
  std::optional<std::uint64_t> (*have)(const Gpu& gpu);
};
std::optional<std::uint64_t> number(std::optional<int> value) {
  return value ? std::optional(static_cast<std::uint64_t>(*value)) : std::nullopt;
}
constexpr Property kProperties[] = {
    {"{} GiB of memory", &ExpectedGpus::memory_gib,
     [](const Gpu& gpu) {
       return gpu.memory.total_bytes ? std::optional(*gpu.memory.total_bytes / GiB) : std::nullopt;
     }},
    {"a link of x{}", &ExpectedGpus::link_width,
     [](const Gpu& gpu) { return number(gpu.link_now.width); }},
    // Idle links run slower.
    {"a link of generation {}", &ExpectedGpus::link_generation,
     [](const Gpu& gpu) { return number(gpu.link_max.generation); }},
    {"{} NVLinks", &ExpectedGpus::nvlinks,
     [](const Gpu& gpu) {
       return std::optional<std::uint64_t>(
           std::ranges::count_if(gpu.nvlinks, [](const NvLink& link) { return link.up == true; }));
     }},
};

std::string in_words(const ExpectedGpus& expected) {
  std::string text = fmt::format("{} x {}", expected.count, model_text(expected));
  std::vector<std::string> each;
  for (const Property& property : kProperties)
    if (const auto& value = expected.*property.expected)
      each.push_back(fmt::format(fmt::runtime(property.text), *value));
  return each.empty() ? text : text + ", each with " + join(each, ", ");
}

// Of one GPU, what it lacks.
std::vector<std::string> lacks(const ExpectedGpus& expected, const Gpu& gpu) {
  std::vector<std::string> out;
  for (const Property& property : kProperties) {
    const auto& wanted = expected.*property.expected;
    const auto have = property.have(gpu);
    if (!wanted || (have && *have >= *wanted)) continue;
    const auto text = [&](std::uint64_t value) {
      return fmt::format(fmt::runtime(property.text), value);
    };
    out.push_back(fmt::format("GPU {}: {} expected, {}", gpu.index, text(*wanted),
                              have ? fmt::format("{} here", *have) : "and nothing reports it"));
  }
  return out;
}

// For each GPU, the row that counts it; null: none.
using Assignment = std::vector<const ExpectedGpus*>;

// Gives `row` one more GPU: a free one, or one whose row finds another (Kuhn's augmenting path).
template <class Fits>
bool claim(const ExpectedGpus& row, const Fits& fits, std::vector<bool>& seen, Assignment& owner) {
  for (std::size_t i = 0; i < owner.size(); ++i) {
    if (seen[i] || owner[i] == &row || !fits(row, i)) continue;
    seen[i] = true;
    if (owner[i] && !claim(*owner[i], fits, seen, owner)) continue;
    owner[i] = &row;
    return true;
  }
  return false;
}

// So that as many of the rows' GPUs as possible are here, whatever the rows' order; of those, GPUs
// that lack nothing first.
Assignment assign(const Policy& policy, const Machine& machine, const std::vector<bool>& usable) {
  Assignment owner(machine.gpus.size());
  const auto is_named = [&](const ExpectedGpus& row, std::size_t i) {
    const std::string& name = machine.gpus[i].name;
    return usable[i] && (row.model.empty() || names_model(name, row.model));
  };
  const auto is_whole = [&](const ExpectedGpus& row, std::size_t i) {
    return is_named(row, i) && lacks(row, machine.gpus[i]).empty();
  };
  const auto fill = [&](const auto& fits) {
    for (const ExpectedGpus& row : policy.gpus) {
      std::vector<bool> seen(owner.size());
      while (std::ranges::count(owner, &row) < row.count && claim(row, fits, seen, owner))
        seen.assign(owner.size(), false);
    }
  };
  fill(is_whole);
  fill(is_named);
  return owner;
}

}  // namespace

Result<Policy> parse_policy(std::string_view text, const std::string& name) {
  TRY(check_toml_text(text, name));
  const auto parsed = toml::parse(text);
  if (!parsed)
    return fail(ErrorKind::bad_input,
                fmt::format("{}: line {}: {}", name, parsed.error().source().begin.line,
                            printable(parsed.error().description())));
  TomlReader top(parsed.table(), "");
  Policy policy;
  policy.source = name;
  if (const auto level = top.text("level")) {
    policy.level = named<Level>(*level);
    if (!policy.level) top.wrong("level", "is not quick, standard or thorough");
  }
  for (const std::string& kind : top.texts("require")) {
    if (const auto found = named<ObligationKind>(kind))
      policy.require.push_back(*found);
    else
      top.wrong("require", fmt::format("has {}, which is not an obligation", kind));
  }
  std::string driver;
  read_driver(top, policy, driver);
  if (!driver.empty()) return fail(ErrorKind::bad_input, fmt::format("{}: {}", name, driver));
  policy.gpus = TRY(read_list<ExpectedGpus>(top, "gpus", name, read_gpus));
  policy.accept = TRY(read_list<AcceptedByPolicy>(top, "accept", name, read_accepted));
  TRY(top.finish(name));
  return policy;
}

Result<std::vector<ExpectedGpus>> parse_expected(const std::vector<std::string>& texts) {
  std::vector<ExpectedGpus> all;
  for (const std::string& text : texts) {
    ExpectedGpus expected;
    const auto digits = text.find_first_not_of("0123456789");
    const bool alone = digits == text.npos;
    const bool counted = alone || (digits > 0 && text[digits] == 'x');
    const auto count =
        counted ? parse_uint(text.substr(0, digits)) : std::optional<std::uint64_t>(1);
    expected.model = alone ? "" : counted ? text.substr(digits + 1) : text;
    const bool named = alone || expected.model.find_first_not_of(' ') != std::string::npos;
    if (!count || *count < 1 || *count > kMostGpus || !named)
      return fail(ErrorKind::bad_input,
                  fmt::format("--expect {}: give a count and a model, as in 8xH100 or "
                              "\"2xRTX 4090\"; a count from 1 to {}",
                              printable(text), kMostGpus));
    expected.count = static_cast<unsigned>(*count);
    all.push_back(std::move(expected));
  }
  return all;
}

std::vector<std::string> unmet(const Policy& policy, const Machine& machine,
                               const std::vector<bool>& usable) {
  std::vector<std::string> out;
  const Assignment owner = assign(policy, machine, usable);
  for (const ExpectedGpus& expected : policy.gpus) {
    unsigned found = 0;
    for (std::size_t i = 0; i < owner.size(); ++i) {
      if (owner[i] != &expected) continue;
      ++found;
      for (auto& lack : lacks(expected, machine.gpus[i])) out.push_back(std::move(lack));
    }
    if (found < expected.count)
      out.push_back(fmt::format("{} x {} expected, {} usable here", expected.count,
                                model_text(expected), found));
  }
  const auto& nvidia = machine.nvidia;
  const auto text = nvidia.module_version ? nvidia.module_version : nvidia.driver_version;
  const auto driver = text ? parse_version(*text) : std::nullopt;
  const auto judge = [&](const std::optional<std::string>& limit, std::string_view words,
                         auto holds) {
    if (limit && (!driver || !holds(*driver, *parse_version(*limit))))
      out.push_back(
          fmt::format("a driver {} {} expected, {} here", words, *limit, driver ? *text : "none"));
  };
  judge(policy.driver_least, "of at least", std::greater_equal<Version>());
  judge(policy.driver_below, "below", std::less<Version>());
  return out;
}

std::vector<AcceptRule> accepted_on(const Policy& policy, std::int64_t unix_seconds) {
  std::vector<AcceptRule> rules;
  for (const AcceptedByPolicy& each : policy.accept)
    if (unix_seconds <= *end_of_day(each.until)) {
      rules.push_back(each.rule);
      rules.back().because =
          fmt::format("{}, until {}: {}", policy.source, each.until, each.reason);
    }
  return rules;
}

std::vector<std::string> expired_on(const Policy& policy, std::int64_t unix_seconds) {
  std::vector<std::string> out;
  for (const AcceptedByPolicy& each : policy.accept)
    if (unix_seconds > *end_of_day(each.until))
      out.push_back(fmt::format("{}: accepted until {}", each.rule.text, each.until));
  return out;
}

std::string policy_text(const Machine& machine, const std::vector<bool>& usable) {
  std::map<std::string, std::vector<const Gpu*>> models;
  for (std::size_t i = 0; i < machine.gpus.size(); ++i)
    if (usable[i]) models[model_of(machine.gpus[i])].push_back(&machine.gpus[i]);
  std::string out =
      "# What this machine must have. gpuready policy check FILE explains it; docs/policy.md\n"
      "# describes every key.\n"
      "# level = \"standard\"       # of check without --level\n"
      "# require = [\"host_link\"]  # obligations that must be judged, whatever hides them\n";
  for (const auto& [model, gpus] : models) {
    out += fmt::format("\n[[gpus]]\ncount = {}\nmodel = {}\n", gpus.size(),
                       Json(printable(model)).dump());
    constexpr std::string_view kKeys[] = {"memory_gib", "link_width", "link_generation", "nvlinks"};
    for (std::size_t i = 0; i < std::size(kProperties); ++i) {
      std::optional<std::uint64_t> least;
      for (const Gpu* gpu : gpus) {
        const auto have = kProperties[i].have(*gpu);
        least = gpu == gpus.front() || (have && least && *have < *least) ? have : least;
      }
      if (least.value_or(0) > 0) out += fmt::format("{} = {}\n", kKeys[i], *least);
    }
  }
  if (const auto& version = machine.nvidia.module_version; version && parse_version(*version))
    out += fmt::format("\n[driver]\nleast = \"{}\"\n# below = \"{}\"\n", *version,
                       parse_version(*version)->major() + 1);
  return out +
         "\n# [[accept]]\n# name = \"pcie-link-degraded\"  # a finding, or an obligation\n"
         "# device = \"0000:17:00.0\"      # absent: of any device\n# reason = \"riser is on "
         "order\"\n# until = \"2027-01-31\"         # the last day on which it holds\n";
}

PolicyReport explain(const Policy& policy, const Machine& machine,
                     const std::vector<bool>& usable) {
  PolicyReport report;
  report.source = policy.source;
  for (const ExpectedGpus& gpus : policy.gpus) report.expected.push_back(in_words(gpus));
  if (policy.driver_least)
    report.expected.push_back("a driver of at least " + *policy.driver_least);
  if (policy.driver_below) report.expected.push_back("a driver below " + *policy.driver_below);
  if (policy.level)
    report.expected.push_back(fmt::format("tests of level {}", to_string(*policy.level)));
  for (const ObligationKind kind : policy.require)
    report.expected.push_back(words_of(kind) + " judged");
  report.unmet = unmet(policy, machine, usable);
  const auto now = machine.system.unix_seconds.value_or(std::time(nullptr));
  for (const AcceptRule& rule : accepted_on(policy, now))
    report.accepted.push_back(rule.text + ": " + rule.because);
  report.expired = expired_on(policy, now);
  return report;
}

std::string render_terminal(const PolicyReport& report, const TerminalStyle& style) {
  TerminalText out(style);
  const Tone tone = report.unmet.empty() ? Tone::good : Tone::bad;
  out.paragraph(0, {out.mark(tone) + " ", ink_of(tone)},
                report.unmet.empty() ? "The machine meets " + report.source + "."
                                     : fmt::format("The machine does not meet {}: {}.",
                                                   report.source, join(report.unmet, "; ")),
                Ink::bold);
  const auto list = [&](std::string_view title, const std::vector<std::string>& texts) {
    for (const std::string& text : texts) out.paragraph(2, {std::string(title) + " "}, text);
  };
  if (!style.quiet) {
    list("expected:", report.expected);
    list("accepted:", report.accepted);
  }
  list("expired:", report.expired);
  return out.take();
}

}  // namespace gpuready
