#include "kernels/record_kernel.h"

#include <cstring>

GPUREADY_EMBEDDED(gpuready_ptx_record_sm_50)
GPUREADY_EMBEDDED(gpuready_spirv_record)

namespace gpuready {
namespace {

const KernelImage kImages[] = {
    {gpuready_ptx_record_sm_50_begin, gpuready_ptx_record_sm_50_end, 50, false}};

void cpu_record(const void* params, CpuSlice slice) {
  const auto& p = *static_cast<const RecordParams*>(params);
  if (slice.index != 0) return;
  auto* words = reinterpret_cast<unsigned long long*>(p.address);
  auto& seal = *reinterpret_cast<RecordSeal*>(p.seal_address);
  if (p.work == kRecordReset) {
    for (unsigned long long i = 0; i < p.words; ++i) words[i] = i == p.ones_word ? ~0ull : 0;
    seal.reset_nonce = p.nonce;
    return;
  }
  seal.words = p.words;
  seal.checksum = record_checksum(words, p.words);
  seal.seal_nonce = p.nonce;
}

}  // namespace

const Kernel kRecord{"gpuready_record", kImages, cpu_record, GPUREADY_SPIRV(gpuready_spirv_record)};

unsigned long long record_checksum(const void* words, unsigned long long count) {
  unsigned long long sum = 0;
  for (unsigned long long i = 0; i < count; ++i) {
    unsigned long long word = 0;
    std::memcpy(&word, static_cast<const unsigned char*>(words) + 8 * i, sizeof word);
    sum += record_fold(word, i);
  }
  return sum;
}

}  // namespace gpuready
