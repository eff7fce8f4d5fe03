// Documents of the validation and of times; schema/ is held against what these tests write.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "fake_gpu.h"
#include "ternary/report/bench_report.h"
#include "ternary/report/exit_rules.h"
#include "ternary/report/verify_report.h"
#include "ternary/suite/bench.h"
#include "ternary/suite/verify_file.h"

namespace gpuready::ternary {
namespace {

void write(const std::string& name, const Json& document) {
  const std::filesystem::path folder = std::string(GPUREADY_BINARY_DIR) + "/test-documents";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / name) << dump(document);
}

VerifyReport sample() {
  VerifyReport report;
  report.seed = 7;
  report.thorough = true;
  report.problems = 3;
  report.file = "model.gguf";
  report.file_problems = {"tensors a and b overlap"};
  report.assumed_layouts = {
      {FormatId::i2s_arm, "I2_S", "i2_s-arm", "it is the only layout that fits"}};
  report.duration_ms = 12.5;
  report.subjects.push_back({"cpu/avx2", "CPU", {"avx2"}, CheckStatus::failed, "it differs", true});
  report.subjects.push_back({"cuda", "", {}, CheckStatus::timed_out, "no answer", false});
  report.checks.push_back(
      {"cpu/avx2", "accuracy", CheckStatus::failed, "element (0, 1)", 9, 1, 900, 1e-3, 2.5});
  report.checks.push_back({"cpu/avx2", "quantise", CheckStatus::not_supported, "", 0, 0, 0, {}, 0});
  report.tensors.push_back(
      {"blk.0.ffn_up.weight", "tq2_0", {4, 256}, CheckStatus::failed, "byte 5 is not"});
  return report;
}

Envelope envelope_of(std::string command) {
  Envelope envelope;
  envelope.command = std::move(command);
  envelope.tool_version = "1.2.3";
  envelope.created_utc = "2026-01-01T00:00:00Z";
  envelope.machine_id = "0123456789abcdef0123456789abcdef";
  envelope.boot_id = "fedcba9876543210fedcba9876543210";
  envelope.conclusion = "All is well.";
  envelope.notes = {"A note."};
  envelope.duration_ms = 12.5;
  return envelope;
}

Json document_of(const VerifyReport& report) {
  Envelope envelope = envelope_of("ternary verify");
  conclude(report, envelope);
  return to_json(report, envelope);
}

TEST(TernaryDocument, of_a_validation_is_written_and_read_back) {
  const Json document = document_of(sample());
  write("ternary-verify.sample.json", document);
  const auto read = read_verify_report(document);
  ASSERT_TRUE(read);
  EXPECT_EQ(document_of(*read), document);
  EXPECT_EQ(document["exit_code"], 1);
}

TEST(TernaryDocument, of_a_real_validation_is_written) {
  std::vector<Subject> subjects;
  for (Subject& subject : cpu_subjects(1))
    if (!subject.open) subjects.push_back(std::move(subject));
  write("ternary-verify.untested.json", document_of(verify(subjects, {})));
}

TEST(TernaryDocument, that_is_no_validation_is_refused) {
  Json document = document_of(sample());
  document["schema_version"] = 2;
  EXPECT_FALSE(read_verify_report(document));
  document = document_of(sample());
  document["checks"][0]["status"] = "fine";
  EXPECT_FALSE(read_verify_report(document));
  EXPECT_FALSE(read_verify_report(Json("text")));
  EXPECT_FALSE(read_bench_rows(Json::array()));
}

TEST(TernaryMerge, a_tensor_is_right_only_where_both_processes_say_so) {
  const auto merged = [](CheckStatus ours, CheckStatus their) {
    VerifyReport report, other;
    report.tensors = {{"w", "tq2_0", {4, 256}, ours, "ours"}};
    other.tensors = {{"w", "tq2_0", {4, 256}, their, "theirs"}};
    merge(report, other);
    EXPECT_EQ(report.tensors.size(), 1u);
    return std::pair(report.tensors[0].status, report.tensors[0].reason);
  };
  using enum CheckStatus;
  using Result = std::pair<CheckStatus, std::string>;
  EXPECT_EQ(merged(passed, passed), (Result{passed, "ours"}));
  EXPECT_EQ(merged(passed, failed), (Result{failed, "theirs"}));
  EXPECT_EQ(merged(failed, passed), (Result{failed, "ours"}));
  EXPECT_EQ(merged(failed, failed), (Result{failed, "ours"})) << "the first reason stays";
  EXPECT_EQ(merged(not_supported, failed), (Result{not_supported, "ours"}));
  EXPECT_EQ(merged(passed, not_supported), (Result{passed, "ours"}));
}

TEST(TernaryMerge, what_only_the_child_found_is_added) {
  VerifyReport report, theirs;
  report.subjects = {{"cpu/scalar", "CPU", {}, CheckStatus::passed, "", false}};
  report.checks.resize(1);
  report.checks[0].subject = "cpu/scalar";
  report.problems = 7;
  theirs.subjects = {{"cuda:GPU-1", "H200", {}, CheckStatus::failed, "", true}};
  theirs.checks.resize(2);
  theirs.checks[1].subject = "cuda:GPU-1";
  theirs.tensors = {{"v", "", {}, CheckStatus::passed, ""},
                    {"w", "", {}, CheckStatus::failed, "byte 5"}};
  theirs.problems = 3;
  merge(report, theirs);
  ASSERT_EQ(report.subjects.size(), 2u);
  EXPECT_EQ(report.subjects[0].name, "cpu/scalar");
  EXPECT_EQ(report.subjects[1].name, "cuda:GPU-1");
  ASSERT_EQ(report.checks.size(), 3u);
  EXPECT_EQ(report.checks[2].subject, "cuda:GPU-1");
  ASSERT_EQ(report.tensors.size(), 2u);
  EXPECT_EQ(report.tensors[1].reason, "byte 5");
  EXPECT_EQ(report.problems, 7u);
  theirs.problems = 9;
  merge(report, theirs);
  EXPECT_EQ(report.problems, 9u);
}

TEST(TernaryDocument, of_times_is_written_and_read_back) {
  BenchRow row;
  row.subject = "cpu/avx2";
  row.device = "CPU, 2 threads";
  row.kernel = "avx2";
  row.form = "two-bit";
  row.shape = {2, 100, 200};
  row.status = CheckStatus::passed;
  row.least_us = 10;
  row.median_us = 12;
  row.samples = 5;
  row.weight_bytes = 5000;
  row.read_bytes_per_s = 1e9;
  EXPECT_DOUBLE_EQ(row.bytes_per_s(), 5e8);
  EXPECT_DOUBLE_EQ(*row.read_share(), 0.5);
  EXPECT_DOUBLE_EQ(row.operations_per_s(), 2.0 * 2 * 100 * 200 * 1e5);
  BenchRow missing;
  missing.subject = "cuda";
  missing.reason = "it is not here";
  std::vector<BenchRow> rows = {row, missing};
  for (const Timed timed : {Timed::device, Timed::device_values}) {
    row.timed = timed;
    rows.push_back(row);
  }
  const Json document = to_json(TernaryTimes{2, rows}, envelope_of("ternary bench"));
  write("ternary-bench.sample.json", document);
  const auto read = read_bench_rows(document);
  ASSERT_TRUE(read);
  EXPECT_EQ(to_json(TernaryTimes{2, *read}, envelope_of("ternary bench")), document);
  EXPECT_EQ(read->back().timed, Timed::device_values);
}

TEST(BenchShape, is_read) {
  EXPECT_EQ(parse_bench_shape("512x2560x100"), (BenchShape{512, 2560, 100}));
  EXPECT_EQ(parse_bench_shape("2560x100"), (BenchShape{1, 2560, 100}));
  EXPECT_EQ(parse_bench_shape("512*2560*100"), (BenchShape{512, 2560, 100}));
  EXPECT_EQ(parse_bench_shape("512x2560*100"), (BenchShape{512, 2560, 100}));
  EXPECT_EQ(parse_bench_shape("2560*100"), (BenchShape{1, 2560, 100}));
  EXPECT_EQ(parse_bench_shape("1x1"), (BenchShape{1, 1, 1}));
  EXPECT_EQ(parse_bench_shape("4194304x4194304"), (BenchShape{1, 4194304, 4194304}));
  for (const char* text :
       {"", "x", "5", "0x5", "-1x5", "1x2x3x4", "axb", "99999999x2", "64x256x", "x64x256",
        "64xx256", "64**256", "64*256*", "4194305x1", "1x4194305", "1x0", "1x0x1"})
    EXPECT_FALSE(parse_bench_shape(text)) << text;
}

TEST(Bench, an_interrupt_leaves_the_shape_that_is_timed_and_all_others_untested) {
  std::atomic<bool> stop{false};
  BenchOptions options;
  options.shapes = {{1, 64, 256}, {3, 40, 130}};
  options.threads = 1;
  options.stop = &stop;
  options.progress = [&](std::string_view) { stop = true; };
  const std::vector<Tier> tiers = {Tier::scalar};
  const auto rows = bench_cpu(tiers, options);
  ASSERT_EQ(rows.size(), 3u);  // two forms of the first shape
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].subject, "cpu/scalar");
    EXPECT_EQ(rows[i].shape, options.shapes[i / 2]);
    EXPECT_EQ(rows[i].status, CheckStatus::not_tested);
    EXPECT_EQ(rows[i].reason, kInterrupted);
    EXPECT_EQ(rows[i].samples, 0u);
  }
}

