#include "ternary/suite/verify.h"
#include "ternary/report/exit_rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "fake_gpu.h"
#include "ternary/floats.h"
#include "ternary/suite/verify_subject.h"

namespace gpuready::ternary {
namespace {

template <class T>
std::span<T> elements(OutputView out) {
  return {reinterpret_cast<T*>(out.bytes.data()), out.bytes.size() / sizeof(T)};
}

Subject fake(std::shared_ptr<FakeGpuControl> control) {
  Subject subject;
  subject.name = "cuda:GPU-fake";
  subject.open = [control]() -> Result<std::unique_ptr<Backend>> {
    return std::make_unique<FakeGpu>(control);
  };
  return subject;
}

const CheckResult& check(const VerifyReport& report, std::string_view name) {
  for (const CheckResult& result : report.checks)
    if (result.check == name) return result;
  throw std::runtime_error("no such check");
}

// One subject through a few problems of each check, quicker than the whole list.
class Short {
 public:
  explicit Short(std::unique_ptr<Backend> backend) {
    subject_.name = "tried";
    run_ = std::make_unique<SubjectRun>(subject_, std::move(backend));
  }
  Short& all() {
    for (const std::int64_t k : {1, 63, 129}) run_->packing(17, k, 1);
    for (const ProblemSpec& spec :
         {ProblemSpec{1, 17, 129}, ProblemSpec{3, 33, 64, Fill::random, true},
          ProblemSpec{1, 19, 4096, Fill::all_plus}, ProblemSpec{5, 34, 4096, Fill::saturating}}) {
      const Problem problem = make_problem(spec, 5);
      run_->products(*pack_problem(problem));
    }
    run_->values({4, 17, 129}, FloatType::f32, 1);
    run_->values({4, 17, 129}, FloatType::bf16, 2);
    run_->epilogue({3, 20, 128}, 0, 3);
    run_->epilogue({1, 17, 96}, 32, 4);
    run_->quantise({4, 512}, FloatType::f32, 3);
    run_->absmean({9, 128}, FloatType::bf16, 3);
    run_->accuracy({16, 1024}, 2, 4);
    run_->refusals();
    run_->against(**cpu_, {64, 300}, 3, 9);
    return *this;
  }
  CheckStatus status(CheckId id) {
    for (const CheckResult& result : run_->results())
      if (result.check == kChecks[static_cast<std::size_t>(id)]) return result.status;
    return CheckStatus::not_tested;
  }
  std::string reason(CheckId id) {
    for (const CheckResult& result : run_->results())
      if (result.check == kChecks[static_cast<std::size_t>(id)]) return result.reason;
    return {};
  }
  std::vector<std::string_view> failed() {
    std::vector<std::string_view> names;
    for (std::size_t i = 0; i < kCheckCount; ++i)
      if (status(static_cast<CheckId>(i)) == CheckStatus::failed) names.push_back(kChecks[i]);
    return names;
  }

 private:
  Subject subject_;
  std::unique_ptr<SubjectRun> run_;
  Result<std::unique_ptr<Backend>> cpu_ = make_cpu_backend();
};

using Names = std::vector<std::string_view>;

// A backend that does as another does, but for what a test overrides.
class Forwarding : public Backend {
 public:
  const BackendInfo& info() const override { return gpu_.info(); }
  Result<BackendMemory> memory() override { return gpu_.memory(); }
  std::string_view kernel_for(Shape s, std::int64_t rows) const override {
    return gpu_.kernel_for(s, rows);
  }
  std::uint64_t workspace_bytes(Shape s, std::int64_t rows) const override {
    return gpu_.workspace_bytes(s, rows);
  }
  Result<std::unique_ptr<BackendWeights>> load(const PackedWeights& w) override {
    return gpu_.load(w);
  }
  Result<void> multiply(const BackendWeights& w, const Activations& a, OutputView out) override {
    return gpu_.multiply(w, a, out);
  }
  Result<void> multiply(const BackendWeights& w, const FloatView& a, std::int64_t rows,
                        OutputView out) override {
    return gpu_.multiply(w, a, rows, out);
  }
  Result<Encoded> quantise(const FloatView& w, Shape s, FormatId to,
                           const QuantiseOptions& o) override {
    return gpu_.quantise(w, s, to, o);
  }

