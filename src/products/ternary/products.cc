// The products of CpuEngine: divides the panels among the threads, and drives the kernels.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <numeric>

#include "ternary/call_log.h"
#include "ternary/engine.h"
#include "ternary/floats.h"
#include "ternary/shape.h"

namespace gpuready::ternary {
namespace {

using kernels::kPanelRows;
using kernels::kQuadBytes;

// Columns that are unpacked at once for a matrix product, so that a panel's quad rows (two panels'
// for AMX) stay in the first-level cache while all activation rows pass: 20 KiB, and 32.
constexpr std::size_t kDepth = 1280, kAmxDepth = 1024;
std::size_t columns_at_once(Tier tier) { return tier == Tier::amx ? kAmxDepth : kDepth; }
// Activation rows and pairs of panels that are worked on together: their sums, 64 KiB a pair, and
// the activations, 1 KiB a row and depth, share the second-level cache.
constexpr std::size_t kRowBlock = 512, kMostPairs = 6;
// The same where scales are by group: sums of a pair of panels, 12 KiB, stay in the first-level
// cache until their terms are added. All tiers' kernels take whole pieces of this many rows.
constexpr std::size_t kGroupRows = 96;
// Pairs of panels that meet the same tables of looked-up sums: as many as are worth filling these,
// and few enough that their sums, 6 KiB a pair, stay in the second-level cache. What of these is 16
// bits wide, and the entries of a pair's weights.
constexpr std::size_t kLookupPairs = 48, kFewestLookupPairs = 12;
constexpr std::size_t kPartialBytes = 2 * kPanelRows * kernels::kLookupRows * sizeof(std::int16_t);
constexpr std::size_t kEntriesBytes =
    2 * kQuadBytes * kernels::kLookupBlocks * sizeof(std::uint16_t);
// Panels whose sums are finished together.
constexpr std::size_t kGemvPanels = 16;
// Panels of a vector's product that a thread takes at once, of its own share and then of those of
// others, which may be slower or asleep: few enough that none waits long for the last, and whole
// groups of those that kernels read side by side.
constexpr std::size_t kTakesAShare = 12, kPanelsTogether = 4;
// Those after which a thread by itself looks whether it is to stop, if it can be asked to.
constexpr std::size_t kPanelsUntilStop = 16 * kPanelsTogether;

// Rows [first, first + count) of what is finished.
kernels::FinishArgs rows_of(kernels::FinishArgs args, std::size_t first, std::size_t count) {
  args.sums += first * args.stride;
  if (args.y_sums != nullptr) args.y_sums += first;
  args.steps += first;
  args.rows = count;
  return args;
}
kernels::ScaleArgs rows_of(kernels::ScaleArgs args, std::size_t first, std::size_t count) {
  args.values += first * args.stride;
  args.steps += first;
  args.rows = count;
  return args;
}

// Finishes a tile of the product, from (first_row, column) on, by `run`, the tier's finish() or
// scale(); and adds what is added.
template <class Args>
void finish_tile(const kernels::Table& table, void (*run)(const Args&), Args args,
                 const Output& output, std::size_t all_cols, std::size_t first_row,
                 std::size_t column) {
  const auto place = [&](std::size_t row) {
    return static_cast<char*>(output.data) +
           ((first_row + row) * all_cols + column) * output.element_bytes;
  };
  if (!output.stored()) {
    args.type = output.type;
    args.out = place(0);
    args.out_stride = all_cols;
    run(args);
    return;
  }
  constexpr std::size_t kMost = kGemvPanels * kPanelRows;  // columns of a tile
  alignas(64) float values[kMost], bias[kMost], residual[kMost];
  const FloatView none;
  const FloatView& all_bias = output.addends != nullptr ? output.addends->bias : none;
  const FloatView& all_residual = output.addends != nullptr ? output.addends->residual : none;
  kernels::StoreArgs store{};
  store.count = args.cols;
  store.type = output.type;
  if (!all_bias.bytes.empty()) {
    read_floats(all_bias, column, args.cols, bias);
    store.bias = bias;
  }
  if (!all_residual.bytes.empty()) store.residual = residual;
  const std::size_t at_once = std::max<std::size_t>(kMost / args.cols, 1);
  for (std::size_t first = 0; first < args.rows; first += at_once) {
    Args some = rows_of(args, first, std::min(at_once, args.rows - first));
    some.type = kernels::kFloat32;
    some.out = values;
    some.out_stride = args.cols;
    run(some);
    for (std::size_t row = 0; row < some.rows; ++row) {
      if (store.residual != nullptr)
        read_floats(all_residual, (first_row + first + row) * all_cols + column, args.cols,
                    residual);
      store.values = values + row * args.cols;
      store.out = place(first + row);
      table.store(store);
    }
  }
}

kernels::FinishArgs finish_args(const detail::CpuWeights& w, const detail::ActivationRows& y,
                                std::size_t first_row) {
  kernels::FinishArgs args{};
  args.rows = static_cast<std::size_t>(y.rows);
  args.steps = y.steps.data();
  args.scales = w.scales.data() + first_row;
  return args;
}

// Sums of the codes of each group of columns: [groups][padded rows]. Kernels multiply w + 1.
struct GroupSums {
  std::vector<std::int32_t> sums;
  std::size_t rows;

