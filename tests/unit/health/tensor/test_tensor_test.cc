#include "health/tensor/test_tensor.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <set>

#include "health/tensor/fault.h"
#include "health/tensor/judge.h"
#include "kernels/record_kernel.h"
#include "unit/health/forwarding_device.h"

namespace gpuready {
namespace {

constexpr std::uint64_t kSeed = 4;

TestOptions options_for(std::optional<Fault> inject = std::nullopt) {
  TestOptions options;
  options.duration_s = 0.002;
  options.seed = kSeed;
  options.inject = inject;
  return options;
}

// Stands where a Turing GPU of 4 SMs would: host memory behind, and instead of a kernel a function
// that writes what such a kernel would have. It has no tensor cores: what is tested is the verdict.
class StandIn final : public ForwardingDevice {
 public:
  using Behaviour = std::function<void(const TensorParams&, TensorResults&)>;
  explicit StandIn(Behaviour behaviour, int capability = 75)
      : ForwardingDevice(1, 64 * MiB), behaviour_(std::move(behaviour)), info_(inner_->info()) {
    info_.executor = "cuda";
    info_.compute_capability = capability;
    info_.units = 4;
  }
  const DeviceInfo& info() const override { return info_; }
  Result<void> prepare(const Kernel&) override { return {}; }
  Result<void> launch(StreamId stream, const Kernel& kernel, const LaunchShape& shape,
                      const void* p, std::size_t bytes) override {
    if (&kernel == &kRecord) return inner_->launch(stream, kernel, shape, p, bytes);
    launched_ = shape;
    kernel_ = &kernel;
    const auto& params = *static_cast<const TensorParams*>(p);
    behaviour_(params, *reinterpret_cast<TensorResults*>(params.results_address));
    return {};
  }
  Result<unsigned> resident_blocks(const Kernel&, unsigned, unsigned shared_bytes) override {
    return 64 * 1024 / std::max(shared_bytes, 16u * 1024);
  }
  LaunchShape launched_;
  const Kernel* kernel_ = nullptr;  // of the latest launch

