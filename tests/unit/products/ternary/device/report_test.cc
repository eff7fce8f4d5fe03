// What the reports of `ternary verify` and `ternary inspect` say.
#include <gtest/gtest.h>

#include <string>

#include "ternary/report/bench_report.h"
#include "ternary/report/inspect_report.h"
#include "ternary/report/verify_report.h"

namespace gpuready::ternary {
namespace {

using enum CheckStatus;

// A tier that passed, a GPU with an error, one that an interrupt left, and what was not here.
VerifyReport all_ends() {
  const std::string interrupted(kInterrupted);
  VerifyReport report;
  report.seed = 7;
  report.problems = 3;
  report.subjects = {{"cpu/avx2", "CPU", {"avx2"}, passed, "", false},
                     {"cuda:GPU-1", "NVIDIA H200", {}, failed, "", false},
                     {"vulkan:GPU-2", "Intel Arc", {}, not_tested, "", false},
                     {"cpu/neon", "", {}, not_tested, "another architecture", false},
                     {"gpu", "", {}, not_tested, interrupted, true},
                     {"cuda:GPU-3", "", {}, not_tested, interrupted, true}};
  report.checks = {{"cpu/avx2", "packing", passed, "", 10, 0, 1000, {}, 1.5},
                   {"cpu/avx2", "quantise", not_supported, "no bf16", 0, 0, 0, {}, 0},
                   {"cpu/avx2", "accuracy", passed, "", 4, 0, 200'000, 1.2e-4, 2000},
                   {"cuda:GPU-1", "int32", failed, "element (0, 1)", 9, 1, 900, {}, 3.5},
                   {"cuda:GPU-1", "f32", not_tested, interrupted, 0, 0, 0, {}, 0},
                   {"vulkan:GPU-2", "int32", not_tested, interrupted, 0, 0, 0, {}, 0},
                   {"vulkan:GPU-2", "f32", not_tested, interrupted, 0, 0, 0, {}, 0}};
  return report;
}

TEST(VerifyReport, tells_all_of_its_subjects_and_checks) {
  EXPECT_EQ(render_terminal(all_ends(), {}),
            R"(Ternary products against exact 64-bit sums, bit for bit
        Tier or device    Checks  Products  Values     NMSE    Took
  [ok]  cpu/avx2          2 of 2        14   0.2 M  1.2e-04  2.00 s
  [x]   cuda NVIDIA H200  0 of 2         9     900        -  3.5 ms
  [!]   vulkan Intel Arc  0 of 2         0       0        -  0.0 us

  3 shapes; seed 7; NMSE against fp32 may be 5e-04.

  [-] cpu/avx2, quantise: not supported: no bf16
  [x] cuda:GPU-1, int32: failed: element (0, 1)
  [-] cpu/neon: not tested: another architecture
  [!] Interrupted; not finished: f32, int32, the GPUs, cuda:GPU-3

1 of 2 tested tiers and devices give wrong results or errors.
)");
}

TEST(VerifyReport, tells_the_tensors_of_a_file) {
  VerifyReport report;
  report.file = "model.gguf";
  report.file_problems = {"tensors a and b overlap"};
  report.subjects = {{"cpu/avx2", "CPU", {"avx2"}, not_tested, "", false}};
  report.checks = {
      {"cpu/avx2", std::string(kFileCheck), not_tested, std::string(kInterrupted), 0, 0, 0, {}, 0}};
  report.tensors = {{"a", "tq2_0", {4, 256}, passed, ""},
                    {"b", "tq1_0", {40, 2560}, failed, "byte 5 is not"},
                    {"c", "", {4, 256}, not_supported, "its layout is not known"},
                    {"d", "tq2_0", {4, 256}, not_tested, std::string(kInterrupted)}};
  EXPECT_EQ(render_terminal(report, {}), R"(Ternary tensors of model.gguf
        Tensor  Format  Rows  Columns  Result
  [ok]  a       tq2_0      4      256  passed
  [x]   b       tq1_0     40     2560  failed
  [-]   c                  4      256  not supported

       Tier or device  Checks  Products  Values  NMSE    Took
  [!]  cpu/avx2        0 of 1         0       0     -  0.0 us

  wrong: tensors a and b overlap
  [x] b: failed: byte 5 is not
  [-] c: not supported: its layout is not known
  [!] Interrupted; not finished: 1 of 4 tensors

1 of 4 ternary tensors failed verification.
)");
}

TEST(VerifyReport, that_is_quiet_tells_problems_and_what_was_asked_for) {
  VerifyReport report = all_ends();
  report.subjects.push_back({"cpu/avx512", "", {}, not_tested, "no AVX-512", true});
  TerminalStyle style;
  style.quiet = true;
  EXPECT_EQ(render_terminal(report, style),
            R"(  [-] cpu/avx2, quantise: not supported: no bf16
  [x] cuda:GPU-1, int32: failed: element (0, 1)
  [-] cpu/avx512: not tested: no AVX-512
  [!] Interrupted; not finished: f32, int32, the GPUs, cuda:GPU-3

1 of 2 tested tiers and devices give wrong results or errors.
)");
}

// The worst first, and nothing good of what was not finished.
TEST(VerifyReport, concludes_by_the_worst) {
  const std::string interrupted(kInterrupted);
  const SubjectResult good{"cpu/avx2", "CPU", {}, passed, "", false};
  const SubjectResult bad{"cuda:GPU-1", "NVIDIA H200", {}, failed, "", false};
  const SubjectResult absent{"cpu/neon", "", {}, not_tested, "another architecture", false};
  const SubjectResult asked{"cuda", "", {}, not_tested, "no driver", true};
  const SubjectResult cut{"cpu/scalar", "CPU", {}, not_tested, interrupted, false};
  const CheckResult done{"cpu/avx2", "packing", passed, "", 14, 0, 1000, {}, 1};
  const CheckResult left{"cpu/avx2", "f32", not_tested, interrupted, 0, 0, 0, {}, 0};
  const TensorResult well{"a", "tq2_0", {4, 256}, passed, ""};
  const TensorResult wrong{"b", "tq2_0", {4, 256}, failed, "byte 5"};
  const TensorResult unknown{"c", "", {4, 256}, not_supported, "no layout"};
  const TensorResult unread{"d", "tq2_0", {4, 256}, not_tested, interrupted};
  struct Row {
    std::vector<SubjectResult> subjects;
    std::vector<CheckResult> checks;
    std::vector<TensorResult> tensors;
    const char* problem;
    Exit exit;
    const char* conclusion;
  };
  for (const auto& [subjects, checks, tensors, problem, exit, conclusion] :
       std::initializer_list<Row>{
           {{bad},
            {},
            {well, wrong},
            "overlap",
            Exit::unhealthy,
            "1 of 2 ternary tensors failed verification."},
           {{good, bad},
            {},
            {well},
            "overlap",
            Exit::unhealthy,
            "The file is wrong; the tensors by themselves are not."},
           {{good, bad, asked},
            {left},
            {},
            "",
            Exit::unhealthy,
            "1 of 2 tested tiers and devices give wrong results or errors."},
           {{cut}, {left}, {}, "", Exit::unknown, "By then no check had ended."},
           {{cut, asked},
            {done, left},
            {},
            "",
            Exit::unknown,
            "By then 1 of 2 checks had ended, and nothing was wrong."},
           {{good},
            {},
            {well, unread, unknown},
            "",
            Exit::unknown,
            "By then 1 of 3 ternary tensors were verified, and nothing was wrong."},
           {{good, asked},
            {},
            {well, unknown},
            "",
            Exit::unknown,
            "1 of 2 ternary tensors are well-formed, but their products could not be verified."},
           {{good, asked, absent},
            {done},
            {},
            "",
            Exit::unknown,
            "1 of 2 that were asked for were not tested."},
           {{absent}, {}, {}, "", Exit::unknown, "Nothing was tested."},
           {{}, {}, {}, "", Exit::unknown, "Nothing was tested."},
           {{good, absent},
            {done},
            {well, well},
            "",
            Exit::ok,
            "2 of 2 ternary tensors are well-formed, and 1 of 1 tested tiers and devices multiply "
            "them exactly."},
           {{good, absent},
            {done, done},
            {},
            "",
            Exit::ok,
            "1 of 1 tested tiers and devices agree with 64-bit sums, bit for bit: 28 comparisons "
            "of 2000 values."}}) {
    VerifyReport report;
    report.subjects = subjects;
    report.checks = checks;
    report.tensors = tensors;
    report.duration_ms = 12.5;
    if (*problem != '\0') report.file_problems = {problem};
    Envelope envelope;
    conclude(report, envelope);
    EXPECT_EQ(envelope.conclusion, conclusion);
    EXPECT_EQ(envelope.exit, exit) << conclusion;
    EXPECT_EQ(envelope.duration_ms, 12.5);
  }
}

BenchRow timed_row(std::string subject, BenchShape shape, double least_us) {
  BenchRow row;
  row.subject = std::move(subject);
  row.device = "NVIDIA H200";
  row.kernel = "avx2";
  row.form = "two-bit";
  row.shape = shape;
  row.status = passed;
  row.least_us = least_us;
  row.median_us = 2 * least_us;
  row.weight_bytes = 5000;
  return row;
}
BenchRow untimed_row(std::string subject, BenchShape shape, CheckStatus status,
                     std::string_view reason) {
  BenchRow row;
  row.subject = std::move(subject);
  row.shape = shape;
  row.status = status;
  row.reason = reason;
  return row;
}

constexpr std::string_view kLegend =
    R"(  GB/s are of packed weights. Of reading: on a CPU, of only reading as many
  bytes with the same threads and from where the weights are; on a GPU, of
  reading 1 GiB of its memory. "call" is from and to host memory, "device" is
  only on a GPU, with weights that its cache does not hold, "device-values" the
  same from activations that are not quantised yet.
)";

// The device is named where the subject does not say it; a row that was not timed is in no table.
TEST(BenchReport, has_a_table_for_each_shape) {
  const BenchShape small{1, 100, 200}, large{512, 4000, 5000};
  std::vector<BenchRow> rows = {timed_row("cpu/avx2", small, 10),
                                timed_row("cuda:GPU-1", small, 500),
                                timed_row("cpu/avx2", large, 1000),
                                untimed_row("cpu/neon", {}, not_tested, "another architecture"),
                                untimed_row("cpu/avx512", large, failed, "it crashed")};
  rows[0].read_bytes_per_s = 1e9;
  rows[1].kernel = "dp4a-gemv";
  rows[1].timed = Timed::device;
  const std::string tables = R"(M 1, N 100, K 200
  Tier or kernel  Device       Form     Of         Least   Median  GB/s  Of reading  Op/s
  cpu/avx2                     two-bit  call     10.0 us  20.0 us   0.5         50%   4 G
  cuda dp4a-gemv  NVIDIA H200  two-bit  device  500.0 us  1.00 ms   0.0           -   0 G

M 512, N 4000, K 5000
  Tier or kernel  Form     Of      Least   Median  GB/s  Of reading    Op/s
  cpu/avx2        two-bit  call  1.00 ms  2.00 ms   0.0           -  20.5 T

)";
  TerminalStyle style;
  style.columns = 100;
  const std::string text = render_terminal(TernaryTimes{2, rows}, style);
  EXPECT_TRUE(text.starts_with(tables)) << text;
  style.columns = 80;
  const std::string rest = render_terminal(TernaryTimes{2, rows}, style);
  EXPECT_TRUE(
      rest.ends_with("  [-] cpu/neon: another architecture\n"
                     "  [-] cpu/avx512: it crashed\n" +
                     std::string(kLegend)))
      << rest;
  style.quiet = true;
  EXPECT_TRUE(render_terminal(TernaryTimes{2, rows}, style)
                  .ends_with("\n\n  [-] cpu/avx512: it crashed\n"));
}

// Times and rates have the unit of their size.
TEST(BenchReport, has_the_unit_of_each_size) {
  const auto has = [](double least_us, BenchShape shape, const std::string& words) {
    const auto text =
        render_terminal(TernaryTimes{1, {timed_row("cpu/avx2", shape, least_us)}}, {});
    return text.find(" " + words + " ") != text.npos || text.find(" " + words + "\n") != text.npos;
  };
  EXPECT_TRUE(has(999.9, {1, 1, 1}, "999.9 us"));
  EXPECT_TRUE(has(1000, {1, 1, 1}, "1.00 ms"));
  EXPECT_TRUE(has(1, {1, 1000, 499}, "998 G"));
  EXPECT_TRUE(has(1, {1, 1000, 500}, "1.0 T"));
}

TEST(BenchReport, says_what_an_interrupt_left) {
  const BenchShape first{1, 64, 256}, second{3, 40, 130}, third{5, 40, 130};
  std::vector<BenchRow> rows = {timed_row("cpu/avx2", first, 10),
                                untimed_row("cpu/avx2", first, not_tested, kInterrupted),
                                untimed_row("cpu/avx2", second, not_tested, kInterrupted),
                                timed_row("cpu/avx2", third, 10),
                                untimed_row("gpu", {}, not_tested, kInterrupted),
                                untimed_row("cuda:GPU-1", {}, not_tested, kInterrupted)};
  const auto said = [](std::vector<BenchRow> of) {
    TerminalStyle style;
    style.quiet = true;
    style.columns = 100;
    const auto text = render_terminal(TernaryTimes{1, std::move(of)}, style);
    const auto at = text.find("  [!] ");
    return at == text.npos ? "" : text.substr(at);
  };
  EXPECT_EQ(said(rows),
            "  [!] Interrupted; not timed: M 1, N 64, K 256 in part; M 3, N 40, K 130; the GPUs; "
            "cuda:GPU-1\n");
  EXPECT_EQ(said({rows[0], rows[3]}), "");
  EXPECT_EQ(said({untimed_row("cuda", {}, not_tested, "no driver")}), "");
}

TEST(BenchReport, explains_its_columns_only_if_something_was_timed) {
  const auto text = [](std::vector<BenchRow> rows, bool quiet) {
    TerminalStyle style;
    style.quiet = quiet;
    return render_terminal(TernaryTimes{1, std::move(rows)}, style);
  };
  const auto timed = timed_row("cpu/avx2", {1, 2, 3}, 10);
  const auto missing = untimed_row("cuda", {}, not_tested, "no driver");
  EXPECT_TRUE(text({timed, missing}, false).ends_with(kLegend));
  EXPECT_EQ(text({missing}, false), "  [-] cuda: no driver\n");
  EXPECT_EQ(text({timed}, true).find("GB/s are of"), std::string::npos);
}

TEST(InspectReport, names_each_format_as_far_as_it_is_known) {
  gguf::File file;
  file.version = 3;
  file.metadata.resize(2);
  for (const char* name : {"sure", "likely", "several", "many", "none", "plain"}) {
    gguf::Tensor& tensor = file.tensors.emplace_back();
    tensor.name = name;
    tensor.dims = {256, 2, 3, 1};
    tensor.dim_count = 3;
  }
  InspectReport report{"model.gguf", &file, {}};
  auto& found = report.found;
  for (const gguf::Tensor& tensor : file.tensors) {
    auto& one = found.tensors.emplace_back();
    one.tensor = &tensor;
    one.type = "I2_S";
    one.bytes = 1536;
    one.bits_per_weight = 8;
    one.ambiguous = tensor.name != "sure" && tensor.name != "plain";
  }
  found.tensors[0].format = FormatId::tq2_0;
  found.tensors[0].census = gguf::Census{1, 2, 4, 1, 0, 2, 0.25f, 0.5f, 1};
  found.tensors[1].likely = FormatId::i2s_x86;
  found.tensors[1].census = gguf::Census{0, 0, 8, 0, 0, 1, 0.5f, 0.5f, 0};
  found.tensors[2].candidates = {{"x", {}, false, "too small"}, {"y", {}, true, "it fits"}};
  found.tensors[4].candidates = {{"x", {}, false, "too small"}};
  found.tensors[4].census = gguf::Census{0, 0, 0, 0, 0, 1, 0, 0, 1};
  found.weights = 92160;
  found.bytes = 9216;
  found.ternary_tensors = 5;
  found.ambiguous_tensors = 4;
  found.problems = {"several: it is cut short"};
  EXPECT_EQ(render_terminal(report, {}), R"(wrong: several: it is cut short

Tensor   Shape        Type  Format             Bytes  bits/w
sure     256 x 2 x 3  I2_S  tq2_0            1.5 KiB   8.000
likely   256 x 2 x 3  I2_S  likely i2_s-x86  1.5 KiB   8.000
several  256 x 2 x 3  I2_S  ambiguous        1.5 KiB   8.000
many     256 x 2 x 3  I2_S  ambiguous        1.5 KiB   8.000
none     256 x 2 x 3  I2_S  no layout fits   1.5 KiB   8.000
plain    256 x 2 x 3  I2_S  -                1.5 KiB   8.000

Ternary     -1      0      +1  Scales
sure     12.5%  25.0%   50.0%  0.25 to 0.5
likely    0.0%   0.0%  100.0%  0.5
none      0.0%   0.0%    0.0%  -

GGUF version 3, 2 metadata entries, alignment 32; 6 tensors of 92160 weights in
9 KiB; 5 ternary, 4 of them ambiguous.
Evidence about the layout of several:
  excluded x: too small
  possible y: it fits
)");
  file.container = gguf::Container::safetensors;
  TerminalStyle style;
  style.quiet = true;
  EXPECT_EQ(render_terminal(report, style), "wrong: several: it is cut short\n");
  EXPECT_NE(render_terminal(report, {}).find("\nsafetensors, 2 metadata entries"),
            std::string::npos);
}

}  // namespace
}  // namespace gpuready::ternary