TEST(Bench, times_what_is_here_and_tells_what_is_not) {
  BenchOptions options;
  options.shapes = {{1, 64, 256}, {3, 40, 130}};
  options.budget_s = 0.002;
  options.threads = 1;
  const std::vector<Tier> tiers = {Tier::scalar, Tier::neon, Tier::avx2};
  std::size_t timed = 0, missing = 0;
  for (const BenchRow& row : bench_cpu(tiers, options)) {
    if (row.status == CheckStatus::passed) {
      ++timed;
      EXPECT_GT(row.least_us, 0);
      EXPECT_GE(row.median_us, row.least_us);
      ASSERT_TRUE(row.read_share());
      EXPECT_GT(*row.read_share(), 0);
    } else {
      ++missing;
      EXPECT_FALSE(row.reason.empty());
    }
  }
  EXPECT_GE(timed, 4u);  // two forms and shapes of the scalar tier at the least
  EXPECT_GE(missing, 1u);
}

// ---- Files

struct FileFixture {
  std::vector<float> values = std::vector<float>(4 * 512);
  std::vector<Subject> subjects;
  std::shared_ptr<FakeGpuControl> gpu = std::make_shared<FakeGpuControl>();
  FileFixture() {
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = 0.5f * static_cast<float>(static_cast<int>(i * 7 % 3) - 1);
    Subject subject;
    subject.name = "cuda:GPU-fake";
    subject.open = [control = gpu]() -> Result<std::unique_ptr<Backend>> {
      return std::make_unique<FakeGpu>(control);
    };
    subjects.push_back(subject);
    for (Subject& cpu : cpu_subjects(1))
      if (cpu.name == "cpu/scalar") subjects.push_back(std::move(cpu));
  }
  Encoded encoded(FormatId format) const {
    return *quantise(std::span<const float>(values), {4, 512}, format);
  }
  VerifyReport verify_one(const Encoded& tensor) const {
    const TensorInput input{"t", [&]() -> Result<EncodedView> { return EncodedView(tensor); }};
    return verify_file(subjects, std::vector{input}, {});
  }
};

