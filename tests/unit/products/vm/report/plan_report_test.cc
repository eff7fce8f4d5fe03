#include "vm/report/plan_report.h"

#include <gtest/gtest.h>

namespace gpuready {
namespace {

using vm::ActionKind;
using vm::Claim;
using vm::Done;

constexpr const char* kUuid = "b1f0a3f0-0000-4000-8000-000000000001";

PciAddress at(std::string_view address) { return *parse_pci_address(address); }

vm::PlanStep unbind() {
  return {.what = "Unbind 0000:17:00.0 from nvidia",
          .why = "A device has one driver at a time.",
          .risk = "The driver may not return.",
          .act = {.kind = ActionKind::unbind, .device = at("17:00.0"), .driver = "nvidia"},
          .undo = vm::PlanAction{
              .kind = ActionKind::bind, .device = at("17:00.0"), .driver = "nvidia"}};
}

vm::Plan plan(std::string operation = "attach") {
  vm::Plan out;
  out.operation = std::move(operation);
  out.name = "guest-1";
  out.devices = {at("17:00.0"), at("17:00.1")};
  out.steps = {unbind(),
               {.what = "Note the VBIOS", .why = "", .risk = "", .act = {.kind = ActionKind::rom}}};
  return out;
}

Done done_of(vm::Plan of) { return {.plan = std::move(of), .outcome = {}}; }

std::string shown(const Done& done, bool planned_only = false, TerminalStyle style = {}) {
  return render_terminal(VmOperation{.done = {done}, .planned_only = planned_only}, style);
}

TEST(VmPlan, EachStepIsShownWithItsReasonRiskAndUndo) {
  auto shown_plan = plan();
  shown_plan.warnings = {"it cannot be reset"};
  shown_plan.instances = {kUuid};
  EXPECT_EQ(shown(done_of(shown_plan), true, {.columns = 120}),
            "warning: it cannot be reset\n"
            "\n"
            "Attach 0000:17:00.0 0000:17:00.1 b1f0a3f0-0000-4000-8000-000000000001 for guest-1\n"
            "  1. Unbind 0000:17:00.0 from nvidia\n"
            "     why:  A device has one driver at a time.\n"
            "     risk: The driver may not return.\n"
            "     undo: bind 0000:17:00.0 to nvidia\n"
            "  2. Note the VBIOS\n"
            "\n"
            "2 steps would attach 0000:17:00.0 0000:17:00.1 b1f0a3f0-0000-4000-8000-000000000001 "
            "for guest-1.\n");
  shown_plan = plan("detach");
  shown_plan.name.clear();
  shown_plan.devices.clear();
  shown_plan.instances = {kUuid};
  shown_plan.steps.pop_back();
  EXPECT_EQ(shown(done_of(shown_plan), true),
            "Give back b1f0a3f0-0000-4000-8000-000000000001 for a virtual machine\n"
            "  1. Unbind 0000:17:00.0 from nvidia\n"
            "     why:  A device has one driver at a time.\n"
            "     risk: The driver may not return.\n"
            "     undo: bind 0000:17:00.0 to nvidia\n"
            "\n"
            "1 step would give back b1f0a3f0-0000-4000-8000-000000000001 for a virtual\n"
            "machine.\n");
}

// The first refusal is the conclusion; it is not said twice.
TEST(VmPlan, OfARefusedPlanNoStepIsShown) {
  auto refused = plan();
  refused.warnings = {"it cannot be reset"};
  refused.refusals = {"17:00.0 is in use", "no IOMMU"};
  for (const bool planned_only : {false, true})
    EXPECT_EQ(shown(done_of(refused), planned_only),
              "warning: it cannot be reset\n"
              "refused: no IOMMU\n"
              "\n"
              "Nothing was done: 17:00.0 is in use\n");
  EXPECT_EQ(render_plan(refused, {}),
            "warning: it cannot be reset\n"
            "refused: 17:00.0 is in use\n"
            "refused: no IOMMU\n");
}

TEST(VmPlan, WithoutStepsHasNoHeading) {
  auto empty = plan();
  empty.steps.clear();
  EXPECT_EQ(render_plan(empty, {}), "");
}

// What happened in each of an operation's parts, in the order in which it happened.
Done failed() {
  auto done = done_of(plan());
  done.outcome.done = {"Stopped the service"};
  done.outcome.notes = {"the link is slow"};
  done.outcome.failed = "Unbind 0000:17:00.0";
  done.outcome.error = Error{ErrorKind::io, "no answer", 0};
  done.outcome.undone = {"Started the service"};
  return done;
}

TEST(VmOperation, TellsWhatWasDoneAndTakenBack) {
  auto done = failed();
  EXPECT_EQ(shown(done),
            "done:   Stopped the service\n"
            "note:   the link is slow\n"
            "failed: Unbind 0000:17:00.0: no answer\n"
            "undone: Started the service\n"
            "\n"
            "attach failed and was taken back: no answer\n");
  EXPECT_EQ(shown(done, false, {.quiet = true}), "attach failed and was taken back: no answer\n");
  done.outcome.left = {"0000:17:00.1 has no driver"};
  done.outcome.unclean = {{at("17:00.0"), "its memory was not overwritten"}};
  EXPECT_EQ(shown(done),
            "done:   Stopped the service\n"
            "note:   the link is slow\n"
            "failed: Unbind 0000:17:00.0: no answer\n"
            "undone: Started the service\n"
            "left:   0000:17:00.1 has no driver\n"
            "quarantine: 0000:17:00.0: its memory was not overwritten\n"
            "\n"
            "attach did not end: gpuready vm recover goes on with it.\n");
}

TEST(VmOperation, ConcludesByWhatCameOfIt) {
  auto done = done_of(plan());
  EXPECT_EQ(shown(done), "0000:17:00.0 0000:17:00.1 is attached for guest-1.\n");
  done.plan.operation = "detach";
  EXPECT_EQ(shown(done), "0000:17:00.0 0000:17:00.1 is back from guest-1.\n");
  done.outcome.unclean = {{at("17:00.1"), "its check failed"}};
  EXPECT_EQ(shown(done, false, {.quiet = true}),
            "0000:17:00.1 is in quarantine: its check failed\n");
  done.plan.operation = "hold";
  done.outcome = {};
  done.outcome.done = {"Held 0000:17:00.0"};
  EXPECT_EQ(shown(done, false, {.quiet = true}), "1 device waits for gpuready vm recover.\n");
  done.outcome.done.emplace_back("Held 0000:17:00.1");
  EXPECT_EQ(shown(done, false, {.quiet = true}), "2 devices wait for gpuready vm recover.\n");
  done.outcome.failed = "Hold 0000:18:00.0";
  done.outcome.error = Error{ErrorKind::io, "no answer", 0};
  EXPECT_EQ(shown(done, false, {.quiet = true}), "Hold 0000:18:00.0: no answer\n");
  EXPECT_EQ(render_terminal(VmOperation{}, {}), "Nothing was to be done: all is whole.\n");
}

TEST(VmOperation, TheFirstThatDidNotSucceedSpeaksForAll) {
  const auto good = done_of(plan("detach"));
  auto unclean = good, other = failed();
  unclean.outcome.unclean = {{at("17:00.1"), "its check failed"}};
  EXPECT_EQ(conclusion(VmOperation{.done = {good, unclean, other}}),
            "0000:17:00.1 is in quarantine: its check failed");
  EXPECT_EQ(conclusion(VmOperation{.done = {good, other, unclean}}),
            "attach failed and was taken back: no answer");
  EXPECT_EQ(conclusion(VmOperation{.done = {good, good}}),
            "0000:17:00.0 0000:17:00.1 is back from guest-1.");
}

// Of "absent refused failed unfinished unclean " the words that hold.
std::string said(const VmTally& tally) {
  std::string text;
  for (const auto& [holds, word] : {std::pair(tally.absent, "absent "),
                                    {tally.refused, "refused "},
                                    {tally.failed, "failed "},
                                    {tally.unfinished, "unfinished "},
                                    {tally.unclean, "unclean "}})
    if (holds) text += word;
  return text;
}

TEST(VmOperation, IsTalliedOverAllThatWasDone) {
  const auto of = [](auto change) {
    Done done;
    change(done);
    EXPECT_EQ(said(tally(VmOperation{.done = {done}})),
              said(tally(VmOperation{.done = {Done(), done, Done()}})));
    return said(tally(VmOperation{.done = {done}}));
  };
  EXPECT_EQ(of([](Done&) {}), "");
  EXPECT_EQ(of([](Done& d) { d.plan.absent = {"17:00.0"}; }), "absent ");
  EXPECT_EQ(of([](Done& d) { d.plan.refusals = {"no IOMMU"}; }), "refused ");
  EXPECT_EQ(of([](Done& d) { d.outcome.error = Error{ErrorKind::io, "no", 0}; }), "failed ");
  // Interrupted, it did not fail.
  EXPECT_EQ(of([](Done& d) { d.outcome.error = Error{ErrorKind::cancelled, "no", 0}; }), "");
  EXPECT_EQ(of([](Done& d) { d.outcome.left = {"a driver"}; }), "unfinished ");
  EXPECT_EQ(of([](Done& d) { d.outcome.unclean = {{at("17:00.0"), "no"}}; }), "unclean ");
}

vm::Operation operation(std::string kind, bool ended = true) {
  vm::Operation out;
  out.plan = plan(std::move(kind));
  out.ended = ended;
  return out;
}

Claim claim(std::vector<vm::Operation> operations) {
  Claim out;
  out.operations = std::move(operations);
  return out;
}

TEST(VmStatus, ShowsWhoHasWhatAndWhatIsWrong) {
  auto unclean = claim({operation("attach"), operation("detach")});
  unclean.operations[0].plan.name = "guest-2";
  unclean.operations[1].unclean = {{at("17:00.1"), "its check failed"}};
  auto lost = claim({operation("attach")});
  lost.gone.resize(2);
  lost.gone[0].address = at("17:00.0");
  lost.gone[0].ids = "10de:2330";
  lost.gone[1].ids = "10de:22bb";
  lost.gone[1].uuid = "GPU-1";
  Claim damaged;
  damaged.problem = "/state/000003.1.attach.jsonl: no plan";
  VmStatus status{.claims = {unclean, lost, damaged}};
  EXPECT_EQ(render_terminal(status, {.columns = 120}),
            "For      State        Devices\n"
            "guest-2  quarantined  0000:17:00.0 0000:17:00.1\n"
            "guest-1  attached     0000:17:00.0 0000:17:00.1\n"
            "?        unreadable   /state/000003.1.attach.jsonl: no plan\n"
            "quarantine: 0000:17:00.1: its check failed\n"
            "gone: 0000:17:00.0 (10de:2330), which was attached to guest-1, is missing from this "
            "machine\n"
            "gone: GPU-1 (10de:22bb), which was attached to guest-1, is missing from this machine\n"
            "\n"
            "A journal cannot be read: /state/000003.1.attach.jsonl: no plan.\n");
  status.claims.pop_back();
  EXPECT_EQ(render_terminal(status, {.quiet = true}),
            "Devices are in quarantine: gpuready vm recover tests them again.\n");
  EXPECT_EQ(render_terminal(VmStatus{}, {}), "Nothing is attached.\n");
}

TEST(VmStatus, OfEachStateIsTalliedAndConcluded) {
  const auto of = [](const Claim& one) {
    const VmStatus status{.claims = {claim({operation("attach")}), one}};
    return said(tally(status)) + "| " + conclusion(status);
  };
  auto back = operation("detach");
  auto quarantined = back;
  quarantined.unclean = {{at("17:00.0"), "no"}};
  EXPECT_EQ(of(claim({operation("attach")})), "| 2 claims attached.");
  EXPECT_EQ(of(claim({operation("attach"), quarantined})),
            "unclean | Devices are in quarantine: gpuready vm recover tests them again.");
  constexpr const char* kGoesOn =
      "unfinished | An operation did not end: gpuready vm recover goes on with it.";
  EXPECT_EQ(of(claim({operation("attach", false)})), kGoesOn);
  EXPECT_EQ(of(claim({operation("attach"), operation("detach", false)})), kGoesOn);
  EXPECT_EQ(of(claim({operation("attach"), back})), kGoesOn);  // its files are yet to be removed
  EXPECT_EQ(conclusion(VmStatus{.claims = {claim({operation("attach")})}}), "1 claim attached.");
}

// What a claim's file hides may be of any name, so that it is shown for each.
TEST(VmStatus, IsOfWhatRemainsForTheNameThatIsAsked) {
  const Claim gone = claim({operation("attach"), operation("detach")});
  Claim other = claim({operation("attach")});
  other.operations[0].plan.name = "guest-2";
  Claim damaged;
  damaged.problem = "no plan";
  const auto shown = [&](const std::optional<std::string>& name) {
    std::string all;
    for (const auto& each :
         status_of({claim({operation("attach")}), gone, other, damaged}, name).claims)
      all += (each.operations.empty() ? each.problem : each.attached().name) + ";";
    return all;
  };
  EXPECT_EQ(shown({}), "guest-1;guest-2;no plan;");
  EXPECT_EQ(shown("guest-2"), "guest-2;no plan;");
  EXPECT_EQ(shown("guest-3"), "no plan;");
}

TEST(VmPlan, HugePagesAreOfTheSizeThatIsNamed) {
  for (const auto& [gib, size, bytes, page] :
       {std::tuple(1ull, "2M", 1073741824ull, 2097152ull),
        {3ull, "1G", 3221225472ull, 1073741824ull},
        {65536ull, "1G", 70368744177664ull, 1073741824ull}}) {
    const auto pages = vm::huge_pages(gib, size);
    EXPECT_EQ(pages.bytes, bytes);
    EXPECT_EQ(pages.page_bytes, page);
  }
}

}  // namespace
}  // namespace gpuready
