#include "machine/fake.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "machine/sources.h"
#include "machine/system/named_libraries.h"

namespace gpuready {
namespace {
struct Backend {
  std::string_view name, alias, title;
  Vendor vendor;
};
constexpr Backend kBackends[] = {
    {"cuda", "", "CUDA", Vendor::nvidia},        {"metal", "", "Metal", Vendor::apple},
    {"rocm", "", "ROCm", Vendor::amd},           {"vulkan", "", "Vulkan", Vendor::other},
    {"wgpu", "webgpu", "WebGPU", Vendor::other}, {"opengl", "", "OpenGL", Vendor::other},
};
constexpr const char* kStrictVariables[] = {"GPUREADY_STRICT", "BITNET_STRICT_NO_FAKE_GPU"};
constexpr std::string_view kSeparators = ",;| \t\r\n";

std::string known_names() {
  std::string out;
  for (const auto& backend : kBackends) {
    out += backend.name;
    if (!backend.alias.empty()) out += " (" + std::string(backend.alias) + ")";
    out += ", ";
  }
  return out + "gpu, none";
}

}  // namespace

bool is_set(const std::optional<std::string>& value) {
  if (!value) return false;
  const auto text = to_lower(trim(*value));
  return !text.empty() && text != "0" && text != "false" && text != "no" && text != "off";
}

Result<std::vector<std::string>> parse_fakes(std::string_view spec) {
  std::vector<std::string_view> wanted;
  bool none = false;
  for (const auto word : split(spec, kSeparators)) {
    const auto name = to_lower(word);
    if (name == "none") {
      none = true;
      continue;
    }
    bool known = false;
    for (const auto& backend : kBackends) {
      if (name != "gpu" && name != backend.name && (name.empty() || name != backend.alias))
        continue;
      wanted.push_back(backend.name);
      known = true;
    }
    if (!known)
      return fail(ErrorKind::bad_input, "unknown backend '" + printable(word) +
                                            "' in a fake: known are " + known_names());
  }
  if (none && !wanted.empty())
    return fail(ErrorKind::bad_input, "a fake of 'none' cannot be combined with others");
  std::vector<std::string> fakes;
  for (const auto& backend : kBackends)
    if (std::find(wanted.begin(), wanted.end(), backend.name) != wanted.end())
      fakes.emplace_back(backend.name);
  if (fakes.empty()) fakes.emplace_back("none");
  return fakes;
}

Result<std::vector<std::string>> choose_fakes(Host& host, const std::optional<std::string>& flag,
                                              bool is_gpuready) {
  const char* strict = nullptr;
  for (const char* variable : kStrictVariables)
    if (!strict && is_set(host.environment(variable))) strict = variable;
  if (strict)
    if (const auto named = named_libraries(host, is_gpuready); !named.empty())
      return fail(ErrorKind::bad_input,
                  fmt::format("{} is set, but {} forbids libraries that variables name: unset one "
                              "of the two",
                              named_libraries_text(named), strict));
  std::optional<std::string> spec = flag;
  std::string from = "--fake";
  for (const char* variable : {"GPUREADY_FAKE", "BITNET_GPU_FAKE"}) {
    if (spec) break;
    spec = host.environment(variable);
    from = variable;
  }
  if (!spec) return std::vector<std::string>{};
  if (strict)
    return fail(ErrorKind::bad_input, from + " is given, but " + strict + " forbids fakes");
  return parse_fakes(*spec);
}

void apply_fakes(Machine& machine, const std::vector<std::string>& fakes) {
  if (fakes.empty()) return;
  machine.fakes = fakes;
  machine.pci.clear();
  machine.gpus.clear();
  machine.paths.clear();
  machine.nodes.clear();
  machine.nvidia = {};
  machine.amd = {};
  machine.intel = {};
  machine.apple = {};
  machine.vulkan = {};
  machine.kernel_log = {};
  for (const auto& backend : kBackends) {
    if (std::find(fakes.begin(), fakes.end(), backend.name) == fakes.end()) continue;
    auto& gpu = machine.gpus.emplace_back();
    gpu.vendor = backend.vendor;
    gpu.name = "Faked " + std::string(backend.title) + " GPU";
    gpu.name_source = "fake";
    gpu.faked = true;
    add_source(gpu, "fake");
  }
}

}  // namespace gpuready
