// The saved form of packed weights: written, and viewed in place.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>

#include "ternary/compute.h"
#include "ternary/cpu/tiers.h"
#include "ternary/packed.h"
#include "ternary/shape.h"
#include "ternary/share.h"
#include "ternary/workers.h"

namespace gpuready::ternary {
namespace {

using kernels::kPanelRows;
using kernels::kQuadBytes;
static_assert(std::endian::native == std::endian::little);

struct SavedHeader {
  char magic[8];
  std::uint32_t version, form;
  std::int64_t rows, cols;
  std::uint64_t checksum;    // of this header with 0 here, the sums and the scales
  std::int64_t group;        // weights of a row that share a scale; 0: all
  std::uint64_t contents;    // saved_contents_hash() of the panels
  std::uint8_t reserved[8];  // zero
};
constexpr std::size_t kHeaderBytes = 64;
static_assert(sizeof(SavedHeader) == kHeaderBytes);
constexpr char kMagic[8] = {'g', 'p', 'u', 't', 'r', 'i', 't', 's'};
constexpr std::uint32_t kVersion = 1;

// Where the parts lie; the products fit 64 bits, as a shape has at most 2^40 elements.
struct SavedPlaces {
  std::size_t blocks, panels, panel_bytes, sums_at, scales_at, bytes;
};
SavedPlaces places_of(Shape shape, Form form, std::int64_t group) {
  const auto rows = static_cast<std::size_t>(shape.rows),
             cols = static_cast<std::size_t>(shape.cols),
             block = static_cast<std::size_t>(block_cols(form));
  SavedPlaces at{};
  at.blocks = (cols + block - 1) / block;
  at.panels = (rows + kPanelRows - 1) / kPanelRows;
  at.panel_bytes =
      at.blocks * static_cast<std::size_t>(kernels::kBlockBytes[static_cast<int>(form)]);
  at.sums_at = kHeaderBytes + at.panels * at.panel_bytes;
  at.scales_at = at.sums_at + at.panels * kPanelRows * sizeof(std::int32_t);
  const std::size_t scales =
      group == 0 ? rows
                 : at.panels * kPanelRows * static_cast<std::size_t>((shape.cols - 1) / group + 1);
  at.bytes = at.scales_at + scales * sizeof(float);
  return at;
}

// FNV-1a, against damage and not against malice.
std::uint64_t checksum_of(SavedHeader header, std::span<const std::byte> sums_and_scales) {
  header.checksum = 0;
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&](std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes)
      hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3;
  };
  add(std::as_bytes(std::span(&header, 1)));
  add(sums_and_scales);
  return hash;
}

Result<SavedHeader> read_header(std::span<const std::byte> saved) {
  SavedHeader header;
  if (saved.size() < kHeaderBytes)
    return fail(ErrorKind::truncated, "packed weights begin with a header of 64 bytes; there are " +
                                          std::to_string(saved.size()));
  std::memcpy(&header, saved.data(), kHeaderBytes);
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0)
    return fail(ErrorKind::bad_input, "these are not saved packed weights");
  if (header.version != kVersion || std::ranges::any_of(header.reserved, std::identity()))
    return fail(ErrorKind::bad_input,
                "the packed weights were saved in version " + std::to_string(header.version) +
                    " of their form; version " + std::to_string(kVersion) + " is read");
  if (header.form >= static_cast<std::uint32_t>(kernels::kForms))
    return fail(ErrorKind::bad_input,
                "the saved packed weights have an unknown form, " + std::to_string(header.form));
  if (header.group != 0 &&
      (!is_group(header.group) || header.form != static_cast<std::uint32_t>(Form::two_bit)))
    return fail(ErrorKind::bad_input, "the saved packed weights have scales for groups of " +
                                          std::to_string(header.group) + ", which there are not");
  return header;
}

// Every step can be undone, so two words in a row never cancel out.
std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 32;
}
std::uint64_t hash_of(std::span<const std::byte> bytes) {
  std::uint64_t hash = bytes.size(), word = 0;
  for (; bytes.size() >= sizeof word; bytes = bytes.subspan(sizeof word)) {
    std::memcpy(&word, bytes.data(), sizeof word);
    hash = mixed(hash, word);
  }
  word = 0;
  if (!bytes.empty()) std::memcpy(&word, bytes.data(), bytes.size());
  return mixed(hash, word);
}

