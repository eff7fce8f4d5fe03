#include "fleet/node_facts.h"

#include <gtest/gtest.h>

#include <map>

namespace gpuready::fleet {
namespace {

Gpu gpu(int index, std::string name) {
  Gpu out;
  out.index = index;
  out.name = std::move(name);
  return out;
}
NodeReport read(const Machine& machine) {
  NodeReport out;
  read_facts(machine, out);
  return out;
}
// Of one GPU, or with -1 of the node; empty: it is not reported.
std::string fact(const Machine& machine, std::string_view name, int gpu) {
  for (const NodeFact& each : read(machine).facts)
    if (each.name == name && each.gpu == gpu) return each.value;
  return "";
}

TEST(NodeFacts, ALinkIsOneOnlyIfItsGenerationAndWidthAreKnown) {
  struct {
    PcieLink link;
    const char* text;
  } const kCases[] = {
      {{5, 16}, "gen 5 x16"}, {{4, 8}, "gen 4 x8"}, {{4, {}}, ""}, {{{}, 16}, ""}, {{}, ""}};
  for (const auto& [link, text] : kCases) {
    Machine machine;
    machine.gpus = {gpu(0, "H100")};
    machine.gpus[0].link_max = link;
    EXPECT_EQ(fact(machine, "maximum link", 0), text);
  }
}

TEST(NodeFacts, OfNvLinksThoseThatAreUpAreCounted) {
  Machine machine;
  machine.gpus = {gpu(0, "H100")};
  EXPECT_EQ(fact(machine, "NVLinks up", 0), "");
  for (const std::optional<bool> up : {std::optional(true), {true}, {false}, {}}) {
    NvLink link;
    link.up = up;
    machine.gpus[0].nvlinks.push_back(link);
  }
  EXPECT_EQ(fact(machine, "NVLinks up", 0), "2");
  for (NvLink& link : machine.gpus[0].nvlinks) link.up = false;
  EXPECT_EQ(fact(machine, "NVLinks up", 0), "0");
}

TEST(NodeFacts, SwitchesAndNumbersHaveTheirUnits) {
  Machine machine;
  machine.gpus = {gpu(3, "H100")};
  Gpu& one = machine.gpus[0];
  for (const char* name : {"ECC", "MIG", "persistence", "power limit", "maximum SM clock"})
    EXPECT_EQ(fact(machine, name, 3), "") << name;
  one.ecc.enabled_now = true;
  one.mig_enabled = false;
  one.power.limit_mw = 700'000;
  one.clocks.max_sm_mhz = 1980;
  one.link_now.width = 8;
  EXPECT_EQ(fact(machine, "ECC", 3), "on");
  EXPECT_EQ(fact(machine, "MIG", 3), "off");
  EXPECT_EQ(fact(machine, "power limit", 3), "700 W");
  EXPECT_EQ(fact(machine, "maximum SM clock", 3), "1980 MHz");
  EXPECT_EQ(fact(machine, "link width", 3), "8 lanes");
}

TEST(NodeFacts, AreOfTheModelThatMostGpusAre) {
  Machine machine;
  machine.gpus = {gpu(0, "T400"), gpu(1, "H100"), gpu(2, "H100"), gpu(3, "H100"), gpu(4, "Vega")};
  machine.gpus[3].suspended = true;
  machine.gpus[4].integrated = true;
  for (Gpu& each : machine.gpus) {
    each.vbios_version = "96";
    each.memory.total_bytes = 80;
  }
  const NodeReport report = read(machine);
  EXPECT_EQ(report.model, "H100");
  EXPECT_EQ(report.gpus, 4u);
  EXPECT_EQ(fact(machine, kGpuCount, -1), "4");
  std::map<int, std::size_t> facts, rates;
  for (const NodeFact& each : report.facts)
    if (each.gpu >= 0) ++facts[each.gpu];
  for (const NodeRate& each : report.rates) ++rates[each.gpu];
  EXPECT_EQ(facts, (std::map<int, std::size_t>{{1, 1}, {2, 1}}));
  EXPECT_EQ(rates, facts);
}

}  // namespace
}  // namespace gpuready::fleet
