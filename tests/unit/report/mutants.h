// Machines with something changed at random, for tests of what must hold on every machine. The same
// seed gives the same changes.
#pragma once

#include <array>
#include <iterator>
#include <random>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "host/recording/recording.h"

namespace gpuready::test {

class Mutator {
 public:
  // `logs`: kernel logs of other machines, whose lines are mixed in.
  explicit Mutator(std::uint64_t seed, std::span<const std::string> logs = {})
      : engine_(seed), logs_(logs) {}

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

  // One that has the same name in another folder, if any: what one GPU says, said by another.
  template <class Map>
  void swap(Map& map) {
    if (map.size() < 2) return;
    const auto one = any(map);
    const std::string leaf = one->first.substr(one->first.rfind('/') + 1);
    std::vector<typename Map::iterator> alike;
    for (auto it = map.begin(); it != map.end(); ++it)
      if (it != one && it->first.ends_with("/" + leaf)) alike.push_back(it);
    std::swap(one->second, (alike.empty() ? any(map) : alike[below(alike.size())])->second);
  }
  void swap_files(Recording& recording) { swap(recording.files); }
  void swap_links(Recording& recording) { swap(recording.links); }

  void garble(std::string& text) {
    if (text.empty()) {
      text = "\xFF\n";
      return;
    }
    const std::size_t at = below(text.size());
    switch (below(5)) {
      case 0:
        text[at] = static_cast<char>(below(256));
        break;
      case 1:
        text.resize(at);
        break;
      case 2:
        text.insert(at, text.substr(at, below(80)));
        break;
      case 3:
        text.erase(at, 1 + below(8));
        break;
      default:  // another number
        if (const auto digit = text.find_first_of("0123456789", at); digit != text.npos)
          text[digit] = static_cast<char>('0' + below(10));
    }
  }
  void garble_file(Recording& recording) {
    if (recording.files.empty()) return;
    if (auto* text = std::get_if<std::string>(&any(recording.files)->second)) garble(*text);
  }
  void garble_link(Recording& recording) {
    if (recording.links.empty()) return;
    if (auto* text = std::get_if<std::string>(&any(recording.links)->second)) garble(*text);
  }
  void garble_log(Recording& recording) {
    if (!recording.kernel_log) return;
    if (auto* text = std::get_if<std::string>(&*recording.kernel_log)) garble(*text);
  }

  // What another machine's kernel said, about GPUs that may be here or not.
  void graft_log(Recording& recording) {
    if (logs_.empty()) return;
    if (!recording.kernel_log || !std::holds_alternative<std::string>(*recording.kernel_log))
      recording.kernel_log = std::string();
    auto& text = std::get<std::string>(*recording.kernel_log);
    const std::string& other = logs_[below(logs_.size())];
    if (!text.empty() && !text.ends_with('\n')) text += '\n';
    text.insert(below(2) == 0 ? 0 : text.size(), other.ends_with('\n') ? other : other + '\n');
  }

  // An answer of NVML, CUDA or Vulkan that says something else: another value or type, or what
  // another call answered.
  void change_answer(Recording& recording) {
    static const Json kValues[] = {
        nullptr,        0,     1,    -1,    4294967295u,   18446744073709551615u, "",
        "0000:00:00.0", "N/A", true, 1e308, Json::array(), Json::object()};
    if (recording.probes.empty()) return;
    auto& calls = any(recording.probes)->second.calls;
    if (calls.empty()) return;
    auto& call = any(calls)->second;
    if (below(2) == 0)
      call.value = kValues[below(std::size(kValues))];
    else
      std::swap(call.value, any(calls)->second.value);
  }
  void miss_symbol(Recording& recording) {
    if (recording.probes.empty()) return;
    auto& calls = any(recording.probes)->second.calls;
    if (!calls.empty()) any(calls)->second.missing = true;
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
      &Mutator::contain,     &Mutator::hide_by_variable,  &Mutator::swap_files,
      &Mutator::swap_links,  &Mutator::garble_file,       &Mutator::garble_link,
      &Mutator::garble_log,  &Mutator::graft_log,         &Mutator::change_answer,
      &Mutator::miss_symbol};

  std::mt19937_64 engine_;
  std::span<const std::string> logs_;
};

}  // namespace gpuready::test
