// The matrix instructions that the tensor test knows, as a table: for each its kernel, who has it,
// how deep a slice is, and where in its operands' image and accumulators each element lies. Layouts
// are those of the PTX ISA ("Matrix fragments for mma", "Matrix descriptor" of wgmma).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "device/kernel.h"

namespace gpuready {

enum class TensorType { bf16, fp16, tf32, int8, fp8_e4m3, fp8_e5m2 };

// How a number is stored, and which integers are exact in it.
struct TensorTypeInfo {
  std::string_view name;       // "bf16"
  unsigned bytes;              // of an element
  unsigned exponent_bits;      // 0: an integer
  unsigned mantissa_bits;      // as stored
  unsigned significand_bits;   // that the instruction looks at, the hidden one included
  unsigned accumulator_limit;  // sums of |a * b| up to this are exact in any order; 0: no limit
  std::string_view rate_unit;  // "FLOP/s", "OP/s"
};
const TensorTypeInfo& info_of(TensorType type);

// An accumulator's place in the products of its block: row of A, row of B (a column of the result).
struct TensorElement {
  unsigned row = 0, column = 0;
  bool operator==(const TensorElement&) const = default;
};

enum class TensorOperand { a, b };

struct TensorForm {
  std::string_view name;  // "bf16 wgmma", "bf16 mma": what a mismatch is reported under
  TensorType type;
  bool warp_group;  // wgmma; else mma.sync
  const Kernel* kernel;
  std::string_view rate_name;  // of its metric: "bf16_rate"
  unsigned slice_bytes;        // the depth of one instruction, in bytes of a row
  unsigned tile_rows;          // mma.sync: rows of A in one instruction
  bool quad_pairs = false;     // mma.sync m8n8k4: four products, one in each quad pair

  unsigned threads() const;                    // of a block
  unsigned shared_bytes() const;               // dynamic, that the kernel needs
  unsigned accumulators() const;               // of a thread
  unsigned depth() const;                      // K of a chain, in elements
  unsigned rows(TensorOperand operand) const;  // of all of a block's A or B
  std::size_t operand_bytes() const;           // of the image before the golden folds
  unsigned rotations() const;  // how many different products the chains go through, in turns
  // Operations (a multiplication and an addition are two) in one chain of every thread of a block.
  double operations() const { return 2.0 * threads() * accumulators() * depth(); }

  TensorElement element(unsigned thread, unsigned accumulator) const;
  // Where in the image an element's first byte is; `byte` is its offset in its row.
  std::size_t place(TensorOperand operand, unsigned row, unsigned byte) const;

 private:
  unsigned registers(TensorOperand operand) const;  // of a thread, in one instruction
};

// Every form there is, the one to burn with first among those of one capability.
std::span<const TensorForm> tensor_forms();
// Those that a GPU of this compute capability (90 for 9.0) is tested with, the burn's first: of
// each kind of instruction and type the newest whose code the driver loads (best_image() in
// device/kernel.h). Empty: it has no tensor cores, or the driver is too old for all.
std::vector<const TensorForm*> tensor_forms_for(int capability,
                                                std::optional<int> driver_version = std::nullopt);

}  // namespace gpuready