TEST(VerifyFile, good_tensors_pass_on_every_subject) {
  const FileFixture f;
  for (const FormatId format :
       {FormatId::tq1_0, FormatId::tq2_0, FormatId::i2s_x86, FormatId::i2s_bitnet_rs}) {
    const VerifyReport report = f.verify_one(f.encoded(format));
    EXPECT_EQ(report.tensors[0].status, CheckStatus::passed) << report.tensors[0].reason;
    EXPECT_EQ(exit_of(report), Exit::ok);
    EXPECT_EQ(report.checks.size(), 2u);
    EXPECT_GT(report.checks[0].elements, 0u);
  }
}

TEST(VerifyFile, scales_that_differ_within_rows_are_multiplied_as_they_are) {
  for (const FormatId format : {FormatId::tq1_0, FormatId::tq2_0, FormatId::i2s_bitnet_rs}) {
    FileFixture f;
    for (std::size_t i = 1280; i < 1536; ++i) f.values[i] *= 4;  // of the third row
    const VerifyReport report = f.verify_one(f.encoded(format));
    EXPECT_EQ(report.tensors[0].status, CheckStatus::passed) << report.tensors[0].reason;
    EXPECT_EQ(exit_of(report), Exit::ok);
  }
}

TEST(VerifyFile, what_a_subject_does_not_multiply_is_not_supported_and_never_passed) {
  FileFixture f;
  for (std::size_t i = 1280; i < 1536; ++i) f.values[i] *= 4;
  f.gpu->on_load = ErrorKind::unsupported_tier;
  const Encoded tensor = f.encoded(FormatId::tq2_0);
  VerifyReport report = f.verify_one(tensor);
  EXPECT_EQ(report.tensors[0].status, CheckStatus::passed);  // the CPU does
  EXPECT_EQ(report.checks[0].status, CheckStatus::not_tested);
  EXPECT_NE(report.checks[0].reason.find("1 of the tensors"), std::string::npos);
  EXPECT_EQ(report.checks[1].status, CheckStatus::passed);
  f.subjects.resize(1);
  report = f.verify_one(tensor);
  EXPECT_EQ(exit_of(report), Exit::unknown);
  Envelope envelope;
  conclude(report, envelope);
  EXPECT_EQ(envelope.conclusion->find("exactly"), std::string::npos);
}

