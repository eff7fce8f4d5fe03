#include <fmt/format.h>

#include <algorithm>

#include "report/facts.h"
#include "report/terminal/terminal_parts.h"
#include "report/topology.h"

namespace gpuready {
namespace {

constexpr std::size_t kLabelColumns = 25;

void write_groups(const std::vector<FactGroup>& groups, bool indent, TerminalText& out) {
  const std::size_t left = indent ? 2 : 0;
  for (const FactGroup& group : groups) {
    if (indent)
      out.line(left, {{group.title, Ink::bold}});
    else
      out.heading(group.title);
    for (const Fact& fact : group.facts)
      out.paragraph(left + 2,
                    {pad(cut(one_line(fact.label), kLabelColumns - 1), kLabelColumns), Ink::dim},
                    fact.value);
  }
}

// Columns of the matrix in blocks that fit beside each other.
void write_matrix(const TopologyMatrix& matrix, TerminalText& out) {
  std::size_t width = 4;
  const auto name = [&](std::size_t i) { return fmt::format("GPU{}", matrix.gpus[i]); };
  for (std::size_t i = 0; i < matrix.gpus.size(); ++i) {
    width = std::max(width, name(i).size());
    for (const std::string& label : matrix.labels[i]) width = std::max(width, label.size());
  }
  width += 2;
  const std::size_t block = std::max<std::size_t>((out.columns() - 2) / width, 2) - 1;
  for (std::size_t first = 0; first < matrix.gpus.size(); first += block) {
    const std::size_t last = std::min(first + block, matrix.gpus.size());
    std::string header = std::string(width, ' ');
    for (std::size_t c = first; c < last; ++c) header += pad(name(c), width);
    out.line(2, {{header, Ink::dim}});
    for (std::size_t r = 0; r < matrix.gpus.size(); ++r) {
      std::vector<Span> spans{{pad(name(r), width), Ink::bold}};
      for (std::size_t c = first; c < last; ++c)
        spans.push_back({pad(matrix.labels[r][c], width), r == c ? Ink::dim : Ink::plain});
      out.line(2, spans);
    }
  }
}

}  // namespace

void write_topology(const Machine& machine, TerminalText& out) {
  const TopologyMatrix matrix = topology_matrix(machine);
  if (matrix.gpus.empty()) return;
  out.heading("Topology");
  write_matrix(matrix, out);
  for (const LegendEntry& entry : matrix.legend)
    out.line(2, {{pad(entry.label, 6), Ink::bold}, {std::string(entry.meaning), Ink::dim}});
}

void write_details(const Machine& machine, TerminalText& out) {
  for (const Gpu& gpu : machine.gpus) {
    out.heading(fmt::format("GPU {}  {}{}", gpu.index, gpu.name.empty() ? "(no name)" : gpu.name,
                            gpu.faked ? "  FAKED" : ""));
    write_groups(gpu_facts(gpu), true, out);
  }
  write_topology(machine, out);
  write_groups(machine_facts(machine), false, out);
}

}  // namespace gpuready
