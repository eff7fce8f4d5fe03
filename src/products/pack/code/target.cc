#include "pack/code/target.h"

#include <fmt/format.h>

#include "base/characters.h"
#include "base/text.h"

namespace gpuready::pack {
namespace {

std::optional<bool> sign_after(std::string_view text, std::string_view name) {
  const auto sign = after_prefix(text, name);
  if (sign == "+") return true;
  if (sign == "-") return false;
  return std::nullopt;
}

}  // namespace

std::string CudaTarget::capability() const { return fmt::format("{}.{}", major, minor); }

std::string CudaTarget::number() const {
  auto text = fmt::format("{}{}", major, minor);
  if (suffix != 0) text += suffix;
  return text;
}

std::optional<CudaTarget> cuda_target(std::uint32_t number, char suffix) {
  if (number < 10 || number >= 1000) return std::nullopt;
  return CudaTarget{static_cast<int>(number / 10), static_cast<int>(number % 10), suffix};
}

std::optional<CudaTarget> parse_cuda_target(std::string_view text) {
  for (const std::string_view prefix : {"sm_", "compute_"})
    if (const auto rest = after_prefix(text, prefix)) {
      text = *rest;
      break;
    }
  char suffix = 0;
  if (!text.empty() && (text.back() == 'a' || text.back() == 'f')) {
    suffix = text.back();
    text.remove_suffix(1);
  }
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_digit(text[i])) {
      digits += text[i];
    } else if (text[i] != '.' || i + 2 != text.size() || i == 0) {
      return std::nullopt;  // one dot, before the last digit
    }
  }
  const auto number = digits.size() > 3 ? std::nullopt : parse_uint(digits);
  if (!number) return std::nullopt;
  return cuda_target(static_cast<std::uint32_t>(*number), suffix);
}

std::string GfxTarget::name() const {
  std::string text = processor;
  if (sramecc) text += *sramecc ? ":sramecc+" : ":sramecc-";
  if (xnack) text += *xnack ? ":xnack+" : ":xnack-";
  return text;
}

std::optional<GfxTarget> parse_gfx_target(std::string_view text) {
  const auto parts = split(text, ":");
  if (parts.empty() || !parts[0].starts_with("gfx") || parts[0].size() < 6) return std::nullopt;
  for (const char c : parts[0])
    if (!is_digit(c) && !is_lower(c) && c != '-') return std::nullopt;
  GfxTarget target{.processor = std::string(parts[0]), .sramecc = {}, .xnack = {}};
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (const auto sign = sign_after(parts[i], "sramecc")) {
      target.sramecc = sign;
    } else if (const auto other = sign_after(parts[i], "xnack")) {
      target.xnack = other;
    } else {
      return std::nullopt;
    }
  }
  return target;
}

}  // namespace gpuready::pack
