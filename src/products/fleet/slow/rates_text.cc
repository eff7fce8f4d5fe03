#include "fleet/slow/rates_text.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "base/json.h"
#include "base/text.h"

namespace gpuready::fleet {
namespace {

std::unexpected<Error> no_rate(std::string_view why) {
  return fail(ErrorKind::bad_input, std::string(why));
}

Result<double> positive(std::optional<double> rate) {
  if (!rate || *rate <= 0) return no_rate("its rate is not a positive number");
  return *rate;
}

constexpr std::string_view kWrong = "nccl-tests found wrong values in its results";

// Nothing: the text holds no such document.
std::optional<Result<double>> rate_in_json(std::string_view output) {
  constexpr std::size_t kMostTries = 8;
  std::size_t begin = output.find('{');
  for (std::size_t i = 0; i < kMostTries && begin != output.npos; ++i) {
    const auto doc = parse_json(output.substr(begin, output.rfind('}') + 1 - begin), "the output");
    begin = output.find('{', begin + 1);
    if (!doc || !doc->is_object() || !doc->contains("average_bus_bandwidth")) continue;
    if (get_bool(member(*doc, "out_of_bounds"), "okay") == false) return no_rate(kWrong);
    return positive(get_double(member(*doc, "average_bus_bandwidth"), "bandwidth"));
  }
  return {};
}

}  // namespace

std::string write_rates(const SlowSearch& search) {
  std::string text = "# gpuready fleet slow: round, node, node, rate\n";
  unsigned number = 0;
  for (const auto& round : search.rounds) {
    ++number;
    for (const PairRate& pair : round)
      text +=
          fmt::format("{} {} {} {}\n", number, search.map.nodes[pair.a], search.map.nodes[pair.b],
                      pair.rate ? fmt::format("{}", *pair.rate) : "-");
  }
  return text;
}

Result<std::vector<std::vector<PairRate>>> read_rates(std::string_view text, const FleetMap& map) {
  std::map<std::string_view, std::uint32_t> index;
  for (std::uint32_t i = 0; i < map.nodes.size(); ++i) index.emplace(map.nodes[i], i);
  std::vector<std::vector<PairRate>> rounds;
  std::uint64_t last = 0;
  std::set<std::uint32_t> used;  // in this round
  std::size_t number = 0;
  for (const std::string_view line : lines(text)) {
    ++number;
    const auto words = split(line.substr(0, line.find('#')), " \t");
    if (words.empty()) continue;
    const auto wrong = [&](std::string_view why) {
      return fail(ErrorKind::bad_input, fmt::format("line {}: {}", number, why));
    };
    if (words.size() != 4) return wrong("it is not \"ROUND NODE NODE RATE\"");
    const auto round = parse_uint(words[0]);
    if (!round || *round == 0 || *round < last)
      return wrong("rounds are numbered from 1, and in order");
    if (*round != last) rounds.emplace_back(), used.clear();
    last = *round;
    PairRate pair;
    for (auto& [word, node] : {std::pair{words[1], &pair.a}, {words[2], &pair.b}}) {
      const auto at = index.find(word);
      if (at == index.end())
        return wrong(fmt::format("{} is not one of the nodes", printable(word)));
      if (!used.insert(at->second).second)
        return wrong(fmt::format("{} is in this round twice", printable(word)));
      *node = at->second;
    }
    if (words[3] != "-") {
      const auto rate = positive(parse_double(words[3]));
      if (!rate) return wrong(rate.error().message);
      pair.rate = *rate;
    }
    rounds.back().push_back(pair);
  }
  return rounds;
}

Result<double> rate_in(std::string_view output) {
  if (auto rate = rate_in_json(output)) return *rate;
  constexpr std::string_view kAverage = "Avg bus bandwidth", kOutOfBounds = "Out of bounds values";
  if (const auto at = output.find(kOutOfBounds); at != output.npos)
    if (contains(output.substr(at, output.find('\n', at) - at), "FAILED")) return no_rate(kWrong);
  std::string_view from = output;
  if (const auto at = output.find(kAverage); at != output.npos) {
    const auto words = split(output.substr(at + kAverage.size()), " \t\n:");
    return positive(words.empty() ? std::nullopt : parse_double(words[0]));
  }
  // The last number, whatever is around it, such as "rate": 46.3}.
  const auto words = split(from, " \t\r\n,;:=\"'{}[]()");
  for (auto word = words.rbegin(); word != words.rend(); ++word)
    if (const auto rate = parse_double(*word)) return positive(*rate);
  return no_rate("its output has no number");
}

}  // namespace gpuready::fleet