// Whether a panel holds nothing but codes 0 to 2, 1 in its padding, and sums to what `sums` says.
bool panel_is_good(const detail::CpuWeights& w, std::size_t panel) {
  constexpr std::size_t kBlocksAtOnce = 16;
  const int form = static_cast<int>(w.form);
  const auto cols_of_block = static_cast<std::size_t>(block_cols(w.form));
  const std::size_t fields = cols_of_block / 4;
  const auto cols = static_cast<std::size_t>(w.shape.cols);
  const auto rows = std::min<std::size_t>(
      kPanelRows, static_cast<std::size_t>(w.shape.rows) - panel * kPanelRows);
  alignas(64) std::uint8_t quads[kBlocksAtOnce * 24 * kQuadBytes];
  std::int64_t sums[kPanelRows] = {};
  bool good = true;
  // Of triples that no one writes (27 to 31) vector code makes any digits, scalar code a 3.
  const kernels::Table& table = form == 0 ? vector_table() : kernels::kScalar;
  for (std::size_t block = 0; block < w.blocks; block += kBlocksAtOnce) {
    const std::size_t count = std::min(kBlocksAtOnce, w.blocks - block);
    table.unpack[form](w.bytes.get() + panel * w.panel_bytes() + block * w.block_bytes(), count,
                       quads);
    for (std::size_t quad = 0; quad < count * fields; ++quad) {
      const std::uint8_t* codes = quads + quad * kQuadBytes;
      const std::size_t first = block * cols_of_block + quad * 4;
      std::uint8_t greatest = 0;
      for (std::size_t r = 0; r < kPanelRows; ++r) {
        int sum = -4;
        for (std::size_t i = 0; i < 4; ++i) {
          greatest = std::max(greatest, codes[4 * r + i]);
          sum += codes[4 * r + i];
        }
        sums[r] += sum;
      }
      good &= greatest <= 2;
      if (first + 4 <= cols && rows == kPanelRows) continue;
      for (std::size_t byte = 0; byte < kQuadBytes; ++byte)
        good &= (byte / 4 < rows && first + byte % 4 < cols) || codes[byte] == 1;
    }
  }
  for (std::size_t r = 0; r < kPanelRows; ++r) good &= sums[r] == w.sums[panel * kPanelRows + r];
  return good;
}

Result<void> check_contents(const detail::CpuWeights& w, std::uint64_t contents, unsigned threads) {
  const auto panels =
      std::as_bytes(std::span<const std::uint8_t>(w.bytes.get(), w.panels * w.panel_bytes()));
  std::atomic<std::size_t> bad{w.panels};
  share(w.panels, 16, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t panel = begin; panel < end; ++panel) {
      if (panel_is_good(w, panel)) continue;
      for (std::size_t now = bad; panel < now && !bad.compare_exchange_weak(now, panel);) {
      }
    }
  });
  if (bad == w.panels && contents == saved_contents_hash(panels, w.panels, threads)) return {};
  if (bad == w.panels)
    return fail(ErrorKind::bad_code, "the saved weights are damaged: another checksum of them");
  const std::size_t first = bad * kPanelRows,
                    last = std::min(first + kPanelRows, static_cast<std::size_t>(w.shape.rows));
  return fail(ErrorKind::bad_code, "the saved weights of rows " + std::to_string(first) + " to " +
                                       std::to_string(last - 1) +
                                       " are damaged: an invalid code or a wrong sum");
}

// From the order in which they are saved.
Result<void> set_saved_scales(detail::CpuWeights& w, std::vector<float> saved) {
  for (const float scale : saved)
    if (!std::isfinite(scale)) return fail(ErrorKind::not_finite, "a scale is not finite");
  if (w.group == 0) return w.set_scales(std::move(saved));
  const auto rows = static_cast<std::size_t>(w.shape.rows);
  std::vector<float> of_rows;
  for (std::size_t row = 0; row < w.panels * kPanelRows; ++row)
    for (std::size_t g = 0; g < w.groups(); ++g) {
      const float scale = saved[w.scale_at(row, g)];
      if (row < rows) {
        of_rows.push_back(scale);
      } else if (std::bit_cast<std::uint32_t>(scale) != 0) {
        return fail(ErrorKind::bad_code, "the saved scales behind the last row are not zero");
      }
    }
  return w.set_scales(std::move(of_rows));
}

// As they were given: a row each, or [panels][groups of a row][16].
std::vector<float> scales_to_save(const detail::CpuWeights& w) {
  if (w.group == 0) return w.scales;
  std::vector<float> scales(w.group_scales.size());
  for (std::size_t row = 0; row < w.scales.size(); ++row)
    for (std::size_t g = 0; g < w.groups(); ++g) scales[w.scale_at(row, g)] = w.group_scale(row, g);
  return scales;
}

}  // namespace

