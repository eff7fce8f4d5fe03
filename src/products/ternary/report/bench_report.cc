#include "ternary/report/bench_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/terminal/terminal_text.h"

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

bool timed(const BenchRow& row) { return row.status == CheckStatus::passed; }

bool was_interrupted(const BenchRow& row) { return row.reason == kInterrupted; }

std::string shape_text(const BenchShape& shape) {
  return fmt::format("M {}, N {}, K {}", shape.m, shape.n, shape.k);
}

// "M 1, N 2560, K 2560 in part; M 512, N 2560, K 2560; the GPUs": what an interrupt left untimed.
std::string left_out(std::span<const BenchRow> rows, std::span<const BenchShape> shapes) {
  std::vector<std::string> parts;
  for (const BenchShape& shape : shapes) {
    std::size_t all = 0, untimed = 0;
    for (const BenchRow& row : rows) {
      all += row.shape == shape;
      untimed += row.shape == shape && was_interrupted(row);
    }
    if (untimed > 0) parts.push_back(shape_text(shape) + (untimed < all ? " in part" : ""));
  }
  for (const BenchRow& row : rows)
    if (was_interrupted(row) && row.shape.n == 0)
      parts.push_back(row.subject == "gpu" ? "the GPUs" : row.subject);
  return join(parts, "; ");
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
    out.heading(shape_text(shape));
    out.table(2, table);
    out.blank();
  }
  for (const BenchRow& row : rows)
    if (row.status != CheckStatus::passed && !was_interrupted(row) &&
        (!style.quiet || row.status == CheckStatus::failed))
      out.paragraph(2, {out.mark(Tone::neutral) + " ", Ink::dim},
                    fmt::format("{}: {}", row.subject, row.reason));
  if (const std::string rest = left_out(rows, shapes); !rest.empty())
    out.paragraph(2, {out.mark(Tone::warn) + " ", Ink::warn}, "Interrupted; not timed: " + rest);
  if (!style.quiet && std::ranges::any_of(rows, timed))
    out.paragraph(2, {""},
                  "GB/s are of packed weights. Of reading: on a CPU, of only reading as many bytes "
                  "with the same threads and from where the weights are; on a GPU, of "
                  "reading 1 GiB of its memory. \"call\" is from and to host memory, \"device\" is "
                  "only on a GPU, with weights that its cache does not hold, \"device-values\" the "
                  "same from activations that are not quantised yet.",
                  Ink::dim);
  return out.take();
}

}  // namespace gpuready
