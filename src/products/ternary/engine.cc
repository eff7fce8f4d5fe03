// CpuEngine: chooses a tier and keeps the threads.
#include "ternary/engine.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "base/text.h"
#include "ternary/call_log.h"
#include "ternary/compute.h"
#include "ternary/cpu/tiers.h"
#include "ternary/floats.h"
#include "ternary/shape.h"

namespace gpuready::ternary {
namespace {

// The tier that is demanded by name in the environment.
Result<std::optional<Tier>> demanded_tier(const EngineOptions& options) {
  if (options.tier) return options.tier;
  const char* name = std::getenv("GPUREADY_TERNARY_TIER");
  if (name == nullptr || *name == 0) return std::nullopt;
  for (const Tier tier : kAllTiers) {
    if (to_string(tier) == name) return tier;
  }
  return fail(ErrorKind::unsupported_tier,
              "GPUREADY_TERNARY_TIER names no tier: \"" + printable(name) + "\"");
}

std::string why_not_now(Tier tier) {
  std::string reason = why_not(tier);
  if (reason.empty() && tier == Tier::amx) reason = ask_for_tiles();
  return reason;
}

Result<std::unique_ptr<Workers>> workers_for(const EngineOptions& options) {
  if (!options.pool) {
    TRY(check_threads(options.threads));
    return std::make_unique<Workers>(options.threads == 0 ? std::min(usable_cpus(), kMostThreads)
                                                          : options.threads);
  }
  if (options.pool->run == nullptr || options.pool->threads == 0 ||
      options.pool->threads > kMostThreads)
    return fail(ErrorKind::bad_input, "a thread pool needs a function that runs tasks, and 1 to " +
                                          std::to_string(kMostThreads) + " threads");
  return std::make_unique<Workers>(*options.pool);
}

}  // namespace

CpuEngine::CpuEngine(std::unique_ptr<detail::CpuEngine> engine) : engine_(std::move(engine)) {}
CpuEngine::CpuEngine(CpuEngine&&) noexcept = default;
CpuEngine& CpuEngine::operator=(CpuEngine&&) noexcept = default;
CpuEngine::~CpuEngine() = default;

Result<CpuEngine> CpuEngine::create(const EngineOptions& options) {
  return compute([&]() -> Result<CpuEngine> {
    const auto demanded = TRY(demanded_tier(options));
    TRY(check_call_log());
    const auto reading = TRY(reading_of(std::getenv("GPUREADY_TERNARY_READING")));
    std::vector<std::string> fallbacks;
    std::optional<Tier> chosen;
    if (demanded) {
      const std::string reason = why_not_now(*demanded);
      if (reason.empty()) {
        chosen = *demanded;
      } else {
        const std::string text = std::string(to_string(*demanded)) + ": " + reason;
        if (options.strict) return fail(ErrorKind::unsupported_tier, text);
        fallbacks.push_back(text);
      }
    }
    for (auto tier = std::rbegin(kAllTiers); !chosen && tier != std::rend(kAllTiers); ++tier) {
      if (!why_not(*tier).empty()) continue;  // what the CPU lacks is not a fallback
      const std::string reason = why_not_now(*tier);
      if (reason.empty()) {
        chosen = *tier;
      } else {
        fallbacks.push_back(std::string(to_string(*tier)) + ": " + reason);
      }
    }
    auto engine = std::make_unique<detail::CpuEngine>(TRY(workers_for(options)));
    engine->tier = *chosen;  // scalar at the least
    engine->reading = ReadingChoice(reading);
    engine->table = table_of(*chosen);
    engine->fallbacks = std::move(fallbacks);
    return CpuEngine(std::move(engine));
  });
}

Tier CpuEngine::tier() const { return engine_->tier; }
unsigned CpuEngine::threads() const { return engine_->workers->count(); }
const std::vector<std::string>& CpuEngine::fallbacks() const { return engine_->fallbacks; }

Result<void> CpuEngine::multiply(const PackedWeights& weights, const Activations& activations,
                                 std::span<std::int32_t> out) const {
  return compute([&] {
    return multiply_any(*engine_, weights.cpu(), activations.detail(),
                        {kernels::kInt32, out.data(), 4}, out.size());
  });
}
Result<void> CpuEngine::multiply(const PackedWeights& weights, const Activations& activations,
                                 std::span<float> out) const {
  return compute([&] {
    return multiply_any(*engine_, weights.cpu(), activations.detail(),
                        {kernels::kFloat32, out.data(), 4}, out.size());
  });
}
Result<void> CpuEngine::multiply_bf16(const PackedWeights& weights, const Activations& activations,
                                      std::span<std::uint16_t> out) const {
  return compute([&] {
    return multiply_any(*engine_, weights.cpu(), activations.detail(),
                        {kernels::kBfloat16, out.data(), 2}, out.size());
  });
}

Result<void> CpuEngine::multiply(const PackedWeights& weights, const Activations& activations,
                                 FloatType type, std::span<std::byte> out,
                                 const Addends& addends) const {
  return compute([&]() -> Result<void> {
    TRY(check_type(type));
    const std::size_t size = bytes_of(type);
    const std::size_t rows = static_cast<std::size_t>(activations.rows()),
                      cols = static_cast<std::size_t>(weights.shape().rows);
    if (out.size() % size != 0 || std::bit_cast<std::uintptr_t>(out.data()) % size != 0)
      return fail(ErrorKind::wrong_size, "the output is not of whole, aligned elements");
    TRY(check_addends(addends, rows, cols, out));
    constexpr kernels::OutputType kTypes[] = {kernels::kFloat32, kernels::kFloat16,
                                              kernels::kBfloat16};  // by FloatType
    Output output{kTypes[static_cast<int>(type)], out.data(), size};
    if (!addends.bias.bytes.empty() || !addends.residual.bytes.empty()) output.addends = &addends;
    return multiply_any(*engine_, weights.cpu(), activations.detail(), output, out.size() / size);
  });
}

}  // namespace gpuready::ternary