  GroupSums(const kernels::Table& table, const detail::CpuWeights& w,
            const detail::ActivationRows& y)
      : rows(static_cast<std::size_t>(y.rows)) {
    if (w.group_scales.empty()) return;
    const std::size_t groups = w.groups(), width = static_cast<std::size_t>(w.group);
    const std::size_t cols = static_cast<std::size_t>(y.cols);
    sums.resize(groups * rows);
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t g = 0; g < groups; ++g) {
        sums[g * rows + row] = table.sum(y.codes.get() + row * y.stride + g * width,
                                         std::min(width, cols - g * width));
      }
    }
  }
};

void multiply_grouped_vector(const kernels::Table& table, const detail::CpuWeights& w,
                             const detail::ActivationRows& y, const GroupSums& group_sums,
                             const Output& output, kernels::Reading reading, std::size_t begin,
                             std::size_t end) {
  alignas(64) float values[kGemvPanels * kPanelRows];
  for (std::size_t panel = begin; panel < end; panel += kGemvPanels) {
    kernels::GroupedGemvArgs args{};
    args.packed = w.bytes.get() + panel * w.panel_bytes();
    args.blocks = w.blocks;
    args.group_blocks = w.group_blocks();
    args.groups = w.groups();
    args.panels = std::min(kGemvPanels, end - panel);
    args.y = y.codes.get();
    args.y_sums = group_sums.sums.data();
    args.scales = w.group_scales.data() + panel * args.groups * kPanelRows;
    args.out = values;
    args.reading = reading;
    table.grouped_gemv(args);
    kernels::ScaleArgs scale{};
    scale.values = values;
    scale.rows = 1;
    scale.cols = std::min(args.panels * kPanelRows,
                          static_cast<std::size_t>(w.shape.rows) - panel * kPanelRows);
    scale.steps = y.steps.data();
    scale.scales = w.scales.data() + panel * kPanelRows;
    finish_tile(table, table.scale, scale, output, static_cast<std::size_t>(w.shape.rows), 0,
                panel * kPanelRows);
  }
}

void multiply_vector(const kernels::Table& table, const detail::CpuWeights& w,
                     const detail::ActivationRows& y, const GroupSums& group_sums,
                     const Output& output, kernels::Reading reading, std::size_t begin,
                     std::size_t end) {
  if (w.group != 0) {
    multiply_grouped_vector(table, w, y, group_sums, output, reading, begin, end);
    return;
  }
  alignas(64) std::int32_t sums[kGemvPanels * kPanelRows];
  for (std::size_t panel = begin; panel < end; panel += kGemvPanels) {
    kernels::GemvArgs args{};
    args.packed = w.bytes.get() + panel * w.panel_bytes();
    args.blocks = w.blocks;
    args.panels = std::min(kGemvPanels, end - panel);
    args.y = y.codes.get();
    args.y_sum = y.sums[0];
    args.weight_sums = w.sums.data() + panel * kPanelRows;
    args.out = sums;
    args.reading = reading;
    table.gemv[static_cast<int>(w.form)](args);
    kernels::FinishArgs finish = finish_args(w, y, panel * kPanelRows);
    finish.sums = sums;
    finish.stride = 0;
    finish.cols = std::min(args.panels * kPanelRows,
                           static_cast<std::size_t>(w.shape.rows) - panel * kPanelRows);
    finish_tile(table, table.finish, finish, output, static_cast<std::size_t>(w.shape.rows), 0,
                panel * kPanelRows);
  }
}

