#include "vm/guest/steps.h"

#include <fmt/format.h>

#include "base/text.h"

namespace gpuready::vm {
namespace {

constexpr std::string_view kMark = "gpuready-guest: ";

// The next word of a line, which is taken from it.
std::string_view take_word(std::string_view& line) {
  const auto end = std::min(line.find(' '), line.size());
  const auto word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

}  // namespace

std::string to_line(const Step& step) {
  return printable(fmt::format("{}{:.3f} {} {} {}: {}", kMark, step.seconds, name_of(step.state),
                               step.kind, step.subject, step.text));
}

std::vector<Step> steps_in(std::string_view console) {
  std::vector<Step> found;
  for (auto line : lines(console)) {
    const auto at = line.find(kMark);
    if (at == line.npos) continue;
    line.remove_prefix(at + kMark.size());
    const auto seconds = parse_double(take_word(line));
    const auto state = take_word(line), kind = take_word(line);
    auto subject = take_word(line);
    if (!seconds || !subject.ends_with(':')) continue;
    subject.remove_suffix(1);
    if (const auto known = named<StepState>(state))
      found.push_back(
          {*seconds, *known, std::string(kind), std::string(subject), std::string(trim(line))});
  }
  return found;
}

void Steps::add(StepState state, std::string kind, std::string subject, std::string text) {
  failed_ |= state == StepState::failed;
  for (char& c : subject)
    if (c == ' ') c = '_';
  tell_({elapsed_ms(start_) / 1000, state, std::move(kind), std::move(subject), std::move(text)});
}

}  // namespace gpuready::vm
