#include "health/tensor/forms.h"

#include <algorithm>
#include <array>

#include "kernels/tensor_kernels.h"

namespace gpuready {
namespace {

// fp8: Hopper's accumulators keep no more than 14 bits of a sum.
constexpr unsigned kFp32Exact = 1u << 24, kFp8Exact = 1u << 13;
constexpr std::array<TensorTypeInfo, 6> kTypes = {{
    {"bf16", 2, 8, 7, 8, kFp32Exact, "FLOP/s"},
    {"fp16", 2, 5, 10, 11, kFp32Exact, "FLOP/s"},
    {"tf32", 4, 8, 23, 11, kFp32Exact, "FLOP/s"},
    {"int8", 1, 0, 8, 8, 0, "OP/s"},
    {"fp8 e4m3", 1, 4, 3, 4, kFp8Exact, "FLOP/s"},
    {"fp8 e5m2", 1, 5, 2, 3, kFp8Exact, "FLOP/s"},
}};

using enum TensorType;
constexpr std::array<TensorForm, 15> kForms = {{
    {"bf16 wgmma", bf16, true, &kTensorBf16Wgmma, "bf16_rate", 32, 64},
    {"fp16 wgmma", fp16, true, &kTensorFp16Wgmma, "fp16_rate", 32, 64},
    {"tf32 wgmma", tf32, true, &kTensorTf32Wgmma, "tf32_rate", 32, 64},
    {"int8 wgmma", int8, true, &kTensorInt8Wgmma, "int8_rate", 32, 64},
    {"fp8 e4m3 wgmma", fp8_e4m3, true, &kTensorFp8E4m3Wgmma, "fp8_e4m3_rate", 32, 64},
    {"fp8 e5m2 wgmma", fp8_e5m2, true, &kTensorFp8E5m2Wgmma, "fp8_e5m2_rate", 32, 64},
    {"bf16 mma", bf16, false, &kTensorBf16M16N8K16, "bf16_mma_rate", 32, 16},
    {"fp16 mma", fp16, false, &kTensorFp16M16N8K16, "fp16_mma_rate", 32, 16},
    {"tf32 mma", tf32, false, &kTensorTf32M16N8K8, "tf32_mma_rate", 32, 16},
    {"int8 mma", int8, false, &kTensorInt8M16N8K32, "int8_mma_rate", 32, 16},
    {"fp8 e4m3 mma", fp8_e4m3, false, &kTensorFp8E4m3M16N8K32, "fp8_e4m3_mma_rate", 32, 16},
    {"fp8 e5m2 mma", fp8_e5m2, false, &kTensorFp8E5m2M16N8K32, "fp8_e5m2_mma_rate", 32, 16},
    {"fp16 mma", fp16, false, &kTensorFp16M16N8K8, "fp16_mma_rate", 16, 16},
    {"int8 mma", int8, false, &kTensorInt8M8N8K16, "int8_mma_rate", 16, 8},
    {"fp16 mma", fp16, false, &kTensorFp16M8N8K4, "fp16_mma_rate", 8, 8, true},
}};

constexpr unsigned kWarpGroupThreads = 128;

}  // namespace

const TensorTypeInfo& info_of(TensorType type) { return kTypes[static_cast<std::size_t>(type)]; }

unsigned TensorForm::threads() const {
  return warp_group ? kTensorWarpGroups * kWarpGroupThreads : kTensorWarps * 32;
}
unsigned TensorForm::shared_bytes() const { return warp_group ? kTensorSharedBytes : 0; }
unsigned TensorForm::depth() const { return kTensorSlices * slice_bytes / info_of(type).bytes; }

unsigned TensorForm::accumulators() const {
  if (warp_group) return kTensorARows * kTensorBRows / kWarpGroupThreads;
  // 8 columns a tile; the quad pairs' four products make it four times as many.
  return kTensorWarpTiles * tile_rows * 8 * (quad_pairs ? 4 : 1) / 32;
}

unsigned TensorForm::rows(TensorOperand operand) const {
  if (warp_group)
    return operand == TensorOperand::a ? kTensorWarpGroups * kTensorARows : kTensorBRows;
  const unsigned products = quad_pairs ? 4 : 1;
  return kTensorWarps * products * (operand == TensorOperand::a ? tile_rows : kTensorWarpTiles * 8);
}

unsigned TensorForm::registers(TensorOperand operand) const {
  if (quad_pairs) return slice_bytes / 4;
  return (operand == TensorOperand::a ? tile_rows : 8) * slice_bytes / 4 / 32;
}

std::size_t TensorForm::operand_bytes() const {
  if (warp_group) return kTensorOperandBytes;
  return std::size_t{kTensorWarps} * 32 * 4 * kTensorSlices *
         (registers(TensorOperand::a) + kTensorWarpTiles * registers(TensorOperand::b));
}

unsigned TensorForm::rotations() const {
  // The golden folds of 32768 accumulators take the CPU milliseconds for each rotation.
  if (warp_group) return type == TensorType::bf16 ? kTensorRotations : 2;
  return kTensorRotations;
}

TensorElement TensorForm::element(unsigned thread, unsigned i) const {
  const unsigned lane = thread % 32, warp = thread / 32;
  if (warp_group) {
    return {warp * 16 + lane / 4 + i / 2 % 2 * 8, i / 4 * 8 + lane % 4 * 2 + i % 2};
  }
  const unsigned in_tile = accumulators() / kTensorWarpTiles;
  const unsigned tile = i / in_tile;
  i %= in_tile;
  if (quad_pairs) {
    const unsigned pair = lane % 16 / 4;
    return {(warp * 4 + pair) * 8 + lane / 16 * 4 + (i & 2) + (lane & 1),
            ((warp * kTensorWarpTiles + tile) * 4 + pair) * 8 + (i & 4) + (lane & 2) + (i & 1)};
  }
  return {warp * tile_rows + lane / 4 + i / 2 * 8,
          (warp * kTensorWarpTiles + tile) * 8 + lane % 4 * 2 + i % 2};
}

std::size_t TensorForm::place(TensorOperand operand, unsigned row, unsigned byte) const {
  const bool is_a = operand == TensorOperand::a;
  if (warp_group) {
    // Columns of 128 bytes; in each the 16-byte piece changes places by its row, modulo 8.
    const unsigned rows_together = is_a ? kTensorARows : kTensorBRows;
    const std::size_t start =
        is_a ? row / kTensorARows * std::size_t{kTensorABytes} : kTensorWarpGroups * kTensorABytes;
    const unsigned r = row % rows_together;
    return start + byte / 128 * rows_together * 128 + r * 128 + ((byte % 128 / 16) ^ (r % 8)) * 16 +
           byte % 16;
  }
  const unsigned slice = byte / slice_bytes, in_slice = byte % slice_bytes;
  const unsigned products = quad_pairs ? 4 : 1;
  const unsigned tile_height = (is_a ? tile_rows : 8) * products;
  const unsigned tile = row / tile_height, r = row % tile_height;  // of all warps
  unsigned lane = 0, which = 0;
  if (quad_pairs) {
    lane = r % 8 / 4 * 16 + r / 8 * 4 + r % 4;
    which = in_slice / 4;
  } else {
    lane = r % 8 * 4 + in_slice % 16 / 4;
    which = r / 8 + tile_height / 8 * (in_slice / 16);
  }
  const unsigned a_registers = registers(TensorOperand::a),
                 b_registers = registers(TensorOperand::b);
  const unsigned in_warp = kTensorSlices * (a_registers + kTensorWarpTiles * b_registers);
  const unsigned warp = is_a ? tile : tile / kTensorWarpTiles;
  const unsigned index =
      is_a ? slice * a_registers + which
           : kTensorSlices * (a_registers + tile % kTensorWarpTiles * b_registers) +
                 slice * b_registers + which;
  return ((std::size_t{warp} * in_warp + index) * 32 + lane) * 4 + in_slice % 4;
}

std::span<const TensorForm> tensor_forms() { return kForms; }

std::vector<const TensorForm*> tensor_forms_for(int capability, std::optional<int> driver_version) {
  std::vector<const TensorForm*> forms;
  for (const TensorForm& form : kForms) {
    const bool newer = std::any_of(forms.begin(), forms.end(), [&](const TensorForm* other) {
      // Hopper's mma.sync has no fp8 of its own: it is put together from other instructions.
      const bool fp8 = form.type == fp8_e4m3 || form.type == fp8_e5m2;
      return other->type == form.type && (other->warp_group == form.warp_group || fp8);
    });
    if (!newer && best_image(form.kernel->cuda, capability, driver_version) != nullptr)
      forms.push_back(&form);
  }
  return forms;
}

}  // namespace gpuready