bool multiply_vector_shared(const kernels::Table& table, const detail::Crew& crew,
                            const detail::CpuWeights& w, const detail::ActivationRows& y,
                            const GroupSums& group_sums, const Output& output,
                            kernels::Reading reading, unsigned parts) {
  if (parts == 1) {
    const std::size_t at_once = crew.stop.possible() ? kPanelsUntilStop : w.panels;
    return crew.run(1, [&](unsigned) {
      for (std::size_t first = 0; first < w.panels && !crew.stop.requested(); first += at_once)
        multiply_vector(table, w, y, group_sums, output, reading, first,
                        std::min(w.panels, first + at_once));
    });
  }
  const std::size_t groups = (w.panels + kPanelsTogether - 1) / kPanelsTogether;
  const auto begin = [&](unsigned part) {
    return std::min(w.panels, groups * part / parts * kPanelsTogether);
  };
  const std::size_t at_once = (groups / parts + kTakesAShare - 1) / kTakesAShare * kPanelsTogether;
  for (unsigned part = 0; part < parts; ++part) crew.shares[part].next = begin(part);
  return crew.run(parts, [&](unsigned part) {
    for (unsigned step = 0; step < parts; ++step) {
      const unsigned from = (part + step) % parts;
      std::atomic<std::size_t>& next = crew.shares[from].next;
      const std::size_t end = begin(from + 1);
      while (!crew.stop.requested() && next.load(std::memory_order_relaxed) < end) {
        const std::size_t first = next.fetch_add(at_once, std::memory_order_relaxed);
        if (first >= end) break;
        multiply_vector(table, w, y, group_sums, output, reading, first,
                        std::min(end, first + at_once));
      }
    }
  });
}

std::size_t padded_quads(std::size_t quads) {
  return (quads + kernels::kQuadGroup - 1) / kernels::kQuadGroup * kernels::kQuadGroup;
}

// Unpacks some blocks of a panel, and sets what is left of `bytes` to zero.
struct Blocks {
  std::size_t first, count;
};
void unpack(const kernels::Table& table, const detail::CpuWeights& w, std::size_t panel,
            Blocks blocks, std::uint8_t* target, std::size_t bytes) {
  const std::size_t unpacked =
      blocks.count * static_cast<std::size_t>(block_cols(w.form)) / 4 * kQuadBytes;
  table.unpack[static_cast<int>(w.form)](
      w.bytes.get() + (panel * w.blocks + blocks.first) * w.block_bytes(), blocks.count, target);
  std::memset(target + unpacked, 0, bytes - unpacked);
}

// Blocks that are unpacked at once, whole groups of quads if there are as many, and the bytes that
// one panel's quad rows then take.
struct Depth {
  std::size_t blocks = 0, panel_bytes = 0;
};
Depth depth_of(Tier tier, const detail::CpuWeights& w) {
  const std::size_t cols = static_cast<std::size_t>(block_cols(w.form));
  Depth depth;
  const std::size_t whole = std::lcm(cols, std::size_t{4} * kernels::kQuadGroup) / cols;
  depth.blocks = std::min(w.blocks, columns_at_once(tier) / cols / whole * whole);
  depth.panel_bytes = padded_quads(depth.blocks * cols / 4) * kQuadBytes;
  return depth;
}

// What a group's quad rows of one panel take.
std::size_t group_panel_bytes(const detail::CpuWeights& w) {
  return static_cast<std::size_t>(w.group) / 4 * kQuadBytes;
}

// Some rows of activations times some pairs of panels. All pairs pass over the same columns before
// the next columns come, so that those columns of the activations stay in the second-level cache.
struct MatrixPart {
  std::size_t first_pair, pairs, first_row, rows;
};