TEST(VerifyFile, what_is_wrong_with_the_file_fails) {
  const FileFixture f;
  VerifyReport report = f.verify_one(f.encoded(FormatId::tq2_0));
  report.file_problems = {"tensors a and b overlap"};
  EXPECT_EQ(exit_of(report), Exit::unhealthy);
}

TEST(VerifyFile, every_row_of_a_tensor_is_multiplied) {
  FileFixture f;
  const Shape shape{9000, 512};  // more than are taken at once
  const std::vector<float> values(static_cast<std::size_t>(shape.rows * shape.cols), 0.5f);
  const Encoded tensor = *quantise(std::span<const float>(values), shape, FormatId::tq2_0);
  EXPECT_EQ(f.verify_one(tensor).tensors[0].status, CheckStatus::passed);
  f.gpu->spoil = [](OutputView out) {  // of the last rows alone
    if (out.bytes.size() < std::size_t{2} * 4 * 4096) out.bytes[0] ^= std::byte{1};
  };
  EXPECT_EQ(f.verify_one(tensor).tensors[0].status, CheckStatus::failed);
}

// Shorter and longer rows would take many times as long as others of their size.
TEST(VerifyFile, products_of_rows_of_32_to_262144_weights_are_verified) {
  const FileFixture f;
  for (const std::int64_t cols : {31, 32, 262'144, 262'145}) {
    const Codes codes{
        {4, cols}, std::vector<std::int8_t>(static_cast<std::size_t>(4 * cols), 1), 0, {0.5f}};
    const auto encoded = encode(codes, FormatId::i2s_four_row);
    ASSERT_TRUE(encoded) << encoded.error().message;
    const VerifyReport report = f.verify_one(*encoded);
    std::string expected;
    if (cols != 32 && cols != 262'144)
      expected = "its products were not verified: it has rows of " + std::to_string(cols) +
                 " weights, and " +
                 (cols < 32 ? std::string("32 are the least") : std::string("262144 are the most"));
    EXPECT_EQ(report.tensors[0].reason, expected);
    EXPECT_EQ(report.problems, expected.empty() ? 1u : 0u) << cols;
  }
}

TEST(VerifyFile, an_undefined_code_and_a_byte_that_no_encoder_writes_fail) {
  const FileFixture f;
  Encoded bad = f.encoded(FormatId::tq2_0);
  bad.bytes[3] = 0xFF;  // code 3
  VerifyReport report = f.verify_one(bad);
  EXPECT_EQ(report.tensors[0].status, CheckStatus::failed);
  EXPECT_EQ(exit_of(report), Exit::unhealthy);
  Encoded odd = f.encoded(FormatId::tq1_0);
  // Of neighbours, one is read alike and written by nobody.
  bool found = false;
  for (int byte = 0; byte < 256 && !found; ++byte) {
    odd.bytes[3] = static_cast<std::uint8_t>(byte);
    const auto codes = decode(odd);
    if (!codes) continue;
    const auto again = encode(*codes, FormatId::tq1_0);
    found = again && again->bytes != odd.bytes;
  }
  ASSERT_TRUE(found);
  report = f.verify_one(odd);
  EXPECT_EQ(report.tensors[0].status, CheckStatus::failed);
  EXPECT_NE(report.tensors[0].reason.find("byte 3"), std::string::npos);
}

TEST(VerifyFile, a_device_that_multiplies_wrongly_is_named) {
  const FileFixture f;
  f.gpu->spoil = [](OutputView out) { out.bytes[0] ^= std::byte{1}; };
  const VerifyReport report = f.verify_one(f.encoded(FormatId::tq2_0));
  EXPECT_EQ(report.tensors[0].status, CheckStatus::failed);
  EXPECT_NE(report.tensors[0].reason.find("cuda:GPU-fake"), std::string::npos);
  EXPECT_EQ(report.subjects[0].status, CheckStatus::failed);
  EXPECT_EQ(report.subjects[1].status, CheckStatus::passed);
}

TEST(VerifyFile, a_tensor_that_cannot_be_read_fails_with_the_reason) {
  const FileFixture f;
  const TensorInput input{"t", []() -> Result<EncodedView> {
                            return std::unexpected(Error{ErrorKind::ambiguous_format, "name one"});
                          }};
  const VerifyReport report = verify_file(f.subjects, std::vector{input}, {});
  EXPECT_EQ(report.tensors[0].reason, "name one");
  EXPECT_EQ(exit_of(report), Exit::unhealthy);
}

}  // namespace
}  // namespace gpuready::ternary
