// The compute test's kernel of the fake HIP runtime. Healthy units all compute the same: each
// operation is computed once, and every block writes down what it would have found.
#include "fake_hip_compute.h"

#include <cstdint>
#include <vector>

#include "kernels/cpu/compute_golden.h"

using namespace gpuready;

void fake_hip_compute(const void* params, unsigned blocks, unsigned shared_bytes) {
  const auto& p = *static_cast<const ComputeParams*>(params);
  auto* records = reinterpret_cast<ComputeRecord*>(p.records_address);
  std::vector<std::uint64_t> results;
  const auto fault_block = p.fault_unit - 1, store_block = p.store_unit - 1;
  for (unsigned block = 0; block < blocks; ++block) records[block] = ComputeRecord{};
  if (p.shared_words > shared_bytes / 4) return;  // a GPU's blocks would end in a fault
  for (unsigned op = p.first_op; op < p.end_op; ++op) {
    if (!compute_op_is_there_in_hip(op)) continue;
    results.resize(compute_results(op, p.count, p.shared_words));
    compute_golden_launch(op, p.seed, p.first_index, p.count, p.shared_words, results.data());
    const auto checksum = [&] {
      unsigned long long sum = 0;
      for (unsigned i = 0; i < results.size(); ++i)
        sum += compute_fold(results[i], p.first_index + i);
      return sum;
    };
    const auto store = [&] {
      auto* target = reinterpret_cast<unsigned long long*>(p.store_address);
      for (std::size_t i = 0; i < results.size(); ++i) target[i] = results[i];
    };
    const auto sum = checksum();
    const bool stores = op == p.first_op && store_block < blocks;
    for (unsigned block = 0; block < blocks; ++block) {
      ComputeRecord& record = records[block];
      record.checksum[op] = sum;
      record.results += results.size();
      record.ops_done[op / 64] |= 1ull << op % 64;
    }
    if (stores) store();
    if (fault_block >= blocks || p.fault_op != op) continue;
    if (p.fault_kind != ComputeFaultKind::flip && p.fault_kind != ComputeFaultKind::nan) continue;
    auto& result = results[p.fault_index - p.first_index];
    result = p.fault_kind == ComputeFaultKind::nan ? p.fault_bits : result ^ p.fault_bits;
    records[fault_block].checksum[op] = checksum();
    if (stores && store_block == fault_block) store();
  }
  for (unsigned block = 0; block < blocks; ++block) {
    ComputeRecord& record = records[block];
    record.unit_at_start = record.unit_at_end = block;
    record.ticks = 1000 + block;  // tells nothing: blocks share units
    record.nonce = p.nonce;
  }
}
