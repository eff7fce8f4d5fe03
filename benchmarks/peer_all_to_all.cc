// All GPUs of a machine exchange their memory at once: each sends one part to each other. By copy
// engines and by kernels, as the peers test copies between two; compared with what NCCL reaches
// (benchmarks/collectives.py). Every byte that arrives is checked.
//   bench_peer_all_to_all UUID UUID...
// Prints bytes that each GPU sends a second, in GB/s, as nccl-tests counts an all-to-all.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "device/cuda/cuda_device.h"
#include "health/bandwidth/copy.h"

namespace {

using namespace gpuready;
constexpr std::uint64_t kBytes = 1u << 30;  // of each GPU, over all parts
constexpr int kRounds = 20, kBatches = 5;

template <class T>
T must(Result<T> result, const char* what) {
  if (result) {
    if constexpr (!std::is_void_v<T>)
      return std::move(*result);
    else
      return;
  }
  std::fprintf(stderr, "%s: %s\n", what, result.error().message.c_str());
  std::exit(1);
}

struct Member {
  std::unique_ptr<Device> device;
  DeviceAddress source = 0, target = 0;
  std::vector<StreamId> streams;  // one to each other GPU
};

// `salt` tells what one way of copying wrote from what another left.
std::uint64_t word_of(std::uint64_t salt, std::size_t from, std::size_t to, std::uint64_t i) {
  return (salt * 4096 + from * 64 + to + 1) * 0x9E3779B97F4A7C15ull + i;
}

class Exchange {
 public:
  explicit Exchange(std::vector<Member>& members)
      : members_(members), part_(kBytes / members.size() / 4096 * 4096) {}

  std::uint64_t part() const { return part_; }

  void fill(std::uint64_t salt) {
    std::vector<std::uint64_t> words(part_ / 8);
    for (std::size_t from = 0; from < members_.size(); ++from)
      for (std::size_t to = 0; to < members_.size(); ++to) {
        for (std::uint64_t i = 0; i < words.size(); ++i) words[i] = word_of(salt, from, to, i);
        must(members_[from].device->copy_to_device({}, members_[from].source + to * part_,
                                                   words.data(), part_),
             "fill");
        must(members_[from].device->synchronize({}), "fill");
      }
  }

  std::uint64_t wrong_words(std::uint64_t salt) {
    std::uint64_t wrong = 0;
    std::vector<std::uint64_t> words(part_ / 8);
    for (std::size_t to = 0; to < members_.size(); ++to)
      for (std::size_t from = 0; from < members_.size(); ++from) {
        if (from == to) continue;
        must(members_[to].device->copy_to_host({}, words.data(), members_[to].target + from * part_,
                                               part_),
             "check");
        must(members_[to].device->synchronize({}), "check");
        for (std::uint64_t i = 0; i < words.size(); ++i)
          wrong += words[i] != word_of(salt, from, to, i);
      }
    return wrong;
  }

  void run(bool by_kernel) {
    for (std::size_t step = 1; step < members_.size(); ++step)
      for (std::size_t from = 0; from < members_.size(); ++from) {
        const std::size_t to = (from + step) % members_.size();
        Member& sender = members_[from];
        const DeviceAddress target = members_[to].target + from * part_;
        const DeviceAddress source = sender.source + to * part_;
        if (by_kernel)
          must(copy_by_kernel(*sender.device, sender.streams[step - 1], target, source, part_,
                              part_),
               "copy by kernel");
        else
          must(sender.device->copy_to_peer(sender.streams[step - 1], *members_[to].device, target,
                                           source, part_),
               "copy to peer");
      }
  }

  void wait() {
    for (Member& member : members_)
      for (StreamId stream : member.streams) must(member.device->synchronize(stream), "wait");
  }

 private:
  std::vector<Member>& members_;
  const std::uint64_t part_;
};

}  // namespace

int main(int argc, char** argv) {
  std::vector<Member> members;
  for (int i = 1; i < argc; ++i)
    members.push_back({must(open_cuda_device(argv[i]), argv[i]), 0, 0, {}});
  if (members.size() < 2) {
    std::fprintf(stderr, "usage: bench_peer_all_to_all UUID UUID...\n");
    return 2;
  }
  for (Member& member : members) {
    member.source = must(member.device->allocate(kBytes), "allocate");
    member.target = must(member.device->allocate(kBytes), "allocate");
    for (Member& other : members) {
      if (&other == &member) continue;
      must(member.device->enable_peer_access(*other.device), "enable peer access");
      member.streams.push_back(must(member.device->create_stream(), "create a stream"));
    }
  }
  Exchange exchange(members);
  for (const bool by_kernel : {false, true}) {
    exchange.fill(by_kernel);
    exchange.run(by_kernel);
    exchange.wait();
    double best = 0;
    for (int batch = 0; batch < kBatches; ++batch) {
      const auto start = std::chrono::steady_clock::now();
      for (int i = 0; i < kRounds; ++i) exchange.run(by_kernel);
      exchange.wait();
      const double seconds =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      const auto sent = static_cast<double>(exchange.part() * (members.size() - 1)) * kRounds;
      best = std::max(best, sent / seconds);
    }
    std::printf("all-to-all %-16s %zu GPUs: %.1f GB/s each, %llu wrong words\n",
                by_kernel ? "by kernels" : "by copy engines", members.size(), best / 1e9,
                static_cast<unsigned long long>(exchange.wrong_words(by_kernel)));
  }
}
