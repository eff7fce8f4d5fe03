#include "device/kernel.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <memory>

#include "base/cuda_releases.h"
#include "base/text.h"

namespace gpuready {
namespace {

constexpr std::size_t kHeadBytes = 256;  // the directives stand at the start

std::string head_of(const KernelImage& image) {
  const auto bytes = static_cast<std::size_t>(image.end - image.begin);
  std::string head(kHeadBytes, '\0');
  const std::unique_ptr<ZSTD_DStream, std::size_t (*)(ZSTD_DStream*)> stream(ZSTD_createDStream(),
                                                                             ZSTD_freeDStream);
  ZSTD_inBuffer in{image.begin, bytes, 0};
  ZSTD_outBuffer out{head.data(), head.size(), 0};
  while (out.pos < out.size && in.pos < in.size)
    if (ZSTD_isError(ZSTD_decompressStream(stream.get(), &out, &in)))  // text as it is
      return std::string(reinterpret_cast<const char*>(image.begin), std::min(bytes, kHeadBytes));
  head.resize(out.pos);
  return head;
}

// "8.4" of ".version 8.4"
Version ptx_isa_of(const KernelImage& image) {
  constexpr std::string_view kDirective = ".version ";
  const std::string head = head_of(image);
  const auto at = head.find(kDirective);
  if (at == head.npos) return {};
  const auto begin = at + kDirective.size();
  const auto end = std::min(head.find_first_not_of("0123456789.", begin), head.size());
  return parse_version(std::string_view(head).substr(begin, end - begin)).value_or(Version{});
}

std::optional<Version> newest_ptx_of(std::optional<int> driver_version) {
  if (!driver_version) return std::nullopt;
  return ptx_isa_of_cuda({{*driver_version / 1000, *driver_version % 1000 / 10}})
      .value_or(Version{});
}

bool is_better(const KernelImage& image, const KernelImage* best) {
  return !best || image.compute_capability > best->compute_capability || image.architecture_exact;
}

std::string version_text(const Version& version) {
  return fmt::format("{}", fmt::join(version.parts, "."));
}

}  // namespace

const KernelImage* best_image(std::span<const KernelImage> images, int capability,
                              std::optional<int> driver_version) {
  const auto newest = newest_ptx_of(driver_version);
  const KernelImage* best = nullptr;
  for (const KernelImage& image : images)
    if (image.loads_on(capability) && is_better(image, best) &&
        (!newest || ptx_isa_of(image) <= *newest))
      best = &image;
  return best;
}

std::string why_no_image(std::span<const KernelImage> images, int capability,
                         std::optional<int> driver_version) {
  std::optional<Version> oldest;
  for (const KernelImage& image : images)
    if (image.loads_on(capability))
      oldest = std::min(oldest.value_or(ptx_isa_of(image)), ptx_isa_of(image));
  if (!oldest || !driver_version)
    return fmt::format("has no code for compute capability {}.{}", capability / 10,
                       capability % 10);
  const CudaRelease* release = release_of_ptx(*oldest);
  return fmt::format("needs PTX {}{}, which this driver, of CUDA {}.{}, does not compile",
                     version_text(*oldest),
                     release ? fmt::format(" (driver {} or newer)", release->driver) : "",
                     *driver_version / 1000, *driver_version % 1000 / 10);
}

Result<std::string> unpack_image(const unsigned char* begin, const unsigned char* end) {
  const auto bytes = static_cast<std::size_t>(end - begin);
  const auto size = ZSTD_getFrameContentSize(begin, bytes);
  if (size == ZSTD_CONTENTSIZE_ERROR)  // no frame of zstd
    return std::string(reinterpret_cast<const char*>(begin), bytes);
  std::string text(size == ZSTD_CONTENTSIZE_UNKNOWN ? 0 : size, '\0');
  const std::size_t unpacked = ZSTD_decompress(text.data(), text.size(), begin, bytes);
  if (ZSTD_isError(unpacked) || unpacked != text.size())
    return fail(ErrorKind::bad_input,
                fmt::format("an embedded kernel image cannot be unpacked: {}",
                            ZSTD_isError(unpacked) ? ZSTD_getErrorName(unpacked) : "its size"));
  return text;
}

}  // namespace gpuready
