#include "report/ternary/bench_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/terminal_text.h"

namespace gpuready {
namespace {

using namespace ternary;

std::string time_text(double us) {
  return us < 1000 ? fmt::format("{:.1f} us", us) : fmt::format("{:.2f} ms", us * 1e-3);
}

std::string operations_text(double per_s) {
  return per_s < 1e12 ? fmt::format("{:.0f} G", per_s * 1e-9)
                      : fmt::format("{:.1f} T", per_s * 1e-12);
}

}  // namespace

std::string render_terminal(const TernaryTimes& times, const TerminalStyle& style) {
  TerminalText out(style);
  const auto& rows = times.rows;
  std::vector<BenchShape> shapes;
  for (const BenchRow& row : rows)
    if (row.shape.n > 0 && std::find(shapes.begin(), shapes.end(), row.shape) == shapes.end())
      shapes.push_back(row.shape);
  for (const BenchShape& shape : shapes) {
    Table table;
    table.columns = {{"Tier or kernel"},
                     {"Device", Align::left, false, 2},
                     {"Form"},
                     {"Of"},
                     {"Least", Align::right},
                     {"Median", Align::right, false, 1},
                     {"GB/s", Align::right},
                     {"Of reading", Align::right},
                     {"Op/s", Align::right}};
    for (const BenchRow& row : rows) {
      if (!(row.shape == shape) || row.status != CheckStatus::passed) continue;
      const auto share = row.read_share();
      const bool cpu = row.subject.starts_with("cpu/");
      table.rows.push_back(
          {{cpu ? row.subject : row.subject.substr(0, row.subject.find(':')) + " " + row.kernel},
           {cpu ? std::string() : row.device},
           {row.form},
           {std::string(name_of(row.timed))},
           {time_text(row.least_us)},
           {time_text(row.median_us)},
           {fmt::format("{:.1f}", row.bytes_per_s() * 1e-9)},
           {share ? fmt::format("{:.0f}%", *share * 100) : "-"},
           {operations_text(row.operations_per_s())}});
    }
    if (table.rows.empty()) continue;
    out.heading(fmt::format("M {}, N {}, K {}", shape.m, shape.n, shape.k));
    out.table(2, table);
    out.blank();
  }
  for (const BenchRow& row : rows)
    if (row.status != CheckStatus::passed && (!style.quiet || row.status == CheckStatus::failed))
      out.paragraph(2, {out.mark(Tone::neutral) + " ", Ink::dim},
                    fmt::format("{}: {}", row.subject, row.reason));
  if (!style.quiet && !shapes.empty())
    out.paragraph(
        2, {""},
        "GB/s are of packed weights. Of reading: on a CPU, of reading as many bytes "
        "alone, with the same threads and from where the weights are; on a GPU, of "
        "reading 1 GiB of its memory. \"call\" is from and to host memory, \"device\" is "
        "on a GPU alone, with weights that its cache does not hold, \"device-values\" the "
        "same from activations that are not quantised yet.",
        Ink::dim);
  return out.take();
}

}  // namespace gpuready
