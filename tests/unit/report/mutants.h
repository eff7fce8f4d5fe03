// Machines with something changed at random, for tests of what must hold on every machine. The same
// seed gives the same changes.
#pragma once

#include <array>
#include <iterator>
#include <random>
#include <string>
#include <variant>

#include "host/recording.h"

namespace gpuready::test {

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : engine_(seed) {}

  // One to four changes, each of a kind of its own choice.
  Recording mutate(Recording recording) {
    for (std::size_t left = 1 + below(4); left > 0; --left)
      (this->*kChanges[below(kChanges.size())])(recording);
    return recording;
  }

 private:
  std::size_t below(std::size_t limit) { return static_cast<std::size_t>(engine_() % limit); }

  template <class Map>
  auto any(Map& map) {
    return std::next(map.begin(), static_cast<std::ptrdiff_t>(below(map.size())));
  }
  template <class Map>
  void drop(Map& map) {
    if (!map.empty()) map.erase(any(map));
  }

  void drop_file(Recording& recording) { drop(recording.files); }
  void drop_link(Recording& recording) { drop(recording.links); }
  void drop_status(Recording& recording) { drop(recording.statuses); }
  void drop_probe(Recording& recording) { drop(recording.probes); }
  void drop_gpu(Recording& recording) {  // from the bus
    std::erase_if(recording.links, [&, left = 1](const auto& link) mutable {
      return link.first.starts_with("/sys/bus/pci/devices/") && below(4) == 0 && left-- > 0;
    });
  }

  void break_file(Recording& recording) {
    constexpr std::array kKinds = {ErrorKind::no_permission, ErrorKind::io};
    if (!recording.files.empty())
      any(recording.files)->second = RecordedFailure{kKinds[below(2)], "Input/output error", 5};
  }

  void drop_lines(std::string& text) {
    const std::size_t start = text.empty() ? 0 : below(text.size());
    const std::size_t begin = text.rfind('\n', start) + 1;  // npos + 1 is 0
    const std::size_t end = text.find('\n', start);
    text.erase(begin, end == std::string::npos ? end : end + 1 - begin);
  }
  void drop_line_of_file(Recording& recording) {
    if (recording.files.empty()) return;
    if (auto* text = std::get_if<std::string>(&any(recording.files)->second)) drop_lines(*text);
  }
  void drop_line_of_log(Recording& recording) {
    if (!recording.kernel_log) return;
    if (auto* text = std::get_if<std::string>(&*recording.kernel_log)) drop_lines(*text);
  }
  void hide_log(Recording& recording) {
    recording.kernel_log = RecordedFailure{ErrorKind::no_permission, "Operation not permitted", 1};
  }

  void change_code(Recording& recording) {
    constexpr std::array kCodes = {0, 3, 4, 9, 12, 15, 16, 18, 100, 101, 802, 804, 999};
    if (recording.probes.empty()) return;
    auto& calls = any(recording.probes)->second.calls;
    if (!calls.empty()) any(calls)->second.code = kCodes[below(kCodes.size())];
  }
  // Starts and counts decide most, and are few among the calls.
  void change_start(Recording& recording) {
    for (auto& [name, document] : recording.probes)
      for (auto& [call, answer] : document.calls)
        if (call.find("Init") != call.npos && below(2) == 0)
          answer.code = below(2) == 0 ? 999 : 100;
  }
  void drop_handle(Recording& recording) {
    for (auto& [name, document] : recording.probes)
      for (auto& [call, answer] : document.calls)
        if (call.find("Handle") != call.npos && below(4) == 0) answer.code = 15;
  }
  void drop_call(Recording& recording) {
    if (!recording.probes.empty()) drop(any(recording.probes)->second.calls);
  }
  void end_probe(Recording& recording) {
    constexpr std::array kEnds = {ProbeOutcome::no_library, ProbeOutcome::timed_out,
                                  ProbeOutcome::hung,       ProbeOutcome::crashed,
                                  ProbeOutcome::not_asked,  ProbeOutcome::failed_to_start};
    if (recording.probes.empty()) return;
    auto& document = any(recording.probes)->second;
    document.outcome = kEnds[below(kEnds.size())];
    if (below(2) == 0) document.calls.clear();
  }

  void refuse_open(Recording& recording) {
    if (!recording.opens.empty())
      any(recording.opens)->second =
          RecordedFailure{ErrorKind::no_permission, "EPERM", below(2) == 0 ? 1 : 13};
  }
  void hide_by_variable(Recording& recording) {
    constexpr std::array kValues = {"", "0", "1,0", "7", "GPU-", "NoDevFiles"};
    recording.environment["CUDA_VISIBLE_DEVICES"] = kValues[below(kValues.size())];
  }
  void contain(Recording& recording) { recording.files["/.dockerenv"] = std::string(); }

  static constexpr std::array kChanges = {
      &Mutator::drop_file,   &Mutator::drop_link,         &Mutator::drop_status,
      &Mutator::drop_probe,  &Mutator::drop_gpu,          &Mutator::break_file,
      &Mutator::hide_log,    &Mutator::drop_line_of_file, &Mutator::drop_line_of_log,
      &Mutator::change_code, &Mutator::change_start,      &Mutator::drop_handle,
      &Mutator::drop_call,   &Mutator::end_probe,         &Mutator::refuse_open,
      &Mutator::contain,     &Mutator::hide_by_variable};

  std::mt19937_64 engine_;
};

}  // namespace gpuready::test
