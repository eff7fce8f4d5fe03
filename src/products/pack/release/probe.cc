#include "pack/release/probe.h"

#include <fmt/format.h>

#include "base/text.h"

namespace gpuready::pack {
namespace {

constexpr std::size_t kMostWords = 1u << 16, kMostArguments = 64, kMostName = 1024;

std::optional<std::string> wrong_with_argument(const ProbeArgument& argument) {
  if (argument.words.has_value() + argument.expect.has_value() + argument.u32.has_value() +
          argument.u64.has_value() !=
      1)
    return "is not one of words, expect, u32 and u64";
  for (const auto* words : {&argument.words, &argument.expect})
    if (*words && ((*words)->empty() || (*words)->size() > kMostWords))
      return fmt::format("has not 1 to {} words", kMostWords);
  return std::nullopt;
}

}  // namespace

std::optional<std::string> wrong_with_probe(const Probe& probe) {
  if (probe.kernel.empty() || probe.kernel.size() > kMostName ||
      printable(probe.kernel) != probe.kernel ||
      probe.kernel.find_first_of("\n\t") != std::string::npos)
    return fmt::format("its kernel has no name of 1 to {} characters", kMostName);
  if (probe.blocks < 1 || probe.blocks > 65535 || probe.threads < 1 || probe.threads > 1024)
    return "it asks for other than 1 to 65535 blocks of 1 to 1024 threads";
  if (probe.arguments.size() > kMostArguments)
    return fmt::format("it has more than {} arguments", kMostArguments);
  for (std::size_t i = 0; i < probe.arguments.size(); ++i)
    if (const auto wrong = wrong_with_argument(probe.arguments[i]))
      return fmt::format("its argument {} {}", i + 1, *wrong);
  return std::nullopt;
}

}  // namespace gpuready::pack