void multiply_part(const kernels::Table& table, const detail::CpuWeights& w,
                   const detail::ActivationRows& y, const Output& output, const MatrixPart& part,
                   Depth depth, Scratch& scratch) {
  const std::size_t cols = static_cast<std::size_t>(block_cols(w.form));
  const std::size_t all_rows = static_cast<std::size_t>(w.shape.rows);
  kernels::GemmArgs args{};
  args.y_stride = y.stride;
  args.rows = part.rows;
  args.padded_rows = (part.rows + 31) / 32 * 32;
  args.quads[0] = scratch.quads.get();
  args.quads[1] = scratch.quads.get() + depth.panel_bytes;
  for (std::size_t block = 0; block < w.blocks; block += depth.blocks) {
    const std::size_t blocks = std::min(depth.blocks, w.blocks - block);
    args.quad_count = padded_quads(blocks * cols / 4);
    args.y = y.codes.get() + part.first_row * y.stride + block * cols;
    args.first = block == 0;
    for (std::size_t pair = 0; pair < part.pairs; ++pair) {
      const std::size_t panel = 2 * (part.first_pair + pair);
      args.panels = panel + 1 < w.panels ? 2 : 1;
      args.sums = scratch.sums.get() + pair * args.padded_rows * 32;
      for (int p = 0; p < args.panels; ++p) {
        const std::size_t at = static_cast<std::size_t>(p);
        unpack(table, w, panel + at, {block, blocks}, scratch.quads.get() + at * depth.panel_bytes,
               args.quad_count * kQuadBytes);
      }
      table.gemm(args);
    }
  }
  for (std::size_t pair = 0; pair < part.pairs; ++pair) {
    const std::size_t column = 2 * kPanelRows * (part.first_pair + pair);
    kernels::FinishArgs finish{};
    finish.sums = scratch.sums.get() + pair * args.padded_rows * 32;
    finish.stride = 32;
    finish.rows = part.rows;
    finish.cols = std::min<std::size_t>(2 * kPanelRows, all_rows - column);
    finish.y_sums = y.sums.data() + part.first_row;
    finish.steps = y.steps.data() + part.first_row;
    finish.scales = w.scales.data() + column;
    finish_tile(table, table.finish, finish, output, all_rows, part.first_row, column);
  }
}

// The same by looked-up sums, of at most kLookupRows rows.
void multiply_looked_up(const kernels::Table& table, const detail::CpuWeights& w,
                        const detail::ActivationRows& y, const Output& output,
                        const MatrixPart& part, Scratch& scratch) {
  constexpr std::size_t kRows = kernels::kLookupRows;
  const std::size_t all_rows = static_cast<std::size_t>(w.shape.rows);
  const std::size_t first_panel = 2 * part.first_pair;
  kernels::LookupArgs args{};
  args.panel_bytes = w.panel_bytes();
  args.panels = std::min(2 * part.pairs, w.panels - first_panel);
  args.y_stride = y.stride;
  args.partial = reinterpret_cast<std::int16_t*>(scratch.quads.get());
  args.entries = reinterpret_cast<std::uint16_t*>(scratch.quads.get() + part.pairs * kPartialBytes);
  args.sums = scratch.sums.get();
  for (std::size_t block = 0; block < w.blocks; block += args.blocks) {
    args.blocks = std::min(kernels::kLookupBlocks, w.blocks - block);
    args.packed = w.bytes.get() + first_panel * args.panel_bytes + block * w.block_bytes();
    args.y = y.codes.get() + part.first_row * y.stride + block * kernels::kBlockCols[0];
    args.first = block == 0;
    table.lookup->multiply(args);
  }
  alignas(64) std::int32_t turned[kRows * 32];
  kernels::FinishArgs finish{};
  finish.sums = turned;
  finish.stride = 32;
  finish.rows = part.rows;
  finish.steps = y.steps.data() + part.first_row;
  for (std::size_t pair = 0; pair < part.pairs; ++pair) {
    const std::size_t column = 2 * kPanelRows * (part.first_pair + pair);
    table.lookup->turn(args.sums + pair * 2 * kPanelRows * kRows, turned);
    finish.cols = std::min<std::size_t>(2 * kPanelRows, all_rows - column);
    finish.scales = w.scales.data() + column;
    finish_tile(table, table.finish, finish, output, all_rows, part.first_row, column);
  }
}

