// The forms by which secrets are known wherever they stand: tokens and cloud identifiers by their
// first letters, storage targets, host names by their last label, and folders that somebody named.
#pragma once

#include <cstddef>
#include <string_view>

namespace gpuready {

// The length of a token or identifier that starts `text` and has a known beginning ("ghp_",
// "i-0abc...", "iqn.2024-01..."); 0 when none does.
std::size_t token_length(std::string_view text);
// The length of a host name with its domain, or of a cloud's "ip-10-0-0-1"; 0 when `text` starts
// with none, or with one that belongs to a vendor or distribution and names no machine.
std::size_t domain_length(std::string_view text);
bool is_public_domain(std::string_view host);
// "alice@login2", "alice@example.com": the length of both parts, and of the first.
struct Login {
  std::size_t length = 0, user = 0;
};
Login login_at(std::string_view text);
// The name of a process in a line of the kernel log or of a driver, when it starts at `at`.
std::size_t process_name_length(std::string_view text, std::size_t at);

// Folders of the system, below which names are the distribution's own ("usr"; not "opt").
bool is_system_root(std::string_view component);
// A part of a path that many machines have: "bin", "cuda-12.4", "libcuda.so.1".
bool is_ordinary_component(std::string_view component);

}  // namespace gpuready
