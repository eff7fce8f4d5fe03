// The rows of causes of every kind of diagnosis. docs/actions.md is made here and must be current.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "base/named.h"
#include "doctor/compare.h"
#include "unit/value/describe.h"
#include "value/action.h"
#include "vm/diagnose/console_causes.h"
#include "vm/diagnose/host.h"

namespace gpuready::vm {
namespace {

std::string or_dash(std::string_view text) {
  return text.empty() ? "-" : fmt::format("`{}`", text);
}

std::string words_of_others() {
  std::string text =
      "| action | NVSentinel | AWS | Azure | SageMaker HyperPod |\n|---|---|---|---|---|\n";
  for (const auto& row : action_words())
    text += fmt::format("| `{}` | {} | {} | {} | {} |\n", to_string(row.action),
                        or_dash(row.nvsentinel), or_dash(row.aws), or_dash(row.azure),
                        or_dash(row.hyperpod));
  return text;
}

std::string reaches() {
  std::string text = "| seen from | done from there |\n|---|---|\n";
  for (const auto& row : vantages())
    text += fmt::format("| {} | up to `{}` |\n", row.name, to_string(row.reach));
  return text;
}

template <class Rows>
std::string table(std::string_view title, const Rows& rows, auto&& belongs) {
  std::string text = fmt::format(
      "\n### {}\n\n| id | severity | action | risk | place | needs | what |\n"
      "|---|---|---|---|---|---|---|\n",
      title);
  for (const doctor::Cause& row : rows) {
    if (!belongs(row)) continue;
    const auto terms = doctor::terms_of(row);
    text += fmt::format("| `{}` | {} | `{}` | {} | {} | {} | {} |\n",
                        row.finding_ids.empty() ? row.id : row.finding_ids.front(),
                        to_string(row.severity), to_string(row.action), words_of(terms.risk),
                        words_of(terms.place), words_of(terms.needs), row.title);
  }
  return text;
}

bool is_of_doctor(const doctor::Cause& row) { return row.match || !row.lines.empty(); }

constexpr auto kAll = [](const auto&) { return true; };

TEST(Actions, TheDocsAreCurrent) {
  value::expect_current(
      "docs/actions.md",
      "# Actions\n\n"
      "Every finding has an `action`: the kind of its cure. Each GPU (`gpu_status`) and the report "
      "have the strongest action of\ntheir findings. From the weakest to the strongest:\n\n"
      "- `none`: nothing needs to be done; always that of an info.\n"
      "- `check_again`: find out more, or repeat the work or the test.\n"
      "- `configure`: change settings or software, or what a container or virtual machine is "
      "given.\n"
      "- `reload_driver`: reload the kernel module.\n"
      "- `reset_gpu`: reset the GPU, or all GPUs of its fabric.\n"
      "- `reboot`: restart the machine; in a virtual machine, the guest.\n"
      "- `power_cycle`: restart the machine with its power off in between.\n"
      "- `replace`: work on the hardware: cables, seat, slot, a new part.\n"
      "- `ask_host`: one of the actions from `reload_driver` on that cannot be done from here; the "
      "cure says which.\n\n"
      "A cure may name several steps: the action is the first that can end the fault. This page is "
      "generated from the rows of\ncauses (`src/doctor/cause.h`).\n\n"
      "## What can be done from where\n\n"
      "A stronger action becomes `ask_host`. The job of a user who is not root goes up to "
      "`configure`, too: root is the\ncluster's administrators'.\n\n" +
          reaches() +
          "\n## The words of others\n\n"
          "The nearest word of NVSentinel (`recommendedAction` of a HealthEvent), of AWS (repair "
          "actions of EKS' node auto repair),\nof Azure (impact categories of Guest Health "
          "Reporting) and of SageMaker HyperPod (the label\n"
          "`sagemaker.amazonaws.com/node-health-status`). On bare metal NVSentinel's word for "
          "`reboot` is `RESTART_BM`. A dash:\nthey have no word for it.\n\n" +
          words_of_others() +
          "\n## The causes\n\n"
          "Severity, action and terms are those of the row. What a machine shows may change them: "
          "[findings.md](findings.md).\nTerms are what the cure costs those who use the machine, "
          "where "
          "it is done, and what must hold before "
          "([fields.md](fields.md#cure_terms)).\nInside a container or virtual machine the place "
          "is "
          "the one that can do it.\n" +
          table("doctor and check", doctor::causes(), is_of_doctor) +
          table("Compared with a baseline, or with the time before a test", doctor::causes(),
                std::not_fn(is_of_doctor)) +
          table("vm doctor on a host", host_causes(), kAll) +
          table("vm doctor --console", console_causes(), kAll));
}

// Whichever diagnosis tells a cause, its id means one thing. The cure may be the guest's.
TEST(Causes, AnIdHasOneText) {
  std::map<std::string_view, std::pair<std::string_view, std::string_view>> texts;
  const auto check = [&](const doctor::Cause& row) {
    const auto text = std::pair(row.title, row.explanation);
    EXPECT_EQ(texts.try_emplace(row.id, text).first->second, text) << row.id;
    EXPECT_FALSE(row.title.empty() || row.explanation.empty()) << row.id;
    EXPECT_TRUE(row.severity != Severity::error || row.action != Action::none) << row.id;
    EXPECT_TRUE(row.severity != Severity::info || row.action == Action::none) << row.id;
    // Actions say what most cures cost; changes of settings differ, so each row says its own.
    const bool differs = row.action == Action::configure || row.action == Action::ask_host;
    EXPECT_TRUE(row.terms || !differs) << row.id << " has no terms";
  };
  for (const auto& row : doctor::causes()) check(row);
  for (const auto& row : host_causes()) check(row);
  for (const auto& row : console_causes()) check(row);
  EXPECT_GT(texts.size(), 150u);
}

TEST(Actions, EveryActionHasItsWordsOfOthers) {
  for (const auto& known : kNames<Action>)
    EXPECT_EQ(std::ranges::count(action_words(), known.value, &ActionWords::action), 1)
        << known.name;
}

}  // namespace
}  // namespace gpuready::vm