 protected:
  std::shared_ptr<FakeGpuControl> control_ = std::make_shared<FakeGpuControl>();
  FakeGpu gpu_{control_};
};

TEST(VerifySuite, right_backends_pass_every_check) {
  Short gpu(std::make_unique<FakeGpu>(std::make_shared<FakeGpuControl>()));
  EXPECT_EQ(gpu.all().failed(), Names{});
  for (std::size_t i = 0; i < kCheckCount; ++i)
    EXPECT_EQ(gpu.status(static_cast<CheckId>(i)), CheckStatus::passed) << kChecks[i];
  Short cpu(*make_cpu_backend());
  EXPECT_EQ(cpu.all().failed(), Names{});
}

TEST(VerifySuite, one_wrong_weight_in_a_tail_is_found) {
  class WrongTail final : public Forwarding {
    Result<std::unique_ptr<BackendWeights>> load(const PackedWeights& weights) override {
      Codes codes = weights.unpack();
      if (codes.shape.cols % 64 == 1 && codes.shape.cols > 64)  // the last one, and no other
        codes.values.back() = codes.values.back() == 0 ? 1 : 0;
      return gpu_.load(*PackedWeights::pack(codes, weights.form()));
    }
  };
  Short run(std::make_unique<WrongTail>());
  const Names failed = run.all().failed();
  EXPECT_EQ(failed, (Names{"packing", "int32", "f32", "bf16", "values"}));
  EXPECT_NE(run.reason(CheckId::packing).find("K 129"), std::string::npos);
}

TEST(VerifySuite, one_wrong_bit_in_the_last_element_is_found) {
  struct Case {
    OutputType type;
    std::string_view name;
  };
  for (const auto& [type, name] : {Case{OutputType::int32, "int32"}, Case{OutputType::f32, "f32"},
                                   Case{OutputType::bf16, "bf16"}}) {
    auto control = std::make_shared<FakeGpuControl>();
    control->spoil = [wanted = type](OutputView out) {
      if (out.type == wanted && out.bytes.size() % 8 != 0) out.bytes.back() ^= std::byte{1};
    };
    Short run(std::make_unique<FakeGpu>(control));
    const Names failed = run.all().failed();
    EXPECT_NE(std::find(failed.begin(), failed.end(), name), failed.end()) << name;
  }
}

TEST(VerifySuite, a_backend_that_does_nothing_fails) {
  class Idle final : public Forwarding {
    Result<void> multiply(const BackendWeights&, const Activations&, OutputView) override {
      return {};
    }
    Result<void> multiply(const BackendWeights&, const FloatView&, std::int64_t,
                          OutputView) override {
      return {};
    }
    Result<Encoded> quantise(const FloatView&, Shape shape, FormatId to,
                             const QuantiseOptions&) override {
      return Encoded{to, shape, {}, {}, {}};
    }
  };
  Short run(std::make_unique<Idle>());
  EXPECT_EQ(run.all().failed(), Names(std::begin(kChecks), std::end(kChecks)));
}

TEST(VerifySuite, sums_in_16_bits_are_found) {
  auto control = std::make_shared<FakeGpuControl>();
  control->spoil = [](OutputView out) {
    if (out.type != OutputType::int32) return;
    for (std::int32_t& sum : elements<std::int32_t>(out)) sum = static_cast<std::int16_t>(sum);
  };
  Short run(std::make_unique<FakeGpu>(control));
  EXPECT_EQ(run.all().failed(), Names{"int32"});
}

TEST(VerifySuite, subnormals_that_are_flushed_are_found) {
  auto control = std::make_shared<FakeGpuControl>();
  control->spoil = [](OutputView out) {
    if (out.type != OutputType::f32) return;
    for (float& value : elements<float>(out))
      if (std::fpclassify(value) == FP_SUBNORMAL) value = 0;
  };
  // Somewhere in the list, not in each problem.
  Subject subject;
  SubjectRun run(subject, std::make_unique<FakeGpu>(control));
  std::uint64_t seed = 0;
  for (const ProblemSpec& spec : problem_list(false))
    if (spec.extreme_scales && spec.k < 400) {
      const Problem problem = make_problem(spec, ++seed);
      run.products(*pack_problem(problem));
    }
  for (const CheckResult& result : run.results())
    if (result.check == "f32") {
      EXPECT_EQ(result.status, CheckStatus::failed);
    }
}

TEST(VerifySuite, bf16_that_is_cut_instead_of_rounded_is_found) {
  class Cut final : public Forwarding {
    Result<void> multiply(const BackendWeights& w, const Activations& a, OutputView out) override {
      if (out.type != OutputType::bf16) return gpu_.multiply(w, a, out);
      const auto halves = elements<std::uint16_t>(out);
      std::vector<float> values(halves.size());
      if (auto done = gpu_.multiply(w, a, std::span(values)); !done) return done;
      for (std::size_t i = 0; i < values.size(); ++i)
        halves[i] = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(values[i]) >> 16);
      return {};
    }
  };
  Short run(std::make_unique<Cut>());
  EXPECT_EQ(run.all().failed(), (Names{"bf16", "epilogue"}));
}

TEST(VerifySuite, what_is_added_in_another_order_or_not_at_all_is_found) {
  class Other final : public Forwarding {
   public:
    explicit Other(bool forgets) : forgets_(forgets) {}
    Result<void> multiply(const BackendWeights& w, const Activations& a, OutputView out) override {
      const FloatView bias = out.addends.bias;
      if (bias.bytes.empty() || out.addends.residual.bytes.empty() || out.type != OutputType::f32)
        return gpu_.multiply(w, a, out);
      out.addends.bias = {};
      if (auto done = gpu_.multiply(w, a, out); !done || forgets_) return done;
      const auto values = elements<float>(out);
      const auto cols = static_cast<std::size_t>(w.shape().rows);
      for (std::size_t i = 0; i < values.size(); ++i) {
        float own = 0;
        read_floats(bias, i % cols, 1, &own);
        values[i] += own;
      }
      return {};
    }
    bool forgets_;
  };
  for (const bool forgets : {true, false}) {
    Short run(std::make_unique<Other>(forgets));
    EXPECT_EQ(run.all().failed(), Names{"epilogue"}) << forgets;
  }
}

// docs/ternary.md: Vulkan's kernels support neither a bias, a residual nor f16.
TEST(VerifySuite, f16_and_addends_that_are_not_offered_are_not_wrong) {
  class Plain final : public Forwarding {
    Result<void> multiply(const BackendWeights& w, const Activations& a, OutputView out) override {
      const bool adds = !out.addends.bias.bytes.empty() || !out.addends.residual.bytes.empty();
      if (adds || out.type == OutputType::f16)
        return fail(ErrorKind::unsupported_tier, "it adds nothing");
      return gpu_.multiply(w, a, out);
    }
  };
  Short run(std::make_unique<Plain>());
  EXPECT_EQ(run.all().failed(), Names{});
  EXPECT_EQ(run.status(CheckId::epilogue), CheckStatus::passed)
      << "f32 and bf16 are as they must be";
  EXPECT_TRUE(run.reason(CheckId::epilogue).starts_with("not offered: M 3, N 20, K 128"))
      << run.reason(CheckId::epilogue);
  class Ends final : public Forwarding {  // after some products
    Result<void> multiply(const BackendWeights& w, const Activations& a, OutputView out) override {
      if (w.shape().rows == 34) return fail(ErrorKind::unsupported_tier, "no more");
      return gpu_.multiply(w, a, out);
    }
  };
  Short ending(std::make_unique<Ends>());
  EXPECT_EQ(ending.all().failed(), (Names{"int32", "f32", "bf16"}));
}

TEST(VerifySuite, f16_that_is_cut_instead_of_rounded_is_found) {
  auto control = std::make_shared<FakeGpuControl>();
  control->spoil = [](OutputView out) {
    if (out.type == OutputType::f16)
      for (std::uint16_t& half : elements<std::uint16_t>(out)) half &= 0xFFFE;
  };
  Short run(std::make_unique<FakeGpu>(control));
  EXPECT_EQ(run.all().failed(), Names{"epilogue"});
}

TEST(VerifySuite, ties_that_are_rounded_away_from_even_are_found) {
  class Away final : public Forwarding {
    Result<void> multiply(const BackendWeights& w, const FloatView& a, std::int64_t rows,
                          OutputView out) override {
      const auto cols = w.shape().cols;
      const auto quantised = Activations::quantise(a, rows, cols);
      if (!quantised || a.type != FloatType::f32) return gpu_.multiply(w, a, rows, out);
      std::vector<float> x(a.bytes.size() / 4);
      std::memcpy(x.data(), a.bytes.data(), a.bytes.size());
      std::vector<std::int8_t> codes;
      for (std::size_t i = 0; i < x.size(); ++i)
        codes.push_back(static_cast<std::int8_t>(
            std::round(x[i] / quantised->steps()[i / static_cast<std::size_t>(cols)])));
      return gpu_.multiply(w, *Activations::from_int8(codes, rows, cols, quantised->steps()), out);
    }
  };
  Short run(std::make_unique<Away>());
  const Names failed = run.all().failed();
  EXPECT_NE(std::find(failed.begin(), failed.end(), "values"), failed.end());
}

TEST(VerifySuite, activations_of_four_bits_are_not_accurate_enough) {
  class Coarse final : public Forwarding {
    Result<void> multiply(const BackendWeights& w, const FloatView& a, std::int64_t rows,
                          OutputView out) override {
      const auto cols = w.shape().cols;
      const auto quantised = Activations::quantise(a, rows, cols);
      if (!quantised) return std::unexpected(quantised.error());
      std::vector<std::int8_t> codes;
      for (std::int64_t row = 0; row < rows; ++row)
        for (const std::int8_t code : quantised->row(row))
          codes.push_back(static_cast<std::int8_t>(code / 16 * 16));
      return gpu_.multiply(w, *Activations::from_int8(codes, rows, cols, quantised->steps()), out);
    }
  };
  Short run(std::make_unique<Coarse>());
  EXPECT_EQ(run.all().status(CheckId::accuracy), CheckStatus::failed);
}

// Outputs that are all wrong by a share: its square is their NMSE.
TEST(VerifySuite, the_accuracy_is_that_of_the_worst_product) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  for (const auto& shares :
       {std::vector{0.01}, std::vector{0.01, 0.002}, std::vector{0.002, 0.01},
        std::vector{0.002, 0.01, 0.005}, std::vector{kNan, 0.01}, std::vector{0.01, kNan}}) {
    auto control = std::make_shared<FakeGpuControl>();
    Subject subject;
    SubjectRun run(subject, std::make_unique<FakeGpu>(control));
    for (const double share : shares) {
      control->spoil = [&](OutputView out) {
        for (float& value : elements<float>(out)) value *= static_cast<float>(1 + share);
      };
      run.accuracy({16, 1024}, 2, 4);
    }
    const auto results = run.results();
    const auto found = std::ranges::find(results, "accuracy", &CheckResult::check);
    ASSERT_NE(found, results.end());
    const bool finite =
        std::ranges::none_of(shares, [](double share) { return std::isnan(share); });
    EXPECT_EQ(found->status, finite ? CheckStatus::passed : CheckStatus::failed);
    ASSERT_EQ(found->nmse.has_value(), finite) << shares[0];
    if (finite) {
      EXPECT_NEAR(*found->nmse, 1e-4, 5e-5) << shares.size();
    }
  }
}

