#include "health/tensor/forms.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace gpuready {
namespace {

const TensorForm& form_named(std::string_view kernel) {
  for (const TensorForm& form : tensor_forms())
    if (form.kernel->name == kernel) return form;
  ADD_FAILURE() << "no form " << kernel;
  return tensor_forms().front();
}

std::vector<std::string_view> names_for(int capability) {
  std::vector<std::string_view> names;
  for (const TensorForm* form : tensor_forms_for(capability)) names.push_back(form->name);
  return names;
}

TEST(TensorForms, EveryByteOfAnImageBelongsToOneElement) {
  for (const TensorForm& form : tensor_forms()) {
    std::vector<int> uses(form.operand_bytes());
    const unsigned row_bytes = form.depth() * info_of(form.type).bytes;
    for (const TensorOperand operand : {TensorOperand::a, TensorOperand::b})
      for (unsigned row = 0; row < form.rows(operand); ++row)
        for (unsigned byte = 0; byte < row_bytes; ++byte) {
          ++uses.at(form.place(operand, row, byte));
        }
    EXPECT_EQ(uses, std::vector<int>(uses.size(), 1)) << form.kernel->name;
  }
}

TEST(TensorForms, NoTwoAccumulatorsOfABlockAreTheSameElement) {
  for (const TensorForm& form : tensor_forms()) {
    const unsigned columns = form.rows(TensorOperand::b);
    std::vector<bool> seen(std::size_t{form.rows(TensorOperand::a)} * columns);
    for (unsigned thread = 0; thread < form.threads(); ++thread)
      for (unsigned i = 0; i < form.accumulators(); ++i) {
        const TensorElement e = form.element(thread, i);
        ASSERT_TRUE(e.row < form.rows(TensorOperand::a) && e.column < columns);
        ASSERT_FALSE(seen[e.row * columns + e.column]) << form.kernel->name;
        seen[e.row * columns + e.column] = true;
      }
  }
}

TEST(TensorForms, AWarpGroupCoversItsWholeProduct) {
  const TensorForm& form = form_named("gpuready_tensor_bf16_wgmma");
  EXPECT_EQ(form.threads() * form.accumulators(),
            form.rows(TensorOperand::a) * form.rows(TensorOperand::b));
}

// Points read off the figures in the PTX ISA, "Matrix Fragments for mma.m16n8k16" and others.
TEST(TensorForms, FragmentsLieAsThePtxIsaHasThem) {
  const TensorForm& k16 = form_named("gpuready_tensor_bf16_m16n8k16");
  // Lane 5 (group 1, thread 1): a0 is (1, 2), a2 is (9, 2), a4 is (1, 10); registers of 2.
  EXPECT_EQ(k16.place(TensorOperand::a, 1, 2 * 2), (0 * 32 + 5) * 4u);
  EXPECT_EQ(k16.place(TensorOperand::a, 9, 2 * 2), (1 * 32 + 5) * 4u);
  EXPECT_EQ(k16.place(TensorOperand::a, 1, 10 * 2), (2 * 32 + 5) * 4u);
  // b0 is (k 2, column 1), b2 is (k 10, column 1); B follows the 16 slices of A.
  EXPECT_EQ(k16.place(TensorOperand::b, 1, 2 * 2), ((16 * 4 + 0) * 32 + 5) * 4u);
  EXPECT_EQ(k16.place(TensorOperand::b, 1, 10 * 2), ((16 * 4 + 1) * 32 + 5) * 4u);
  EXPECT_EQ(k16.element(5, 1), (TensorElement{1, 3}));
  EXPECT_EQ(k16.element(5, 2), (TensorElement{9, 2}));
  EXPECT_EQ(k16.element(5, 4), (TensorElement{1, 10}));  // the second tile

  const TensorForm& turing = form_named("gpuready_tensor_int8_m8n8k16");
  EXPECT_EQ(turing.place(TensorOperand::a, 3, 6), (0 * 32 + 3 * 4 + 1) * 4u + 2);
  EXPECT_EQ(turing.element(13, 1), (TensorElement{3, 3}));

  // Volta's quad pairs: lanes 4 to 7 and 20 to 23 make the second of four products.
  const TensorForm& volta = form_named("gpuready_tensor_fp16_m8n8k4");
  EXPECT_EQ(volta.place(TensorOperand::a, 8 + 6, 2 * 2), (1 * 32 + 22) * 4u);
  EXPECT_EQ(volta.element(22, 0), (TensorElement{8 + 4, 8 + 2}));
  EXPECT_EQ(volta.element(22, 7), (TensorElement{8 + 6, 8 + 7}));
}

// docs/tensor-test.md
TEST(TensorForms, EightRotationsButTwoOfTheWgmmaFormsThatDoNotBurn) {
  for (const TensorForm& form : tensor_forms()) {
    const bool wgmma = form.kernel->name.ends_with("wgmma");
    const bool burns = form.type == TensorType::bf16;
    EXPECT_EQ(form.rotations(), wgmma && !burns ? 2u : 8u) << form.kernel->name;
  }
}

TEST(TensorForms, WgmmaPiecesAreSwizzledByRow) {
  const TensorForm& form = form_named("gpuready_tensor_bf16_wgmma");
  EXPECT_EQ(form.place(TensorOperand::a, 0, 0), 0u);
  EXPECT_EQ(form.place(TensorOperand::a, 1, 0), 128u + 16);
  EXPECT_EQ(form.place(TensorOperand::a, 7, 112), 7u * 128);
  EXPECT_EQ(form.place(TensorOperand::a, 0, 128), 64u * 128);
  EXPECT_EQ(form.place(TensorOperand::a, 64, 0), 32u * 1024);
  EXPECT_EQ(form.place(TensorOperand::b, 0, 0), 64u * 1024);
  EXPECT_EQ(form.element(128 + 33, 3), (TensorElement{64 + 16 + 8, 3}));
}

TEST(TensorForms, EachCapabilityHasTheNewestOfEachKind) {
  using Names = std::vector<std::string_view>;
  EXPECT_EQ(names_for(61), Names{});
  EXPECT_EQ(names_for(70), Names{"fp16 mma"});
  EXPECT_EQ(names_for(75), (Names{"fp16 mma", "int8 mma"}));
  EXPECT_EQ(names_for(86), (Names{"bf16 mma", "fp16 mma", "tf32 mma", "int8 mma"}));
  EXPECT_EQ(names_for(89).size(), 6u);
  const Names hopper = names_for(90);
  EXPECT_EQ(hopper.size(), 10u);
  EXPECT_EQ(hopper.front(), "bf16 wgmma");
  for (const int blackwell : {100, 120}) {
    EXPECT_EQ(names_for(blackwell).front(), "bf16 mma");
    EXPECT_EQ(names_for(blackwell).size(), 6u);
  }
}

// By the PTX ISA's own "introduced in" of each instruction: mma m8n8k4 6.4, Turing's 6.5, bf16 and
// m16n8k16 7.0, wgmma 8.0, fp8 8.4.
TEST(TensorForms, AnOldDriverGetsTheFormsThatItCompiles) {
  struct Driver {
    int cuda, ptx;
  };
  constexpr Driver kDrivers[] = {{9000, 60},  {10000, 63}, {10010, 64}, {10020, 65}, {11000, 70},
                                 {11080, 78}, {12000, 80}, {12020, 82}, {12030, 83}, {12040, 84},
                                 {12060, 85}, {12080, 87}, {13000, 90}};
  for (const int capability : {50, 53, 61, 70, 75, 80, 86, 89, 90, 100, 120})
    for (const Driver& driver : kDrivers) {
      SCOPED_TRACE(testing::Message() << capability << " with PTX " << driver.ptx);
      const auto has = [&](int from, int ptx) { return capability >= from && driver.ptx >= ptx; };
      const auto forms = tensor_forms_for(capability, driver.cuda);
      std::set<std::string_view> names;
      for (const TensorForm* form : forms) names.insert(form->kernel->name);
      EXPECT_EQ(names.size(), forms.size());
      const bool hopper = capability == 90 && driver.ptx >= 80;
      EXPECT_EQ(names.contains("gpuready_tensor_bf16_wgmma"), hopper);
      EXPECT_EQ(names.contains("gpuready_tensor_bf16_m16n8k16"), has(80, 70));
      EXPECT_EQ(names.contains("gpuready_tensor_fp8_e4m3_m16n8k32"), has(89, 84) && !hopper);
      EXPECT_EQ(names.contains("gpuready_tensor_fp16_m16n8k8"), has(75, 65) && !has(80, 70));
      EXPECT_EQ(names.contains("gpuready_tensor_fp16_m8n8k4"), has(70, 64) && !has(75, 65));
      EXPECT_EQ(forms.empty(), !has(70, 64));
      if (has(80, 70)) {
        EXPECT_EQ(forms.front()->type, TensorType::bf16) << "the burn's";
      }
    }
}

TEST(TensorForms, WhatIsLaunchedIsTheShapeThatTheFormDescribes) {
  // Turing's forms have other fragments than Ampere's of the same name.
  EXPECT_EQ(tensor_forms_for(75).front()->slice_bytes, 16u);
  EXPECT_EQ(tensor_forms_for(80)[1]->slice_bytes, 32u);
  EXPECT_TRUE(tensor_forms_for(70).front()->quad_pairs);
}

}  // namespace
}  // namespace gpuready