// Where scales are by group. A group is unpacked, multiplied by some rows, and its terms are added,
// before the next rows and then the next group come.
void add_group_by_group(const kernels::Table& table, const detail::CpuWeights& w,
                        const detail::ActivationRows& y, const GroupSums& group_sums,
                        const MatrixPart& part, std::size_t padded_rows, Scratch& scratch) {
  const std::size_t groups = w.groups(), group_blocks = w.group_blocks();
  const std::size_t panel_bytes = group_panel_bytes(w);
  kernels::GemmArgs args{};
  args.y_stride = y.stride;
  args.quads[0] = scratch.quads.get();
  args.quads[1] = scratch.quads.get() + panel_bytes;
  args.quad_count = panel_bytes / kQuadBytes;
  args.sums = scratch.sums.get();
  args.first = true;
  kernels::TermsArgs terms{};
  terms.sums = args.sums;
  for (std::size_t g = 0; g < groups; ++g) {
    const std::size_t block = g * group_blocks;
    const std::size_t blocks = std::min(group_blocks, w.blocks - block);
    terms.first = g == 0;
    for (std::size_t pair = 0; pair < part.pairs; ++pair) {
      const std::size_t panel = 2 * (part.first_pair + pair);
      args.panels = terms.panels = panel + 1 < w.panels ? 2 : 1;
      for (std::size_t p = 0; p < static_cast<std::size_t>(args.panels); ++p) {
        unpack(table, w, panel + p, {block, blocks}, scratch.quads.get() + p * panel_bytes,
               panel_bytes);
        terms.scales[p] = w.group_scales.data() + ((panel + p) * groups + g) * kPanelRows;
      }
      for (std::size_t row = 0; row < part.rows; row += kGroupRows) {
        args.rows = terms.rows = std::min(kGroupRows, part.rows - row);
        args.padded_rows = (args.rows + 31) / 32 * 32;
        args.y = y.codes.get() + (part.first_row + row) * y.stride + block * kernels::kBlockCols[0];
        table.gemm(args);
        terms.y_sums = group_sums.sums.data() + g * group_sums.rows + part.first_row + row;
        terms.values = scratch.values.get() + (pair * padded_rows + row) * 32;
        table.add_terms(terms);
      }
    }
  }
}

// The same by kernels that multiply and add the terms of several groups.
void add_groups(const kernels::Table& table, std::size_t depth, const detail::CpuWeights& w,
                const detail::ActivationRows& y, const GroupSums& group_sums,
                const MatrixPart& part, std::size_t padded_rows, Scratch& scratch) {
  constexpr std::size_t kQuadsOfBlock = kernels::kBlockCols[0] / 4;
  const std::size_t groups = w.groups();
  const std::size_t at_once = std::min(groups, depth / static_cast<std::size_t>(w.group));
  kernels::GroupedGemmArgs args{};
  args.y_stride = y.stride;
  args.rows = part.rows;
  args.group_quads = w.group_blocks() * kQuadsOfBlock;
  args.y_sums_stride = group_sums.rows;
  for (std::size_t g = 0; g < groups; g += at_once) {
    const std::size_t block = g * w.group_blocks();
    const std::size_t blocks = std::min(at_once * w.group_blocks(), w.blocks - block);
    args.quad_count = blocks * kQuadsOfBlock;
    const std::size_t panel_bytes = padded_quads(args.quad_count) * kQuadBytes;
    args.y = y.codes.get() + part.first_row * y.stride + block * kernels::kBlockCols[0];
    args.y_sums = group_sums.sums.data() + g * group_sums.rows + part.first_row;
    args.first = g == 0;
    for (std::size_t pair = 0; pair < part.pairs; ++pair) {
      const std::size_t panel = 2 * (part.first_pair + pair);
      args.panels = panel + 1 < w.panels ? 2 : 1;
      for (std::size_t p = 0; p < static_cast<std::size_t>(args.panels); ++p) {
        std::uint8_t* target = scratch.quads.get() + p * panel_bytes;
        unpack(table, w, panel + p, {block, blocks}, target, panel_bytes);
        args.quads[p] = target;
        args.scales[p] = w.group_scales.data() + ((panel + p) * groups + g) * kPanelRows;
      }
      args.values = scratch.values.get() + pair * padded_rows * 32;
      table.gemm_groups(args);
    }
  }
}

