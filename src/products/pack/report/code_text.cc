#include "pack/report/code_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "pack/rules/releases.h"
#include "report/text_layout.h"

namespace gpuready {

using namespace pack;

std::string targets_text(const FileReport& file) {
  std::set<std::pair<TargetGpu, std::string>> targets;  // by architecture, machine code before PTX
  for (const CarrierGroup& group : file.groups)
    for (const DeviceCode& code : group.codes) {
      if (!loadable(code)) continue;
      std::string text = code.target();
      if (code.ptx_isa) text += fmt::format(" (PTX {})", version_text(*code.ptx_isa));
      targets.insert({{.cuda = code.cuda, .gfx = code.gfx}, std::move(text)});
    }
  std::vector<std::string> texts;
  for (const auto& [gpu, text] : targets) texts.push_back(text);
  std::stable_sort(texts.begin(), texts.end(), [](const auto& a, const auto& b) {
    return a.starts_with("sm_") && b.starts_with("compute_");
  });
  return join(texts, ", ");
}

std::string runs_text(const FileAnswer& answer) {
  const std::uint64_t loads = answer.driver.empty() ? answer.loads() : 0;
  const std::string modules = counted(answer.modules, "module");
  switch (answer.runs) {
    case Runs::all:
      return answer.modules == 1 ? "its module" : "all " + modules;
    case Runs::part:
      return fmt::format("{} of {}", loads, modules);
    case Runs::none:
      return "none of " + modules;
    default:
      return "no device code";
  }
}

}  // namespace gpuready
