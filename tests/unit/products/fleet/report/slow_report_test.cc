// What `fleet slow` shows of each kind of finding, as whole texts.
#include "fleet/report/slow_report.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace gpuready {
namespace {

using namespace fleet;

SlowFindings findings() {
  SlowFindings found;
  found.nodes = 64;
  found.groups = 8;
  found.slow = {{FleetPart::node, "n13", "", 0.8804, 1, 5},
                {FleetPart::group, "leaf_3", "", 0.8896, 0.9999, 2},
                {FleetPart::link, "n1", "n2", 0.5, 0.99957, 1}};
  found.suspects = {{FleetPart::node, "n7", "", 0.93, 0.5, 3}};
  found.unknown = {"n40", "n41"};
  found.left = {"n50"};
  found.failing = {{FleetPart::node, "n20", "", {"n1", "n2", "n5"}, 5, 3, 7},
                   {FleetPart::link, "n30", "n31", {}, 3, 0, 3}};
  found.rounds = 16;
  found.measured_pairs = 512;
  found.failed_pairs = 8;
  found.ended = SearchEnd::most_rounds;
  found.usual_rate = 1000.4;
  found.noise = 0.006;
  found.limit_share = 0.955;
  for (unsigned round = 1; round <= 6; ++round)
    found.failures.push_back({round, "n20", "n1", "exit code 1"});
  found.notes = {"The spine is shared."};
  return found;
}

constexpr const char* kConclusion =
    "1 slow node, 1 slow group, 1 slow link among 64 nodes; 3 unknown; 1 undecided; failed: 2 "
    "parts; the limit of rounds ended the search.";
constexpr const char* kBasis =
    "16 rounds, 512 pairs; usual rate 1000; a measurement varies by 0.6%; slow is below 95.5%. 8 "
    "pairs gave no answer or wrong values.";
constexpr const char* kFound =
    "[x] node n13: 88.0% of the usual rate, 99.99% sure by 5 measurements\n"
    "[x] group leaf_3: 89.0% of the usual rate, 99.99% sure by 2 measurements\n"
    "[x] link n1 - n2: 50.0% of the usual rate, 99.96% sure by 1 measurement\n"
    "\n"
    "Undecided:\n"
    "[!] node n7: 93.0% of the usual rate, 50.00% sure by 3 measurements\n"
    "[x] node n20: 3 of 7 measurements had wrong values; 2 of 7 measurements gave no answer; with "
    "n[1-2,5]\n"
    "[!] link n30 - n31: 3 of 3 measurements gave no answer\n"
    "[!] Unknown, never answered: n[40-41]\n"
    "[!] Unknown, no longer answer: n50\n";

TEST(SlowReport, ShowsAllThatWasFound) {
  TerminalStyle style;
  style.columns = 400;
  EXPECT_EQ(render_terminal(findings(), style), std::string(kFound) +
                                                    "\n"
                                                    "  round 1, n20 with n1: exit code 1\n"
                                                    "  round 2, n20 with n1: exit code 1\n"
                                                    "  round 3, n20 with n1: exit code 1\n"
                                                    "  round 4, n20 with n1: exit code 1\n"
                                                    "  round 5, n20 with n1: exit code 1\n"
                                                    "  and 1 more\n"
                                                    "\n"
                                                    "[-] The spine is shared.\n" +
                                                    kBasis + "\n" + kConclusion + "\n");
  style.quiet = true;
  EXPECT_EQ(render_terminal(findings(), style), std::string(kFound) + kConclusion + "\n");
}

TEST(SlowReport, TwentySuspectsAreShownAndAllThatIsSlow) {
  SlowFindings found;
  for (int i = 1; i <= 21; ++i) {
    found.slow.push_back({FleetPart::node, fmt::format("s{}", i), "", 0.5, 1, 5});
    found.suspects.push_back({FleetPart::node, fmt::format("u{}", i), "", 0.9, 0.5, 5});
  }
  const auto text = render_terminal(found, TerminalStyle());
  EXPECT_TRUE(contains(text, "node s21:")) << text;
  EXPECT_TRUE(contains(text, "node u20:")) << text;
  EXPECT_FALSE(contains(text, "node u21:")) << text;
  EXPECT_TRUE(contains(text, "  and 1 more\n")) << text;
}

TEST(SlowReport, MarkdownHoldsAllButSingleFailures) {
  constexpr const char* kHead =
      "\n\n| part | share of the usual rate | probability | measurements |\n|---|---|---|---|\n";
  EXPECT_EQ(render_markdown(findings(), Envelope()),
            std::string("# Slow nodes\n\n") + kConclusion + "\n\n## Slow" + kHead +
                "| node n13 | 88.0% | 99.99% | 5 |\n"
                "| group leaf\\_3 | 89.0% | 99.99% | 2 |\n"
                "| link n1 - n2 | 50.0% | 99.96% | 1 |\n"
                "\n## Undecided" +
                kHead +
                "| node n7 | 93.0% | 50.00% | 3 |\n"
                "\n## Failed measurements\n\n"
                "- node n20: 3 of 7 measurements had wrong values; 2 of 7 measurements gave no "
                "answer; with n\\[1-2,5\\]\n"
                "- link n30 - n31: 3 of 3 measurements gave no answer\n"
                "\nUnknown, never answered: n\\[40-41\\]\n"
                "\nUnknown, no longer answer: n50\n"
                "\nThe spine is shared.\n"
                "\n" +
                kBasis + "\n");
}

TEST(SlowReport, NothingFoundIsSaidByWhatWasMeasured) {
  SlowFindings found;
  found.nodes = 4;
  found.usual_rate = 12.3456;
  found.noise = 0.01;
  found.limit_share = 0.955;
  found.rounds = 1;
  found.measured_pairs = 1;
  EXPECT_EQ(render_markdown(found, Envelope()),
            "# Slow nodes\n\nNo node, group or link is slower by 4.5% or more among 4 nodes.\n\n"
            "1 round, 1 pair; usual rate 12.35; a measurement varies by 1.0%; slow is below "
            "95.5%.\n");
  found.limit_share.reset();
  EXPECT_EQ(conclusion_of(found), "Nothing is known to be slow among 4 nodes.");
  found = {};
  found.nodes = 4;
  found.unknown = {"n1"};
  found.ended = SearchEnd::no_answers;
  EXPECT_EQ(render_markdown(found, Envelope()),
            "# Slow nodes\n\nNothing is known to be slow among 4 nodes; 1 unknown; the rounds gave "
            "no answers.\n\nUnknown, never answered: n1\n\nNo pair was measured.\n");
}

// As lines of a file for --results.
TEST(SlowReport, APlanIsARoundsLines) {
  SlowFindings found;
  found.ended = SearchEnd::planned;
  found.rounds = 2;
  found.next_round = {{"n1", "n2"}, {"n3", "n4"}};
  EXPECT_EQ(render_terminal(found, TerminalStyle()), "# Round 3 has 2 pairs.\n3 n1 n2\n3 n3 n4\n");
}

TEST(KeptRoundsOfASearch, AreToldWithTheirAge) {
  SlowFindings findings;
  note_kept_rounds(findings, {.rounds = 0, .file = "rates", .before = "2026-11-30"});
  EXPECT_EQ(findings.notes, std::vector<std::string>{});
  findings.rounds = 3, findings.ended = SearchEnd::settled;
  note_kept_rounds(findings, {.rounds = 1, .file = "rates", .before = "2026-11-30"});
  EXPECT_EQ(findings.notes,
            std::vector<std::string>{"1 round of rates was measured before 2026-11-30."});
  findings.notes.clear();
  note_kept_rounds(findings, {.rounds = 2, .file = "ra\x1btes", .before = "2026-11-30"});
  EXPECT_EQ(findings.notes,
            std::vector<std::string>{"2 rounds of ra?tes were measured before 2026-11-30."});
  EXPECT_EQ(findings.ended, SearchEnd::settled);
}

// Its answer is as old as the file.
TEST(KeptRoundsOfASearch, ThatHadEndedMeasuredNothingNow) {
  SlowFindings findings;
  findings.rounds = 2, findings.ended = SearchEnd::settled;
  note_kept_rounds(findings, {.rounds = 2, .file = "rates", .before = "2026-11-30"});
  EXPECT_EQ(findings.ended, SearchEnd::ended_before);
  EXPECT_EQ(findings.notes,
            std::vector<std::string>{
                "Nothing was measured now, because this search has ended: 2 rounds of rates "
                "were measured before 2026-11-30. For a new search, remove the file or name "
                "another."});
  findings.notes.clear(), findings.ended = SearchEnd::interrupted;
  note_kept_rounds(findings,
                   {.rounds = 2, .file = "rates", .before = "2026-11-30", .interrupted = true});
  EXPECT_EQ(findings.ended, SearchEnd::interrupted);
  EXPECT_EQ(findings.notes,
            std::vector<std::string>{"2 rounds of rates were measured before 2026-11-30."});
}

}  // namespace
}  // namespace gpuready