void multiply_grouped_part(const kernels::Table& table, Tier tier, const detail::CpuWeights& w,
                           const detail::ActivationRows& y, const GroupSums& group_sums,
                           const Output& output, const MatrixPart& part, Scratch& scratch) {
  const std::size_t all_rows = static_cast<std::size_t>(w.shape.rows);
  const std::size_t padded_rows = (part.rows + kGroupRows - 1) / kGroupRows * kGroupRows;
  if (table.gemm_groups != nullptr)
    add_groups(table, columns_at_once(tier), w, y, group_sums, part, padded_rows, scratch);
  else
    add_group_by_group(table, w, y, group_sums, part, padded_rows, scratch);
  for (std::size_t pair = 0; pair < part.pairs; ++pair) {
    const std::size_t column = 2 * kPanelRows * (part.first_pair + pair);
    kernels::ScaleArgs scale{};
    scale.values = scratch.values.get() + pair * padded_rows * 32;
    scale.stride = 32;
    scale.rows = part.rows;
    scale.cols = std::min<std::size_t>(2 * kPanelRows, all_rows - column);
    scale.steps = y.steps.data() + part.first_row;
    scale.scales = w.scales.data() + column;
    finish_tile(table, table.scale, scale, output, all_rows, part.first_row, column);
  }
}

// Whether rows that are missing in the last kLookupRows cost less than lookups save.
bool fills_lookups(std::size_t rows) {
  const std::size_t padded =
      (rows + kernels::kLookupRows - 1) / kernels::kLookupRows * kernels::kLookupRows;
  return 4 * rows >= 3 * padded;
}

// How many threads worked.
Result<unsigned> multiply_with(const kernels::Table& table, Tier tier, const detail::Crew& crew,
                               const detail::CpuWeights& w, const detail::ActivationRows& y,
                               const Output& output) {
  const std::size_t rows = static_cast<std::size_t>(y.rows);
  const bool grouped = w.group != 0;
  const GroupSums group_sums(table, w, y);
  if (rows == 1) {
    const std::size_t groups = (w.panels + kPanelsTogether - 1) / kPanelsTogether;
    const unsigned parts = static_cast<unsigned>(
        std::min(static_cast<std::size_t>(crew.worth(product_ns(tier, w, 1))), groups));
    const auto read = grouped                   ? Read::groups
                      : w.form == Form::two_bit ? Read::two_bit
                                                : Read::three_trits;
    const auto reading = crew.reading->begin(read, w.panels * w.panel_bytes());
    const bool done = multiply_vector_shared(table, crew, w, y, group_sums, output, reading, parts);
    if (crew.stop.requested())
      crew.reading->abandon();
    else
      crew.reading->end();
    TRY(all_done(done, crew.stop));
    return parts;
  }
  const Depth depth = depth_of(tier, w);
  const std::size_t all_pairs = (w.panels + 1) / 2;
  const bool looked_up = table.lookup != nullptr && w.form == Form::two_bit && !grouped &&
                         all_pairs >= kFewestLookupPairs && fills_lookups(rows);
  const std::size_t row_block = looked_up ? kernels::kLookupRows : kRowBlock;
  const std::size_t row_blocks = (rows + row_block - 1) / row_block;
  const std::size_t threads = crew.worth(product_ns(tier, w, rows));
  // Groups of pairs as large as gives every thread an equal share of them.
  const std::size_t shares = (threads + row_blocks - 1) / row_blocks;
  const std::size_t most = (all_pairs + shares - 1) / shares;
  const std::size_t most_pairs = looked_up ? kLookupPairs : kMostPairs;
  const std::size_t rounds = (most + most_pairs - 1) / most_pairs;
  const std::size_t group = (most + rounds - 1) / rounds;
  const std::size_t groups = (all_pairs + group - 1) / group;
  const std::size_t parts = groups * row_blocks;
  const unsigned used = static_cast<unsigned>(std::min(threads, parts));
  const std::size_t sums_rows = group * ((std::min(rows, row_block) + 31) / 32 * 32);
  const std::size_t scratch_bytes =
      looked_up ? group * (kPartialBytes + kEntriesBytes) : 2 * depth.panel_bytes;
  const std::size_t value_rows =
      group * ((std::min(rows, kRowBlock) + kGroupRows - 1) / kGroupRows * kGroupRows);
  for (unsigned thread = 0; thread < used; ++thread) {
    Scratch& scratch = crew.scratch[thread];
    if (grouped ? !scratch.reserve(2 * kDepth / 4 * kQuadBytes, kGroupRows) ||
                      !scratch.reserve_values(value_rows)
                : !scratch.reserve(scratch_bytes, sums_rows)) {
      return fail(ErrorKind::too_large,
                  "no memory for the sums of " + std::to_string(rows) + " rows");
    }
  }
  std::atomic<std::size_t> next{0};
  const bool done = crew.run(used, [&](unsigned thread) {
    for (std::size_t part;
         !crew.stop.requested() && (part = next.fetch_add(1, std::memory_order_relaxed)) < parts;) {
      const std::size_t first_pair = part % groups * group, first_row = part / groups * row_block;
      const MatrixPart piece{first_pair, std::min(group, all_pairs - first_pair), first_row,
                             std::min(row_block, rows - first_row)};
      if (grouped)
        multiply_grouped_part(table, tier, w, y, group_sums, output, piece, crew.scratch[thread]);
      else if (looked_up)
        multiply_looked_up(table, w, y, output, piece, crew.scratch[thread]);
      else
        multiply_part(table, w, y, output, piece, depth, crew.scratch[thread]);
    }
  });
  TRY(all_done(done, crew.stop));
  return used;
}

