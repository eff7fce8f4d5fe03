#include "host/redaction/secret_names.h"

#include "base/text.h"

namespace gpuready {
namespace {

constexpr std::string_view kCredentialWords[] = {"key",    "token",      "secret", "password",
                                                 "passwd", "credential", "cookie"};
constexpr std::string_view kSerialWords[] = {"serial", "unique_id", "uniqueid", "asset_tag"};
constexpr std::string_view kProcessWords[] = {"processname", "process_name", "cmdline"};
constexpr std::string_view kProductWords[] = {"name", "model", "product"};
constexpr std::string_view kUuidWords[] = {"uuid", "boot_id", "machine-id", "machine_id"};

template <std::size_t N>
bool holds_any(std::string_view name, const std::string_view (&words)[N]) {
  const auto lower = to_lower(name);
  for (const auto word : words)
    if (contains(lower, word)) return true;
  return false;
}

}  // namespace

bool names_a_credential(std::string_view variable) { return holds_any(variable, kCredentialWords); }
bool names_a_process(std::string_view name) { return holds_any(name, kProcessWords); }
bool is_driver_process(std::string_view process) {
  constexpr std::string_view kMps = "nvidia-cuda-mps-";
  const auto rest = process.starts_with(kMps) ? process.substr(kMps.size()) : std::string_view{};
  return rest == "server" || rest == "control";
}
bool names_a_serial(std::string_view name) { return holds_any(name, kSerialWords); }
bool names_a_product(std::string_view name) { return holds_any(name, kProductWords); }
bool names_a_uuid(std::string_view name) { return holds_any(name, kUuidWords); }

}  // namespace gpuready
