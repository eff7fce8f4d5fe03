#include "report/readiness.h"

#include <algorithm>
#include <array>

#include "health/test.h"
#include "value/about.h"

namespace gpuready {
namespace {

// Every device that work is given to has memory and computes.
constexpr std::array<std::string_view, 2> kCoreTests = {"memory", "compute"};

bool is_core(const Verdict& verdict) {
  return std::ranges::find(kCoreTests, verdict.test) != kCoreTests.end();
}

bool speaks_against(const Verdict& verdict) {
  using enum VerdictStatus;
  if (verdict.status == not_supported) return is_core(verdict);
  return verdict.status != passed;
}

bool ran_and_passed(const Verdict& verdict) {
  return verdict.status == VerdictStatus::passed && find_health_test(verdict.test) != nullptr;
}

}  // namespace

std::vector<const Verdict*> verdicts_about(std::span<const Verdict> verdicts, const Gpu& gpu) {
  std::vector<const Verdict*> about;
  for (const Verdict& verdict : verdicts)
    if (is_about(verdict, gpu)) about.push_back(&verdict);
  return about;
}

bool proves_ready(std::span<const Verdict* const> verdicts) {
  return std::ranges::none_of(verdicts, [](const Verdict* v) { return speaks_against(*v); }) &&
         std::ranges::any_of(verdicts, [](const Verdict* v) { return ran_and_passed(*v); });
}

bool ran_core_tests(std::span<const Verdict* const> verdicts) {
  return std::ranges::all_of(kCoreTests, [&](std::string_view test) {
    return std::ranges::any_of(
        verdicts, [&](const Verdict* v) { return v->test == test && ran_and_passed(*v); });
  });
}

std::vector<std::string> parts_not_judged(std::span<const Verdict* const> verdicts) {
  std::vector<std::string> parts;
  for (const Verdict* verdict : verdicts)
    for (const std::string& part : verdict->not_judged)
      if (auto name = part.substr(0, part.find(':')); std::ranges::find(parts, name) == parts.end())
        parts.push_back(std::move(name));
  return parts;
}

}  // namespace gpuready