TEST(VerifySuite, wrong_quantised_bytes_are_found) {
  class Wrong final : public Forwarding {
    Result<Encoded> quantise(const FloatView& w, Shape s, FormatId to,
                             const QuantiseOptions& o) override {
      auto made = gpu_.quantise(w, s, to, o);
      if (made && to == FormatId::w2a8_gpu) made->bytes.back() ^= 1;
      return made;
    }
  };
  Short run(std::make_unique<Wrong>());
  // The shape of the short list does not suit that format's tiles everywhere; one that does:
  Subject subject;
  SubjectRun whole(subject, std::make_unique<Wrong>());
  whole.quantise({32, 1536}, FloatType::f32, 1);
  for (const CheckResult& result : whole.results())
    if (result.check == "quantise") {
      EXPECT_EQ(result.status, CheckStatus::failed);
      EXPECT_NE(result.reason.find("w2a8-gpu"), std::string::npos);
    }
}

TEST(VerifySuite, a_mean_whose_sums_are_in_another_order_is_found) {
  class InTurn final : public Forwarding {
    Result<Encoded> quantise(const FloatView& w, Shape s, FormatId to,
                             const QuantiseOptions& o) override {
      auto made = gpu_.quantise(w, s, to, o);
      if (!made || o.rule != Rule::absmean || w.type != FloatType::f32) return made;
      float total = 0;  // in f32, which tells them apart in any tensor
      for (std::size_t i = 0; i < w.bytes.size() / 4; ++i) {
        float value;
        read_floats(w, i, 1, &value);
        total += std::fabs(value);
      }
      const float scale = std::max(1e-5f, total / static_cast<float>(w.bytes.size() / 4));
      std::memcpy(made->bytes.data() + made->bytes.size() - 32, &scale, 4);
      return made;
    }
  };
  Subject subject;
  SubjectRun run(subject, std::make_unique<InTurn>());
  run.absmean({9, 128}, FloatType::f32, 1);
  const auto results = run.results();
  const auto found = std::ranges::find(results, "quantise", &CheckResult::check);
  ASSERT_NE(found, results.end());
  EXPECT_EQ(found->status, CheckStatus::failed);
  EXPECT_NE(found->reason.find("scale"), std::string::npos);
}

