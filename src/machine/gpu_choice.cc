#include "machine/gpu_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "machine/nvidia/architectures.h"
#include "machine/pci/pci_ids.h"

namespace gpuready {
namespace {

using Fits = bool (*)(const Gpu& gpu, std::string_view word);

bool is_index(const Gpu& gpu, std::string_view word) { return parse_int(word) == gpu.index; }
bool is_cuda_ordinal(const Gpu& gpu, std::string_view word) {
  const auto number = after_prefix(word, "cuda:");
  return number && gpu.cuda_ordinal && parse_int(*number) == *gpu.cuda_ordinal;
}
bool is_address(const Gpu& gpu, std::string_view word) {
  return gpu.pci && parse_pci_address(word) == gpu.pci;
}
bool has_uuid(const Gpu& gpu, std::string_view word) {
  constexpr std::size_t kFewest = 5;  // "GPU-" and a digit
  word = after_prefix(word, "cuda:").value_or(word);
  return word.size() >= kFewest && gpu.uuid && to_lower(*gpu.uuid).starts_with(to_lower(word));
}
bool has_capability(const Gpu& gpu, std::string_view word) {
  if (gpu.gfx_target && word == *gpu.gfx_target) return true;
  return gpu.compute_capability && names_capability(*gpu.compute_capability, word);
}
bool is_model(const Gpu& gpu, std::string_view word) { return names_model(gpu.name, word); }

// The first that fits any GPU decides.
constexpr Fits kForms[] = {is_index, is_cuda_ordinal, is_address,
                           has_uuid, has_capability,  is_model};

std::string list_of(const std::vector<const Gpu*>& gpus) {
  std::vector<std::string> texts;
  for (const Gpu* gpu : gpus) {
    std::vector<std::string> facts = {printable(gpu->name)};
    if (gpu->compute_capability) facts.push_back(printable(*gpu->compute_capability));
    if (gpu->gfx_target) facts.push_back(printable(*gpu->gfx_target));
    if (gpu->pci) facts.push_back(gpu->pci->text());
    if (gpu->uuid) facts.push_back(printable(*gpu->uuid));
    texts.push_back(fmt::format("{} ({})", gpu->index, join(facts, ", ")));
  }
  return join(texts, "; ");
}

std::unexpected<Error> refused(std::string_view option, std::string_view word,
                               std::string_view problem, const std::vector<const Gpu*>& gpus) {
  return fail(ErrorKind::bad_input,
              fmt::format("{} {}: {}: {}", option, printable(word), problem,
                          gpus.empty() ? "this machine has no GPU" : list_of(gpus)));
}

}  // namespace

bool names_capability(std::string_view capability, std::string_view word) {
  std::string digits(capability);
  std::erase(digits, '.');
  return word == capability || word == "sm_" + digits;
}

bool names_model(std::string_view name, std::string_view model) {
  constexpr std::string_view kWordBreaks = " -_/()[]{},:@`";
  // A word after the number that makes it another product.
  constexpr std::string_view kVariants[] = {"ti",     "super", "d",   "laptop",
                                            "mobile", "xt",    "xtx", "gre"};
  const std::string low_name = to_lower(name), low_model = to_lower(model);
  const auto all = split(low_name, kWordBreaks), wanted = split(low_model, kWordBreaks);
  if (wanted.empty()) return false;
  for (auto rest = all.begin(); rest != all.end(); ++rest) {
    rest = std::search(rest, all.end(), wanted.begin(), wanted.end());
    if (rest == all.end()) return false;
    const auto next = rest + std::ssize(wanted);
    if (next == all.end() || std::ranges::find(kVariants, *next) == std::end(kVariants))
      return true;
  }
  return false;
}

Result<std::vector<const Gpu*>> gpus_named(const Machine& machine, std::string_view option,
                                           std::string_view word) {
  std::vector<const Gpu*> all, found;
  for (const Gpu& gpu : machine.gpus) all.push_back(&gpu);
  for (const Fits fits : kForms) {
    std::ranges::copy_if(all, std::back_inserter(found),
                         [&](const Gpu* gpu) { return fits(*gpu, trim(word)); });
    if (found.size() > 1 && fits == has_uuid)
      return refused(option, word, "several GPUs have a UUID that begins so", found);
    if (!found.empty()) return found;
  }
  return refused(option, word, "no such GPU here", all);
}

Result<const Gpu*> gpu_named(const Machine& machine, std::string_view option,
                             std::string_view word) {
  const auto found = TRY(gpus_named(machine, option, word));
  if (found.size() > 1) return refused(option, word, "name one of these GPUs", found);
  return found.front();
}

std::string unique_name(const Gpu& gpu) {
  return gpu.pci ? gpu.pci->text() : std::to_string(gpu.index);
}

std::vector<GpuModel> models_named(std::string_view words) {
  std::vector<GpuModel> models;
  for (const auto line : lines(pci_ids_text())) {
    const auto id = after_prefix(line.substr(0, line.find(' ')), "10de");
    const auto product = line.find('[');
    if (!id || product == line.npos || !names_model(line.substr(product), words)) continue;
    if (contains(line, "NVSwitch")) continue;  // named after a GPU: "GH100 [H100 NVSwitch]"
    const auto name = line.substr(line.find(' ') + 1);
    models.push_back({static_cast<std::uint16_t>(parse_hex(*id).value_or(0)), name,
                      nvidia_chip_capability(name)});
  }
  return models;
}

Result<std::optional<std::string>> capability_of_model(std::string_view option,
                                                       std::string_view word) {
  std::map<std::string_view, std::string_view> found;  // a model of each capability
  for (const auto& model : models_named(word))
    if (model.capability) found.emplace(*model.capability, model.name);
  if (found.empty()) return std::nullopt;
  if (found.size() == 1) return std::string(found.begin()->first);
  std::vector<std::string> texts;
  for (const auto& [capability, name] : found)
    texts.push_back(fmt::format("{} ({})", capability, name));
  return fail(
      ErrorKind::bad_input,
      fmt::format("{} {}: GPUs of several capabilities are called so; name one of these: {}",
                  option, printable(word), join(texts, "; ")));
}

}  // namespace gpuready