Result<void> multiply_logged(const detail::CpuEngine& engine, const detail::Crew& crew,
                             const detail::CpuWeights& w, const detail::ActivationRows& y,
                             const Output& output) {
  const CallLog log;
  const unsigned threads = TRY(multiply_with(*engine.table, engine.tier, crew, w, y, output));
  if (log.on()) {
    log.write({.what = "product",
               .m = y.rows,
               .weights = w.shape,
               .group = w.group,
               .form = to_string(w.form),
               .kernel = to_string(engine.tier),
               .threads = threads,
               .bytes = w.panels * w.panel_bytes()});
  }
  return {};
}

}  // namespace

Result<void> multiply_any(detail::CpuEngine& engine, const detail::CpuWeights& w,
                          const detail::ActivationRows& y, const Output& output,
                          std::size_t out_size) {
  TRY(check_cols(w.shape, y.cols));
  const std::size_t rows = static_cast<std::size_t>(y.rows);
  if (out_size / rows != static_cast<std::size_t>(w.shape.rows) || out_size % rows != 0) {
    return fail(ErrorKind::wrong_size, "the product is " + to_text(Shape{y.rows, w.shape.rows}) +
                                           ", not " + std::to_string(out_size) + " elements");
  }
  TRY(check_output(w.group, output.type == kernels::kInt32));
  if (output.type != kernels::kInt32) {
    float greatest_step = 0;
    for (const float step : y.steps) greatest_step = std::max(greatest_step, std::fabs(step));
    if (!std::isfinite(greatest_step * w.greatest_scale)) {
      return fail(ErrorKind::not_finite, "the product of a step and a scale is not finite");
    }
  }
  if (engine.forked()) {
    Scratch scratch;
    Share share;
    ReadingChoice reading;
    return multiply_logged(engine, {nullptr, {&scratch, 1}, {&share, 1}, &reading}, w, y, output);
  }
  const std::lock_guard lock(engine.mutex);
  return multiply_logged(
      engine, {engine.workers.get(), engine.scratch, engine.shares, &engine.reading}, w, y, output);
}

}  // namespace gpuready::ternary