TEST(VerifySuite, a_wrong_place_of_what_is_not_finite_is_found) {
  class Elsewhere final : public Forwarding {
    Result<Encoded> quantise(const FloatView& w, Shape s, FormatId to,
                             const QuantiseOptions& o) override {
      auto made = gpu_.quantise(w, s, to, o);
      if (!made) made.error().message = "weight 0 is NaN or infinite";
      return made;
    }
  };
  Subject subject;
  SubjectRun run(subject, std::make_unique<Elsewhere>());
  run.absmean({1, 64}, FloatType::f16, 1);
  const auto results = run.results();
  const auto found = std::ranges::find(results, "quantise", &CheckResult::check);
  ASSERT_NE(found, results.end());
  EXPECT_EQ(found->status, CheckStatus::failed);
}

TEST(VerifySuite, nan_that_is_accepted_is_found) {
  class Careless final : public Forwarding {
    Result<void> multiply(const BackendWeights& w, const FloatView& a, std::int64_t rows,
                          OutputView out) override {
      auto done = gpu_.multiply(w, a, rows, out);
      if (!done && done.error().kind == ErrorKind::not_finite) return {};
      return done;
    }
  };
  Short run(std::make_unique<Careless>());
  EXPECT_EQ(run.all().failed(), Names{"refusals"});
}