 private:
  Behaviour behaviour_;
  DeviceInfo info_;
};

void all_right(const TensorParams& p, TensorResults& results) {
  for (unsigned block = 0; block < 4; ++block)
    results.units[block] = {block + 10, block + 10, p.chains * 1000, p.chains * 384};
}

TEST(TensorTest, ADeviceWithoutMatrixInstructionsIsNotSupported) {
  CpuDeviceOptions options;
  options.memory_free_bytes = options.memory_total_bytes = 64 * MiB;
  const auto cpu = make_cpu_device(options);
  const Verdict verdict = test_tensor(*cpu, options_for(), {});
  EXPECT_EQ(verdict.status, VerdictStatus::not_supported);
  EXPECT_NE(verdict.reason.find("cpu"), std::string::npos) << verdict.reason;

  StandIn pascal(all_right, 61);
  EXPECT_EQ(test_tensor(pascal, options_for(), {}).status, VerdictStatus::not_supported);
}

TEST(TensorTest, AGpuOnWhichAllSmsAreSlowFails) {
  // 1,572,864 operations in a chain of every thread; Ampere's SM does 2048 in a cycle.
  const auto with = [](unsigned cycles) {
    return [cycles](const TensorParams& p, TensorResults& results) {
      for (unsigned block = 0; block < 4; ++block)
        results.units[block] = {block, block, p.chains * cycles, p.chains * 384};
    };
  };
  StandIn healthy(with(1000), 80), slow(with(2000), 80), unknown(with(2000), 75);
  EXPECT_EQ(test_tensor(healthy, options_for(), {}).status, VerdictStatus::passed);
  const Verdict verdict = test_tensor(slow, options_for(), {});
  EXPECT_EQ(verdict.status, VerdictStatus::failed);
  EXPECT_NE(verdict.reason.find("all SMs are slow: the fastest does 786 operations"),
            std::string::npos)
      << verdict.reason;
  EXPECT_EQ(test_tensor(unknown, options_for(), {}).status, VerdictStatus::passed);
  TestOptions shared = options_for();
  shared.reserve_free_bytes = 1;
  EXPECT_EQ(test_tensor(slow, shared, {}).status, VerdictStatus::passed);
}

TEST(TensorTest, RightCountsOnEverySmPass) {
  StandIn gpu(all_right);
  const Verdict verdict = test_tensor(gpu, options_for(), {});
  EXPECT_EQ(verdict.status, VerdictStatus::passed) << verdict.reason;
  EXPECT_EQ(verdict.units->tested, 4u);
  EXPECT_EQ(gpu.launched_.blocks, 4u);
  EXPECT_EQ(gpu.launched_.shared_bytes, 33u * 1024);  // the least that leaves one block an SM
}

TEST(TensorTest, AKernelThatDoesNothingFails) {
  StandIn gpu([](const TensorParams&, TensorResults&) {});
  EXPECT_EQ(test_tensor(gpu, options_for(), {}).status, VerdictStatus::failed);
}

TEST(TensorTest, OneCheckTooFewFails) {
  StandIn gpu([](const TensorParams& p, TensorResults& results) {
    all_right(p, results);
    --results.units[2].good;
  });
  EXPECT_EQ(test_tensor(gpu, options_for(), {}).status, VerdictStatus::failed);
}

TEST(TensorTest, AnSmThatWasNotSeenIsInconclusive) {
  StandIn gpu([](const TensorParams& p, TensorResults& results) {
    all_right(p, results);
    results.units[3].unit_at_start = results.units[3].unit_at_end = 10;
  });
  const Verdict verdict = test_tensor(gpu, options_for(), {});
  EXPECT_EQ(verdict.status, VerdictStatus::inconclusive);
  EXPECT_EQ(verdict.units->tested, 3u);
}

TEST(TensorTest, AWrongSumIsNamedWithItsSmElementAndValues) {
  const TensorForm& form = *tensor_forms_for(75)[1];  // int8, which comes before the burn
  const auto data = tensor_case(form, kSeed);
  const TensorElement element = form.element(40, 3);
  StandIn gpu([&](const TensorParams& p, TensorResults& results) {
    all_right(p, results);
    --results.units[1].good;
    results.bad = 1;
    TensorMismatch& entry = results.mismatches[0];
    entry.unit = 11, entry.thread = 40, entry.chain = 13;
    for (unsigned i = 0; i < form.accumulators(); ++i)
      entry.values[i] = data->golden(form.element(40, i), 13 % 8);
    entry.values[3] ^= 0x400;
  });
  const Verdict verdict = test_tensor(gpu, options_for(), {});
  EXPECT_EQ(verdict.status, VerdictStatus::failed);
  EXPECT_NE(verdict.reason.find("SM 11"), std::string::npos) << verdict.reason;
  ASSERT_EQ(verdict.mismatches.size(), 1u);
  const Mismatch& found = verdict.mismatches.front();
  EXPECT_EQ(found.what, "int8 mma");
  EXPECT_EQ(found.unit, 11u);
  EXPECT_EQ(found.index, std::uint64_t{element.row} * form.rows(TensorOperand::b) + element.column);
  EXPECT_EQ(found.expected, data->golden(element, 5));
  EXPECT_EQ(found.actual, found.expected ^ 0x400);
}

TEST(TensorTest, ASlowSmFailsAndIsNamed) {
  StandIn gpu([](const TensorParams& p, TensorResults& results) {
    all_right(p, results);
    results.units[2].cycles = p.chains * 1150;
  });
  const Verdict verdict = test_tensor(gpu, options_for(), {});
  EXPECT_EQ(verdict.status, VerdictStatus::failed);
  EXPECT_NE(verdict.reason.find("SM 12"), std::string::npos) << verdict.reason;
}

TEST(TensorTest, AnSmThatIsSlowInOneRoundOnlyPasses) {
  int launches = 0;
  StandIn gpu([&](const TensorParams& p, TensorResults& results) {
    all_right(p, results);
    results.units[++launches % 4].cycles = p.chains * 3000;
  });
  const Verdict verdict = test_tensor(gpu, options_for(), {});
  EXPECT_EQ(verdict.status, VerdictStatus::passed) << verdict.reason;
}

TEST(TensorTest, CancelledIsInconclusive) {
  StandIn gpu(all_right);
  const std::atomic<bool> cancel{true};
  TestHooks hooks;
  hooks.cancel = &cancel;
  EXPECT_EQ(test_tensor(gpu, options_for(), hooks).status, VerdictStatus::inconclusive);
}

TEST(TensorTest, ProductionLaunchesCarryNoFaultAndInjectedOnesDo) {
  for (const auto kind : {FaultClass::wrong_sm, FaultClass::nan, FaultClass::slow_sm}) {
    int clean = 0, faulty = 0;
    StandIn gpu([&](const TensorParams& p, TensorResults& results) {
      all_right(p, results);
      ++(p.fault_kind == kTensorFaultNone ? clean : faulty);
      if (p.fault_kind != kTensorFaultNone) {
        EXPECT_GE(p.fault_unit, 10u);
        EXPECT_LT(p.fault_chain, p.chains);
      }
    });
    (void)test_tensor(gpu, options_for(), {});
    EXPECT_EQ(faulty, 0);
    (void)test_tensor(gpu, options_for(Fault{kind, 77, 1}), {});
    EXPECT_GT(faulty, 0) << to_string(kind);
  }
}

TEST(TensorTest, AWrongValueIsInTheFormDrawnAndWhatIsSlowIsSlowInAll) {
  const auto forms = tensor_forms_for(80);
  std::set<const Kernel*> all;
  for (const TensorForm* form : forms) all.insert(form->kernel);
  ASSERT_EQ(all.size(), forms.size());
  const std::uint64_t units[] = {10, 11, 12, 13};
  for (const auto kind :
       {FaultClass::wrong_sm, FaultClass::nan, FaultClass::slow_sm, FaultClass::slow_clock})
    for (const std::uint64_t seed : {1u, 2u, 3u}) {
      const Fault fault{kind, seed, 1};
      std::set<const Kernel*> faulty;
      StandIn* launched = nullptr;
      StandIn gpu(
          [&](const TensorParams& p, TensorResults& results) {
            all_right(p, results);
            if (p.fault_kind != kTensorFaultNone) faulty.insert(launched->kernel_);
          },
          80);
      launched = &gpu;
      const Verdict v = test_tensor(gpu, options_for(fault), {});
      EXPECT_EQ(v.status, VerdictStatus::passed) << "this GPU ignores the fault: " << v.reason;
      const bool slow = kind == FaultClass::slow_sm || kind == FaultClass::slow_clock;
      const auto place = draw_tensor_fault(fault, forms, units);
      EXPECT_EQ(faulty, slow ? all : std::set<const Kernel*>{forms[place.form]->kernel})
          << to_string(kind) << " " << seed;
    }
}

TEST(TensorTest, FaultsAreDrawnFromTheirSeedOverAllSmsAndForms) {
  const auto forms = tensor_forms_for(90);
  const std::uint64_t units[] = {3, 5, 8};
  std::array<int, 10> by_form{};
  std::map<std::uint64_t, int> by_unit;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    const auto place = draw_tensor_fault({FaultClass::nan, seed, 1}, forms, units);
    const TensorForm& form = *forms[place.form];
    EXPECT_NE(form.type, TensorType::int8);  // which has no NaN
    EXPECT_LT(place.fault.thread, form.threads());
    EXPECT_LT(place.fault.element, form.accumulators());
    EXPECT_LT(place.fault.chain, kLeastTensorChains);
    ++by_form[place.form];
    ++by_unit[place.fault.unit];
    const auto again = draw_tensor_fault({FaultClass::nan, seed, 1}, forms, units);
    EXPECT_EQ(again.fault.thread, place.fault.thread);
  }
  for (const auto unit : units) EXPECT_GT(by_unit[unit], 100);
  EXPECT_EQ(std::count(by_form.begin(), by_form.end(), 0), 2);  // the two of int8
}

TEST(TensorTest, SlowUnitsAreThoseBeyondATenthOverTheMedian) {
  EXPECT_TRUE(find_slow_units({}).units.empty());
  EXPECT_TRUE(find_slow_units({{0, 100}, {1, 109}, {2, 100}}).units.empty());
  const auto slow = find_slow_units({{0, 100}, {1, 100}, {2, 150}, {3, 100}, {4, 112}});
  ASSERT_EQ(slow.units.size(), 2u);
  EXPECT_EQ(slow.units[0].first, 2u);
  EXPECT_EQ(slow.units[1].first, 4u);
  EXPECT_NEAR(slow.median_to_slowest, 100.0 / 150, 1e-9);
}

}  // namespace
}  // namespace gpuready
