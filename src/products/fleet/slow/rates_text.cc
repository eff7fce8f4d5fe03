#include "fleet/slow/rates_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "base/characters.h"
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

constexpr std::string_view kWrongRate = "wrong";  // in a file of rates
constexpr std::string_view kAverage = "Avg bus bandwidth";
constexpr std::string_view kAverageInJson = "average_bus_bandwidth";

// The document of nccl-tests, which may follow other text.
std::optional<Json> document_in(std::string_view output) {
  constexpr std::size_t kMostTries = 8;
  std::size_t begin = output.find('{');
  for (std::size_t i = 0; i < kMostTries && begin != output.npos; ++i) {
    auto doc = parse_json(output.substr(begin, output.rfind('}') + 1 - begin), "the output");
    begin = output.find('{', begin + 1);
    if (doc && doc->is_object() && doc->contains(kAverageInJson)) return std::move(*doc);
  }
  return {};
}

std::size_t count_lines(std::string_view output, bool (*holds)(std::string_view line)) {
  return static_cast<std::size_t>(std::ranges::count_if(lines(output), holds));
}
std::size_t count_of(std::string_view output, std::string_view part) {
  std::size_t number = 0;
  for (auto at = output.find(part); at != output.npos; at = output.find(part, at + 1)) ++number;
  return number;
}
// "#  Rank  0 Group  0 Pid 4711 on n1 device  0": each run has one.
bool is_first_rank(std::string_view line) {
  const auto words = split(line, " \t");
  return words.size() > 2 && words[0] == "#" && words[1] == "Rank" && words[2] == "0";
}

// A row with a count of wrong values; srun may label it: size, count, type, operation, root, and
// twice time, two rates and #wrong.
bool is_wrong_row(std::string_view line) {
  const auto words = split(line, " \t");
  constexpr std::size_t kColumns = 13;
  if (words.size() < kColumns) return false;
  const auto row = std::span(words).last(kColumns);
  const auto positive = [](std::string_view word) { return parse_double(word).value_or(0) > 0; };
  return parse_uint(row[0]) && parse_uint(row[1]) && is_letter(row[2][0]) && is_letter(row[3][0]) &&
         parse_int(row[4]) && (positive(row[8]) || positive(row[12]));
}
// What no other program prints, also if it ends early.
constexpr std::string_view kOfNcclTests[] = {"# nThread",         "#wrong",
                                             "Test CUDA failure", "Test NCCL failure",
                                             "Test failure",      "\"out_of_bounds\""};

constexpr std::string_view kAround = " \t\r\n,;:=\"'{}[]()";

// Names such as n12 and H100 are not.
bool is_like_a_number(std::string_view word) {
  const std::string text = to_lower(word.substr(word.find_first_not_of("+-") == 1 ? 1 : 0));
  return text == "nan" || text == "inf" ||
         (std::ranges::any_of(text, is_digit) && !is_letter(text[0]));
}

// "46.9", "46.9GB/s", "98%".
std::optional<double> number_with_unit(std::string_view word) {
  const auto end = word.find_last_of("0123456789") + 1;
  return parse_double(word.substr(0, end));
}

// "46,9" may be one number or two, and of "12:00:01" no part is a rate.
bool is_part_of_more(std::string_view output, std::string_view word) {
  const auto at = static_cast<std::size_t>(word.data() - output.data());
  return at > 1 && contains(",:;='", output.substr(at - 1, 1)) && is_digit(output[at - 2]);
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
                      pair.rate           ? fmt::format("{}", *pair.rate)
                      : pair.wrong_values ? kWrongRate
                                          : "-");
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
    pair.wrong_values = words[3] == kWrongRate;
    if (words[3] != "-" && !pair.wrong_values) {
      const auto rate = positive(parse_double(words[3]));
      if (!rate) return wrong(rate.error().message);
      pair.rate = *rate;
    }
    rounds.back().push_back(pair);
  }
  return rounds;
}

bool has_wrong_values(std::string_view output) {
  if (const auto doc = document_in(output))
    if (get_bool(member(*doc, "out_of_bounds"), "okay") == false) return true;
  return std::ranges::any_of(lines(output), [](std::string_view line) {
    return (contains(line, "Out of bounds values") && contains(line, "FAILED")) ||
           is_wrong_row(line);
  });
}

Result<double> rate_in(std::string_view output) {
  if (has_wrong_values(output)) return no_rate("nccl-tests found wrong values in its results");
  const auto has_average = [](std::string_view line) { return contains(line, kAverage); };
  for (const auto number : {count_lines(output, has_average), count_lines(output, is_first_rank),
                            count_of(output, kAverageInJson)})
    if (number > 1)
      return no_rate(
          fmt::format("its output has {} runs of nccl-tests instead of one: each node may have "
                      "measured only itself, because nccl-tests was built without MPI=1",
                      number));
  if (const auto doc = document_in(output))
    return positive(get_double(member(*doc, kAverageInJson), "bandwidth"));
  if (const auto at = output.find(kAverage); at != output.npos) {
    const auto words = split(output.substr(at + kAverage.size()), " \t\n:");
    return positive(words.empty() ? std::nullopt : parse_double(words[0]));
  }
  if (std::ranges::any_of(kOfNcclTests, [&](auto part) { return contains(output, part); }))
    return no_rate("nccl-tests ended before its average bus bandwidth");
  // The last number, whatever is around it, such as "rate": 46.3}.
  const auto words = split(output, kAround);
  const auto last = std::ranges::find_if(words.rbegin(), words.rend(), is_like_a_number);
  if (last == words.rend()) return no_rate("its output has no number");
  const auto rate = number_with_unit(*last);
  if (!rate || is_part_of_more(output, *last))
    return no_rate(fmt::format(
        "its last number cannot be read: \"{}\"; print it as 46.9",
        printable(split(output.substr(0, last->data() + last->size() - output.data()), " \t\r\n")
                      .back())));
  return positive(rate);
}

}  // namespace gpuready::fleet
