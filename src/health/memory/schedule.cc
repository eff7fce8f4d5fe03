#include "health/memory/schedule.h"

#include <fmt/format.h>

#include <utility>

#include "base/random.h"
#include "kernel_abi/memory_patterns.h"

namespace gpuready {
namespace {

constexpr double kShortPauseS = 1, kLongPauseS = 10;

class RoundMaker {
 public:
  RoundMaker(const MemorySchedule& schedule, std::size_t round)
      : schedule_(schedule), round_(round), numbers_(schedule.seed + round * SplitMix64::kStep) {}

  MemoryRound make() {
    address_and_complement();
    if (schedule_.level != Level::quick) {
      const bool thorough = schedule_.level == Level::thorough;
      moving_inversions();
      random();
      block_move();
      walking(thorough ? 64 : 1);
      modulo(thorough ? kModuloGroups : 1);
      retention(thorough ? kLongPauseS : kShortPauseS);
    }
    if (schedule_.hammer) hammer();
    return std::move(made_);
  }

 private:
  using Kind = MemoryPassKind;

  std::uint64_t next_number() { return numbers_.next(); }
  MemoryPattern fresh(std::uint64_t kind, std::uint64_t key) {
    return {kind, next_number(), key, false};
  }

  void begin(std::string name) { made_.patterns.push_back({std::move(name), {}}); }
  MemoryStep& add(Kind kind, std::string phase, std::string rate_name,
                  const MemoryPattern& pattern) {
    MemoryStep step;
    step.kind = kind;
    step.phase = std::move(phase);
    step.rate_name = std::move(rate_name);
    step.pattern = pattern;
    step.write = made_.writes;
    if (step.writes()) ++made_.writes;
    auto& steps = made_.patterns.back().steps;
    steps.push_back(std::move(step));
    return steps.back();
  }
  void write_and_verify(const std::string& what, const std::string& rate,
                        const MemoryPattern& pattern) {
    add(Kind::write, "write " + what, fmt::format("write_{}_rate", rate), pattern);
    add(Kind::verify, "verify " + what, fmt::format("verify_{}_rate", rate), pattern);
  }

  void verify_quarter(unsigned quarter, std::string phase, const MemoryPattern& pattern) {
    auto& step = add(Kind::verify, std::move(phase), "verify_inversions_rate", pattern);
    step.first_quarter = step.source_quarter = quarter;
    step.quarters = 1;
  }

  void address_and_complement() {
    // The seed itself is the first salt, so that it alone says what the memory holds.
    const MemoryPattern address{kPatternAddress, round_ == 0 ? schedule_.seed : next_number(), 0,
                                false};
    begin("address");
    add(Kind::write, "write", "write_address_rate", address);
    add(Kind::verify, "verify", "verify_address_rate", address);
    begin("complement");
    write_and_verify("complement", "complement", address.inverted());
  }

  void moving_inversions() {
    const MemoryPattern pattern = fresh(kPatternAddress, 0);
    begin("moving inversions");
    add(Kind::write, "write before inversions", "write_inversions_rate", pattern);
    add(Kind::invert, "invert upwards", "invert_up_rate", pattern);
    // What a pass ends with is still in the L2 cache: the other end is read first, so that the pass
    // that turns round reads memory.
    verify_quarter(0, "verify before turning", pattern.inverted());
    add(Kind::invert, "invert downwards", "invert_down_rate", pattern.inverted()).descending = true;
    verify_quarter(3, "verify after turning", pattern);
    add(Kind::verify, "verify after inversions", "verify_inversions_rate", pattern);
  }

  void random() {
    const std::uint64_t key = next_number();
    begin("random");
    write_and_verify("random", "random", fresh(kPatternRandom, key));
  }

  // Lower half to upper half by the copy engine; then, by our kernel, each quarter of the upper
  // half to the other place in the lower half, which so gets words that it did not hold.
  void block_move() {
    const MemoryPattern pattern = fresh(kPatternAddress, 0);
    const auto move = [&](Kind kind, const char* by, unsigned to, unsigned from,
                          unsigned quarters) {
      auto& step =
          add(kind, fmt::format("move by {}", by), fmt::format("move_{}_rate", by), pattern);
      step.first_quarter = to, step.source_quarter = from, step.quarters = quarters;
    };
    const auto verify = [&](const char* by, unsigned first, unsigned written_for,
                            unsigned quarters) {
      auto& step = add(Kind::verify, fmt::format("verify after {}", by),
                       fmt::format("verify_{}_move_rate", by), pattern);
      step.first_quarter = first, step.source_quarter = written_for, step.quarters = quarters;
    };
    begin("block move");
    add(Kind::write, "write before moves", "write_move_rate", pattern).write =
        MemoryStep::kUnreadWrite;
    --made_.writes;
    move(Kind::move_engine, "engine", 2, 0, 2);
    verify("engine", 2, 0, 2);
    move(Kind::move_kernel, "kernel", 0, 3, 1);
    move(Kind::move_kernel, "kernel", 1, 2, 1);
    verify("kernel", 0, 1, 1);
    verify("kernel", 1, 0, 1);
  }

  void walking(unsigned keys) {
    const std::uint64_t start = next_number();
    for (const bool zeros : {false, true}) {
      const std::string what = zeros ? "walking zeros" : "walking ones";
      begin(what);
      for (unsigned i = 0; i < keys; ++i) {
        MemoryPattern pattern{kPatternWalking, 0, (start + i) % 64, zeros};
        write_and_verify(what, zeros ? "walking_zeros" : "walking_ones", pattern);
      }
    }
  }

  void modulo(unsigned keys) {
    const std::uint64_t start = next_number();
    const std::string what = fmt::format("modulo {}", kModuloGroups);
    begin(what);
    for (unsigned i = 0; i < keys; ++i) {
      MemoryPattern pattern = fresh(kPatternModulo, (start + i) % kModuloGroups);
      pattern.complement = i % 2 != 0;
      add(Kind::write, "write " + what, "write_modulo_rate", pattern);
      --made_.writes;
      add(Kind::write, "rewrite its neighbours", "rewrite_modulo_rate", pattern).select =
          kWriteOthers;
      add(Kind::verify, "verify " + what, "verify_modulo_rate", pattern);
    }
  }

  void retention(double pause_s) {
    const std::uint64_t key = next_number();
    const MemoryPattern pattern = fresh(kPatternRandom, key);
    begin("retention");
    add(Kind::write, "write before pause", "write_retention_rate", pattern);
    add(Kind::pause, "pause", "", pattern).pause_s = pause_s;
    add(Kind::verify, "verify after pause", "verify_retention_rate", pattern);
  }

  void hammer() {
    const MemoryPattern pattern = fresh(kPatternAddress, 0);
    begin("repeated access");
    add(Kind::write, "write before repeated access", "write_hammer_rate", pattern);
    add(Kind::hammer, "repeated access", "", pattern);
    add(Kind::verify, "verify after repeated access", "verify_hammer_rate", pattern);
  }

  const MemorySchedule& schedule_;
  std::size_t round_;
  SplitMix64 numbers_;
  MemoryRound made_;
};

}  // namespace

std::size_t rounds_of(Level level) { return level == Level::thorough ? 3 : 1; }

MemoryRound make_round(const MemorySchedule& schedule, std::size_t round) {
  return RoundMaker(schedule, round).make();
}

}  // namespace gpuready