std::uint64_t saved_contents_hash(std::span<const std::byte> panels, std::size_t count,
                                  unsigned threads) {
  std::vector<std::uint64_t> hashes(count);
  const std::size_t each = count == 0 ? 0 : panels.size() / count;
  share(count, 16, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t panel = begin; panel < end; ++panel)
      hashes[panel] = hash_of(panels.subspan(panel * each, each));
  });
  return hash_of(std::as_bytes(std::span(hashes)));
}

std::size_t PackedWeights::saved_bytes() const {
  return places_of(shape(), form(), scale_group()).bytes;
}

Result<void> PackedWeights::save(std::span<std::byte> to) const {
  return compute([&]() -> Result<void> {
    const detail::CpuWeights& w = *cpu_;
    const SavedPlaces at = places_of(w.shape, w.form, w.group);
    if (to.size() != at.bytes)
      return fail(ErrorKind::wrong_size, "weights of " + to_text(w.shape) + " are saved in " +
                                             std::to_string(at.bytes) + " bytes, not " +
                                             std::to_string(to.size()));
    SavedHeader header{};
    std::memcpy(header.magic, kMagic, sizeof kMagic);
    header.version = kVersion;
    header.form = static_cast<std::uint32_t>(w.form);
    header.rows = w.shape.rows;
    header.cols = w.shape.cols;
    header.group = w.group;
    std::memcpy(to.data() + kHeaderBytes, w.bytes.get(), at.panels * at.panel_bytes);
    header.contents =
        saved_contents_hash(to.subspan(kHeaderBytes, at.panels * at.panel_bytes), at.panels, 0);
    std::memcpy(to.data() + at.sums_at, w.sums.data(), w.sums.size() * sizeof w.sums[0]);
    const std::vector<float> scales = scales_to_save(w);
    std::memcpy(to.data() + at.scales_at, scales.data(), scales.size() * sizeof scales[0]);
    header.checksum = checksum_of(header, to.subspan(at.sums_at));
    std::memcpy(to.data(), &header, kHeaderBytes);
    return {};
  });
}

Result<PackedWeights> PackedWeights::view(std::span<const std::byte> saved,
                                          std::shared_ptr<const void> keeper, Contents contents,
                                          unsigned threads) {
  return compute([&]() -> Result<PackedWeights> {
    TRY(check_threads(threads));
    const SavedHeader header = TRY(read_header(saved));
    const Shape shape{header.rows, header.cols};
    TRY(elements(shape));
    if (shape.cols > kMostCols)
      return fail(ErrorKind::too_large,
                  "a row has at most " + std::to_string(kMostCols) + " weights");
    const Form form = static_cast<Form>(header.form);
    const SavedPlaces at = places_of(shape, form, header.group);
    if (saved.size() != at.bytes)
      return fail(saved.size() < at.bytes ? ErrorKind::truncated : ErrorKind::wrong_size,
                  "saved weights of " + to_text(shape) + " take " + std::to_string(at.bytes) +
                      " bytes; there are " + std::to_string(saved.size()));
    if (std::bit_cast<std::uintptr_t>(saved.data()) % 64 != 0)
      return fail(ErrorKind::bad_input, "saved weights must begin at a multiple of 64");
    if (header.checksum != checksum_of(header, saved.subspan(at.sums_at)))
      return fail(ErrorKind::bad_input, "the saved packed weights are damaged: another checksum");
    auto weights = std::make_shared<detail::CpuWeights>();
    weights->shape = shape;
    weights->form = form;
    weights->group = header.group;
    weights->blocks = at.blocks;
    weights->panels = at.panels;
    weights->sums.resize(at.panels * kPanelRows);
    std::memcpy(weights->sums.data(), saved.data() + at.sums_at, at.scales_at - at.sums_at);
    std::vector<float> scales((at.bytes - at.scales_at) / sizeof(float));
    std::memcpy(scales.data(), saved.data() + at.scales_at, at.bytes - at.scales_at);
    TRY(set_saved_scales(*weights, std::move(scales)));
    // They are only ever read.
    const auto* panels = reinterpret_cast<const std::uint8_t*>(saved.data()) + kHeaderBytes;
    weights->bytes =
        PackedBytes(const_cast<std::uint8_t*>(panels), FreeOrKeep{false, std::move(keeper)});
    if (contents != Contents::trust) TRY(check_contents(*weights, header.contents, threads));
    return PackedWeights(std::move(weights));
  });
}

}  // namespace gpuready::ternary