TEST(VerifySuite, nan_that_is_refused_as_a_wrong_size_is_found) {
  class Confused final : public Forwarding {
    Result<void> multiply(const BackendWeights& w, const FloatView& a, std::int64_t rows,
                          OutputView out) override {
      auto done = gpu_.multiply(w, a, rows, out);
      if (!done && done.error().kind == ErrorKind::not_finite)
        return std::unexpected(Error{ErrorKind::wrong_size, "another size"});
      return done;
    }
  };
  Short run(std::make_unique<Confused>());
  EXPECT_EQ(run.all().failed(), Names{"refusals"});
  EXPECT_TRUE(run.reason(CheckId::refusals)
                  .ends_with(" as activation 0: wrong_size (another size), not not_finite"))
      << run.reason(CheckId::refusals);
}

TEST(VerifySuite, sizes_that_are_wrong_by_one_and_accepted_are_found) {
  class Lenient final : public Forwarding {
    Result<void> multiply(const BackendWeights& w, const FloatView& a, std::int64_t rows,
                          OutputView out) override {
      const auto wanted = static_cast<std::size_t>(rows * w.shape().cols) * bytes_of(a.type);
      if (a.bytes.size() + bytes_of(a.type) == wanted) return {};
      return gpu_.multiply(w, a, rows, out);
    }
  };
  Short run(std::make_unique<Lenient>());
  EXPECT_EQ(run.all().failed(), Names{"refusals"});
  EXPECT_TRUE(run.reason(CheckId::refusals).starts_with("one activation too few was accepted"))
      << run.reason(CheckId::refusals);
}

