// What an installation says: while it works, in one sentence, and on a terminal.
#include "pack/report/install_report.h"

#include <gtest/gtest.h>

#include "pack/report/exit_rules.h"

namespace gpuready {
namespace {

using pack::InstallEnd;

InstallReport report_of(InstallEnd end) {
  InstallReport report;
  report.name = "libs";
  report.version = "1.0";
  report.outcome.end = end;
  report.outcome.folder = "/store/current";
  report.outcome.files = 5;
  report.outcome.reused_files = 2;
  report.outcome.fetched_bytes = 1024;
  report.outcome.written_bytes = 2048;
  report.outcome.to_fetch_bytes = 4096;
  if (end == InstallEnd::installed || end == InstallEnd::unchanged)
    report.outcome.installed.emplace().variant = "modern";
  return report;
}

Envelope concluded(const InstallReport& report) {
  Envelope envelope;
  conclude(report, envelope);
  return envelope;
}

std::string shown(const InstallReport& report, const TerminalStyle& style = {}) {
  auto envelope = concluded(report);
  envelope.notes = report.notes;
  envelope.duration_ms = 1500;
  return render_terminal(report, envelope, style);
}

TEST(InstallReport, ProgressHasARateOnceTimeHasPassed) {
  EXPECT_EQ(progress_text("reading", 5, 0, 1000), "reading");
  EXPECT_EQ(progress_text("fetching", 4 << 20, 8 << 20, 2000), "fetching 4 MiB of 8 MiB, 2.1 MB/s");
  EXPECT_EQ(progress_text("fetching", 1000, 2048, 0), "fetching 1000 B of 2 KiB, 0 B/s");
}

TEST(InstallReport, ConcludesInOneSentence) {
  struct Row {
    InstallEnd end;
    const char* conclusion;
    Exit exit;
  };
  for (const auto& [end, conclusion, exit] : std::initializer_list<Row>{
           {InstallEnd::installed, "libs 1.0, variant modern, is installed.", Exit::ok},
           {InstallEnd::unchanged, "libs 1.0, variant modern, is installed already.", Exit::ok},
           {InstallEnd::planned,
            "libs 1.0 would be installed: 4 KiB are fetched, 2 of 5 files are here already.",
            Exit::ok},
           {InstallEnd::nothing, "libs 1.0 has nothing to install here.", Exit::ok},
           {InstallEnd::refused, "Nothing was installed.", Exit::unhealthy},
           {InstallEnd::not_loaded, "Nothing was installed.", Exit::unhealthy},
           {InstallEnd::failed, "Nothing was installed.", Exit::unknown}}) {
    const auto envelope = concluded(report_of(end));
    EXPECT_EQ(envelope.conclusion, conclusion);
    EXPECT_EQ(envelope.exit, exit) << conclusion;
  }
}

TEST(InstallReport, AnErrorIsTheConclusion) {
  for (const auto end : {InstallEnd::refused, InstallEnd::not_loaded, InstallEnd::failed}) {
    auto report = report_of(end);
    report.outcome.error = Error{ErrorKind::busy, "the lock is \x1b[1mheld", 0};
    EXPECT_EQ(concluded(report).conclusion, "the lock is ?[1mheld");
  }
}

TEST(InstallReport, CountsTheGpusThatItLoadsOn) {
  auto report = report_of(InstallEnd::installed);
  auto& loads = report.outcome.installed->loads;
  loads.push_back({.device = "cpu", .name = {}, .libraries = 1, .failure = {}});
  EXPECT_EQ(concluded(report).conclusion, "libs 1.0, variant modern, is installed.");
  loads.push_back({.device = "GPU-1", .name = "A10", .libraries = 1, .failure = {}});
  EXPECT_EQ(concluded(report).conclusion,
            "libs 1.0, variant modern, is installed and loads on 1 GPU.");
  loads.push_back({.device = "GPU-2", .name = "A10", .libraries = 1, .failure = {}});
  EXPECT_EQ(concluded(report).conclusion,
            "libs 1.0, variant modern, is installed and loads on 2 GPUs.");
}

TEST(InstallReport, OfAnInstallationIsWhole) {
  auto report = report_of(InstallEnd::installed);
  report.notes = {"modern serves all."};
  report.model = "large";
  report.outcome.without_ranges = true;
  auto& loads = report.outcome.installed->loads;
  loads.push_back({.device = "GPU-1", .name = "A10", .libraries = 3, .modules = 2, .failure = {}});
  loads.back().probes = 1;
  loads.push_back(
      {.device = "GPU-2", .name = {}, .libraries = 1, .modules = 0, .failure = "error 209"});
  loads.back().probes = 2;
  EXPECT_EQ(shown(report), R"([ok] libs 1.0, variant modern, is installed and loads on 2 GPUs.
  modern serves all.
  Model: large
  1 KiB fetched, 2 KiB written in 1.50 s; 2 of 5 files were here already.
  The server knows no ranges, so the whole archive was read.
  A10: 3 libraries and 2 pieces of device code loaded, 1 probe kernel launched
  GPU-2: 1 libraries and 0 pieces of device code loaded, 2 probe kernels
  launched, then: error 209
  Use it from /store/current
)");
  TerminalStyle quiet;
  quiet.quiet = true;
  EXPECT_EQ(shown(report, quiet),
            "[ok] libs 1.0, variant modern, is installed and loads on 2 GPUs.\n");
}

TEST(InstallReport, NamesTheFolderOnlyWhereSomethingIsInstalled) {
  EXPECT_EQ(shown(report_of(InstallEnd::unchanged)),
            "[ok] libs 1.0, variant modern, is installed already.\n  Use it from /store/current\n");
  EXPECT_EQ(shown(report_of(InstallEnd::nothing)), "[ok] libs 1.0 has nothing to install here.\n");
  EXPECT_EQ(shown(report_of(InstallEnd::planned)),
            "[ok] libs 1.0 would be installed: 4 KiB are fetched, 2 of 5 files are here\n"
            "     already.\n");
  EXPECT_EQ(shown(report_of(InstallEnd::refused)), "[x] Nothing was installed.\n");
}

}  // namespace
}  // namespace gpuready
