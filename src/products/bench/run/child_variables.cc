#include "bench/run/child_variables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/characters.h"
#include "base/sha256.h"
#include "base/text.h"
#include "bench/run/request.h"
#include "jobs/helper.h"
#include "jobs/variables.h"

namespace gpuready::bench {
namespace {

// A variable whose name begins so is given to the stacks and recorded. docs/bench-run.md, "What a
// run records", has the same table.
constexpr std::string_view kPatterns[] = {
    // GPUs and their libraries
    "CUDA_", "NVIDIA_", "CUBLAS", "CUDNN_", "CUTLASS_", "NCCL_", "NVTE_", "HIP_", "HSA_", "ROCR_",
    "VK_", "MESA_", "LP_NUM_THREADS",
    // compilers and frameworks
    "TORCH", "PYTORCH_", "TRITON_", "XLA_", "JAX_", "TF_", "TVM_", "ORT_", "ONNX", "TENSORRT_",
    "TRT_", "GLOW_", "PYC_",
    // the CPU's threads, products and memory
    "OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "BLIS_", "DNNL_", "ONEDNN_", "MALLOC_",
    "GLIBC_TUNABLES", "LD_LIBRARY_PATH", "PYTHON",
    // this program
    "BENCH_", "GPUREADY_LIBCUBLASLT"};
constexpr std::string_view kOwn = "GPUREADY";  // given, and not recorded
// Commands of stacks are recorded with the stack.
constexpr std::string_view kCommand = "_BENCH_CMD";

// Names, in small letters, whose values may be secrets. docs/bench-run.md has the same table.
enum class Place { anywhere, word, beginning };  // a word: between underscores, and not all
struct SecretName {
  std::string_view text;
  Place place;
};
constexpr SecretName kSecrets[] = {
    {"key", Place::anywhere},
    {"token", Place::anywhere},
    {"secret", Place::anywhere},
    {"pass", Place::anywhere},
    {"credential", Place::anywhere},
    {"auth", Place::anywhere},
    {"pwd", Place::word},
    {"tf_var_", Place::beginning},
    {"tf_cli_", Place::beginning},
    {"tf_token_", Place::beginning},  // Terraform's
};
constexpr std::size_t kDigitsOfHash = 12;

bool fits(const SecretName& secret, std::string_view name) {
  switch (secret.place) {
    case Place::anywhere:
      return name.contains(secret.text);
    case Place::beginning:
      return name.starts_with(secret.text);
    case Place::word:
      break;
  }
  const auto words = split(name, "_");
  return words.size() > 1 && std::ranges::find(words, secret.text) != words.end();
}

bool of_the_contract(std::string_view name) {
  static const auto all = variables_of(Request{});
  return std::ranges::any_of(all, [&](const auto& each) { return each.first == name; });
}

// In a POSIX shell.
bool is_variable_name(std::string_view name) {
  return !name.empty() && !is_digit(name.front()) &&
         std::ranges::all_of(name, [](char c) { return is_letter_or_digit(c) || c == '_'; });
}

}  // namespace

std::vector<VariableChange> changes_for_stacks(const std::string& uuid) {
  auto changes = helper_job({}).env;
  changes.emplace_back("PYTHONUNBUFFERED", "1");
  changes.emplace_back("PYTHONDONTWRITEBYTECODE", "1");
  if (!uuid.empty()) changes.emplace_back("CUDA_VISIBLE_DEVICES", uuid);
  return changes;
}

bool is_given_to_stacks(std::string_view name) {
  if (is_basic_variable(name)) return true;
  if (name.ends_with(kCommand) || may_be_secret(name)) return false;
  return name.starts_with(kOwn) ||
         std::ranges::any_of(kPatterns, [&](auto begin) { return name.starts_with(begin); });
}

bool is_recorded(std::string_view name) {
  return std::ranges::any_of(kPatterns, [&](auto begin) { return name.starts_with(begin); }) &&
         is_given_to_stacks(name) && !of_the_contract(name);
}

bool may_be_secret(std::string_view name) {
  const std::string small = to_lower(name);
  return std::ranges::any_of(kSecrets, [&](const auto& secret) { return fits(secret, small); });
}

std::string recorded_value(std::string_view name, std::string_view value) {
  if (!may_be_secret(name)) return printable(value);
  const Sha256 sum = sha256(value);
  return "sha256:" + fmt::format("{:02x}", fmt::join(sum, "")).substr(0, kDigitsOfHash);
}

std::string recorded_idea(std::string_view idea) {
  const auto equals = idea.find('=');
  if (equals == idea.npos) return std::string(idea);
  const auto name = idea.substr(0, equals);
  if (!may_be_secret(name)) return std::string(idea);
  return fmt::format("{}={}", name, recorded_value(name, idea.substr(equals + 1)));
}

std::map<std::string, std::string> recorded_variables(const char* const* environment,
                                                      VariableChanges changes) {
  std::map<std::string, std::string> found;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view text = *environment;
    const auto equals = text.find('=');
    if (equals != text.npos && is_recorded(text.substr(0, equals)))
      found[std::string(text.substr(0, equals))] = printable(text.substr(equals + 1));
  }
  for (const auto& [name, value] : changes) {
    if (!is_recorded(name)) continue;
    if (value)
      found[name] = printable(*value);
    else
      found.erase(name);
  }
  return found;
}

std::vector<std::pair<std::string, std::string>> variables_for_elsewhere(
    const char* const* environment, std::string_view idea) {
  std::vector<std::pair<std::string, std::string>> variables;
  for (; *environment != nullptr; ++environment) {
    const std::string_view text = *environment;
    const auto name = text.substr(0, text.find('='));
    if (name.size() < text.size() && is_variable_name(name) &&
        (name.starts_with("BENCH_") || name.ends_with(kCommand) || name == idea))
      variables.emplace_back(name, text.substr(name.size() + 1));
  }
  return variables;
}

}  // namespace gpuready::bench