TEST(VerifySuite, a_difference_is_told_with_the_groups_of_its_scales) {
  const auto reason = [](std::int64_t group) {
    auto control = std::make_shared<FakeGpuControl>();
    control->spoil = [](OutputView out) { out.bytes.back() ^= std::byte{1}; };
    Subject subject;
    SubjectRun run(subject, std::make_unique<FakeGpu>(control));
    run.epilogue({1, 17, 96}, group, 4);
    for (const CheckResult& result : run.results())
      if (result.check == "epilogue") return result.reason;
    return std::string();
  };
  EXPECT_NE(reason(32).find(", groups of 32, f32: element (0, 16)"), std::string::npos)
      << reason(32);
  EXPECT_EQ(reason(0).find("groups"), std::string::npos) << reason(0);
}

TEST(VerifySuite, a_lost_device_fails_and_is_not_asked_again) {
  auto control = std::make_shared<FakeGpuControl>();
  control->errors = {ErrorKind::device_lost};
  const VerifyReport report = verify(std::vector{fake(control)}, {});
  EXPECT_EQ(control->calls, 1);
  EXPECT_EQ(check(report, "packing").status, CheckStatus::failed);
  EXPECT_EQ(check(report, "int32").status, CheckStatus::not_tested);
  EXPECT_EQ(report.subjects[0].status, CheckStatus::failed);
  EXPECT_EQ(exit_of(report), Exit::unhealthy);
}

TEST(VerifySuite, what_a_backend_does_not_offer_is_not_supported_and_no_failure) {
  class NoQuantise final : public Forwarding {
    Result<Encoded> quantise(const FloatView&, Shape, FormatId, const QuantiseOptions&) override {
      return std::unexpected(Error{ErrorKind::unsupported_tier, "not made for this"});
    }
  };
  Short run(std::make_unique<NoQuantise>());
  EXPECT_EQ(run.all().failed(), Names{});
  EXPECT_EQ(run.status(CheckId::quantise), CheckStatus::not_supported);
}

