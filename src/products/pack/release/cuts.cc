#include "pack/release/cuts.h"

#include <algorithm>
#include <array>
#include <bit>

#include "base/bytes.h"
#include "base/sha256.h"

namespace gpuready::pack {
namespace {

constexpr std::size_t kWindow = 64;  // bytes that the rolling sum depends on
constexpr std::size_t kDigestBytes = 16, kHexBytes = 64;
constexpr std::string_view kMagic = "gpuready pieces1";

// A number for each byte: SplitMix64 (Steele et al., OOPSLA 2014) of seed 0. Other numbers would
// give other cuts, and no piece of an earlier release.
constexpr std::array<std::uint64_t, 256> kGear = [] {
  std::array<std::uint64_t, 256> gear{};
  std::uint64_t state = 0;
  for (auto& value : gear) {
    state += 0x9e3779b97f4a7c15;
    value = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9;
    value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
    value ^= value >> 31;
  }
  return gear;
}();

// Of the sum's highest bits, those of a length of 2^bits: they depend on the whole window.
constexpr std::uint64_t top_bits(int bits) { return ~std::uint64_t{0} << (64 - bits); }
constexpr int kUsualBits = std::countr_zero(kUsualCutBytes);
constexpr std::uint64_t kRare = top_bits(kUsualBits + 2), kOften = top_bits(kUsualBits - 2);

}  // namespace

std::size_t cut_length(std::string_view rest) {
  if (rest.size() <= kLeastCutBytes) return rest.size();
  const auto most = std::min(rest.size(), kMostCutBytes);
  std::uint64_t sum = 0;
  std::size_t at = kLeastCutBytes - kWindow;
  const auto add = [&] { sum = (sum << 1) + kGear[static_cast<unsigned char>(rest[at++])]; };
  while (at < kLeastCutBytes) add();
  for (const auto& [mask, until] :
       {std::pair{kRare, std::min(most, kUsualCutBytes)}, std::pair{kOften, most}})
    while (at < until) {
      add();
      if ((sum & mask) == 0) return at;
    }
  return most;
}

Cut cut_of(std::string_view content) {
  const auto whole = sha256(content);
  return {std::string(text_of(whole).substr(0, kDigestBytes)),
          static_cast<std::uint32_t>(content.size())};
}

std::uint64_t CutRun::content_bytes() const {
  std::uint64_t sum = 0;
  for (const Cut& cut : cuts) sum += cut.bytes;
  return sum;
}

std::string cut_index_text(const CutIndex& index) {
  std::string text;
  const auto put = [&](auto number) {
    text.append(reinterpret_cast<const char*>(&number), sizeof number);
  };
  for (const auto& [sha256, runs] : index) {
    text += sha256;
    put(static_cast<std::uint32_t>(runs.size()));
    for (const CutRun& run : runs) {
      put(run.offset_bytes), put(run.frame_bytes);
      put(static_cast<std::uint32_t>(run.cuts.size()));
      for (const Cut& cut : run.cuts) text += cut.digest, put(cut.bytes);
    }
  }
  put(static_cast<std::uint64_t>(text.size() + sizeof(std::uint64_t) + kMagic.size()));
  return text += kMagic;
}

std::uint64_t cut_index_bytes(std::string_view file) {
  if (!file.ends_with(kMagic)) return 0;
  file.remove_suffix(kMagic.size());
  const auto bytes = load<std::uint64_t>(bytes_of(file), file.size() - sizeof(std::uint64_t));
  return bytes && *bytes <= file.size() + kMagic.size() ? *bytes : 0;
}

Result<CutIndex> parse_cut_index(std::string_view text, std::uint64_t frames_bytes,
                                 const std::string& name) {
  const auto bad = fail(ErrorKind::bad_input, name + ": not an index of pieces");
  constexpr auto kEndBytes = sizeof(std::uint64_t) + kMagic.size();
  if (cut_index_bytes(text) != text.size() || text.size() < kEndBytes) return bad;
  text.remove_suffix(kEndBytes);
  std::size_t at = 0;
  const auto take = [&]<class T>(T& number) {
    const auto loaded = load<T>(bytes_of(text), at);
    number = loaded.value_or(0);
    at += sizeof(T);
    return loaded.has_value();
  };
  CutIndex index;
  while (at < text.size()) {
    const auto sha256 = text.substr(at, kHexBytes);
    at += kHexBytes;
    std::uint32_t run_count = 0, cut_count = 0;
    if (!is_sha256(sha256) || !take(run_count)) return bad;
    auto& runs = index[std::string(sha256)];
    while (run_count-- > 0) {
      CutRun& run = runs.emplace_back();
      if (!take(run.offset_bytes) || !take(run.frame_bytes) || !take(cut_count)) return bad;
      if (run.offset_bytes > frames_bytes || run.frame_bytes > frames_bytes - run.offset_bytes)
        return bad;
      while (cut_count-- > 0) {
        Cut& cut = run.cuts.emplace_back(
            std::string(text.substr(std::min(at, text.size()), kDigestBytes)));
        at += kDigestBytes;
        if (!take(cut.bytes)) return bad;
      }
      if (run.frame_bytes > 0 && run.content_bytes() > kMostFrameContent) return bad;
    }
  }
  return index;
}

}  // namespace gpuready::pack
