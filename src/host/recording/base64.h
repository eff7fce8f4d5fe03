// Base64 (RFC 4648, with padding) for bytes that are no text, inside JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gpuready {

std::string base64_encode(std::string_view bytes);
// White space is allowed between characters; anything else that is not base64 gives nothing.
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace gpuready