TEST(VerifySuite, formats_that_are_not_offered_are_told_and_do_not_hide_a_wrong_one) {
  class Some final : public Forwarding {
   public:
    explicit Some(bool wrong) : wrong_(wrong) {}
    Result<Encoded> quantise(const FloatView& w, Shape s, FormatId to,
                             const QuantiseOptions& o) override {
      if (o.rule != Rule::of_format || to != FormatId::i2s_x86)
        return std::unexpected(Error{ErrorKind::unsupported_tier, "not made for this"});
      auto made = gpu_.quantise(w, s, to, o);
      if (made && wrong_) made->bytes[0] ^= 1;
      return made;
    }

   private:
    bool wrong_;
  };
  Short some(std::make_unique<Some>(false));
  EXPECT_EQ(some.all().status(CheckId::quantise), CheckStatus::passed);
  EXPECT_NE(some.reason(CheckId::quantise).find("not offered"), std::string::npos);
  Short wrong(std::make_unique<Some>(true));
  EXPECT_EQ(wrong.all().status(CheckId::quantise), CheckStatus::failed);
}

TEST(VerifySuite, rows_of_zeros_have_the_scale_that_packing_gives_them) {
  for (std::uint64_t seed = 1; seed < 60; ++seed) {
    const Problem problem = make_problem({1, 33, 4, Fill::random, true}, seed);
    const auto packed = pack_problem(problem);
    ASSERT_TRUE(packed);
    const auto scales = packed->forms[0].row_scales();
    EXPECT_TRUE(std::equal(scales.begin(), scales.end(), problem.weights.scales.begin()));
  }
}

TEST(VerifySuite, not_tested_is_never_passed) {
  Subject missing;
  missing.name = "cpu/amx";
  missing.reason = "this CPU has no AMX int8";
  VerifyReport report = verify(std::vector{missing}, {});
  EXPECT_EQ(exit_of(report), Exit::unknown);  // nothing was tested
  EXPECT_EQ(report.subjects[0].reason, "this CPU has no AMX int8");
  std::atomic<bool> stop = true;
  VerifyOptions options;
  options.stop = &stop;
  report = verify(std::vector{fake(std::make_shared<FakeGpuControl>())}, options);
  EXPECT_EQ(exit_of(report), Exit::unknown);
  for (const CheckResult& check : report.checks)
    EXPECT_EQ(check.reason, kInterrupted) << check.check;

  report = {};
  report.subjects.push_back({"a", "CPU", {}, CheckStatus::passed, "", false});
  report.subjects.push_back({"b", "", {}, CheckStatus::not_tested, "", false});
  EXPECT_EQ(exit_of(report), Exit::ok);
  report.subjects[1].asked = true;
  EXPECT_EQ(exit_of(report), Exit::unknown);
  report.subjects[1].status = CheckStatus::failed;
  EXPECT_EQ(exit_of(report), Exit::unhealthy);
}

TEST(VerifySuite, an_interrupt_leaves_what_had_ended_and_nothing_else) {
  std::atomic<bool> stop = false;
  VerifyOptions options;
  options.stop = &stop;
  options.progress = [&](std::string_view step) { stop = stop || step == "quantised weights"; };
  const VerifyReport report =
      verify(std::vector{fake(std::make_shared<FakeGpuControl>())}, options);
  std::set<std::string> ended;
  for (const CheckResult& check : report.checks)
    if (check.status == CheckStatus::passed)
      ended.insert(check.check);
    else
      EXPECT_EQ(check.reason, kInterrupted) << check.check;
  EXPECT_EQ(ended, (std::set<std::string>{"packing", "values", "epilogue"}));
}

TEST(VerifySuite, every_tier_of_this_cpu_passes_the_whole_list) {
  const auto subjects = cpu_subjects(2);
  EXPECT_EQ(subjects.size(), tiers().size());
  std::vector<Subject> best;
  for (const Subject& subject : subjects)
    if (subject.open) best = {subject};
  const VerifyReport report = verify(best, {});
  for (const CheckResult& result : report.checks) {
    EXPECT_EQ(result.status, CheckStatus::passed) << result.check << ": " << result.reason;
  }
  EXPECT_EQ(exit_of(report), Exit::ok);
  EXPECT_GT(report.problems, 400u);
}

}  // namespace
}  // namespace gpuready::ternary
