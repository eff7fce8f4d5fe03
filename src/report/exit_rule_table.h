// How tables of exit rules are written: the first rule that holds gives the code, and Exit::ok is
// for an outcome that no rule holds of.
#pragma once

#include <algorithm>
#include <cstddef>

#include "value/envelope.h"

namespace gpuready::exit_rules {

template <class Outcome>
struct ExitRule {
  bool (*holds)(const Outcome& outcome);
  Exit exit;
};

template <class Outcome, std::size_t N>
Exit first_that_holds(const ExitRule<Outcome> (&rules)[N], const Outcome& outcome) {
  for (const auto& rule : rules)
    if (rule.holds(outcome)) return rule.exit;
  return Exit::ok;
}

template <class List, class Test>
bool any(const List& list, Test test) {
  return std::any_of(list.begin(), list.end(), test);
}
template <class List>
bool any_has(const List& list, auto status) {
  return any(list, [&](const auto& item) { return item.status == status; });
}

}  // namespace gpuready::exit_rules
