#include "host/secret_forms.h"

#include <algorithm>

#include "base/text.h"
#include "host/pseudonym_forms.h"

namespace gpuready {
namespace {

enum class Letters { hexadecimal, token };  // token: until white space, a quote or a bracket

struct TokenForm {
  std::string_view prefix;
  std::size_t least;  // letters that follow
  Letters letters = Letters::token;
};
constexpr TokenForm kTokens[] = {
    // API keys and tokens, by what their makers publish for secret scanners.
    {"AKIA", 16},
    {"ASIA", 16},
    {"AIza", 20},
    {"ya29.", 16},
    {"ghp_", 16},
    {"gho_", 16},
    {"ghs_", 16},
    {"github_pat_", 16},
    {"glpat-", 16},
    {"hf_", 16},
    {"nvapi-", 16},
    {"sk-", 16},
    {"rpa_", 16},
    {"xoxb-", 8},
    {"xoxp-", 8},
    {"eyJ", 16},
    {"AAAAB3NzaC1", 16},
    {"AAAAC3NzaC1", 16},
    {"AAAAE2VjZHNh", 16},
    // Clouds.
    {"i-", 8, Letters::hexadecimal},
    {"vol-", 8, Letters::hexadecimal},
    {"eni-", 8, Letters::hexadecimal},
    {"ami-", 8, Letters::hexadecimal},
    {"vpc-", 8, Letters::hexadecimal},
    {"sg-", 8, Letters::hexadecimal},
    {"snap-", 8, Letters::hexadecimal},
    {"subnet-", 8, Letters::hexadecimal},
    {"arn:aws", 8},
    {"ocid1.", 8},
    {"projects/", 3},
    // Storage.
    {"iqn.", 8},
    {"nqn.", 8},
    {"eui.", 16, Letters::hexadecimal},
    {"naa.", 16, Letters::hexadecimal},
    {"wwn-0x", 16, Letters::hexadecimal},
};

constexpr std::string_view kTopLevels[] = {
    "com",   "net",         "org",      "edu",      "gov",  "mil", "io",   "ai",  "cloud",
    "local", "localdomain", "internal", "intranet", "corp", "lan", "arpa", "int", "de",
    "uk",    "fr",          "nl",       "ch",       "eu",   "cn",  "jp",   "kr"};
// Named in drivers' messages and systems' files, the same everywhere.
constexpr std::string_view kPublicDomains[] = {
    "nvidia.com", "amd.com",    "intel.com",  "kernel.org", "freedesktop.org", "khronos.org",
    "github.com", "debian.org", "ubuntu.com", "redhat.com", "microsoft.com",   "fedoraproject.org"};

struct ProcessForm {
  std::string_view before, end;  // what stands before the name; the letters that end it
  std::string_view after;        // what must follow
};
constexpr ProcessForm kProcessForms[] = {
    {"name=", ",\n", ""},   // NVRM: Xid (PCI:0000:17:00): 31, pid=7194, name=python3, Ch 8
    {"comm=", " ,\n", ""},  // audit, hung tasks
    {"comm: ", " \n", ""},  // kernel traces
    {"exe=", " ,\n", ""},
    {"process ", " ,:\n", " pid"},  // amdgpu: Process information: process python3 pid 7
    {"thread ", " ,\n", " pid"},
    {"task ", ":\n", ":"},     // INFO: task python3:7194 blocked for more than 120 seconds
    {"client '", "'\n", "'"},  // NVRM: API mismatch: the client 'nvidia-smi' (pid 7)
};
// Drivers' own programs and the kernel's threads.
constexpr std::string_view kCommonProcesses[] = {"nvidia-",    "nv-",    "kworker", "modprobe",
                                                 "insmod",     "rmmod",  "irq/",    "<unknown>",
                                                 "'<unknown>", "systemd"};

constexpr std::string_view kSystemRoots[] = {"usr", "lib",  "lib32", "lib64", "libx32",
                                             "bin", "sbin", "etc",   "sys",   "proc",
                                             "dev", "run",  "var",   "boot"};
constexpr std::string_view kOrdinaryComponents[] = {
    // folders in which people keep their own
    "home", "Users", "root", "mnt", "media", "data", "srv", "scratch", "export", "work",
    "workspace", "tmp", "nfs", "lustre", "gpfs", "opt", "usr", "local", "nix", "snap",
    // what a toolkit consists of
    ".", "..", "bin", "sbin", "lib", "lib32", "lib64", "libexec", "share", "include", "etc", "src",
    "build", "targets", "x86_64-linux", "sbsa-linux", "aarch64-linux", "x86_64-linux-gnu",
    "aarch64-linux-gnu", "stubs", "compat", "extras", "CUPTI", "nvvm", "nsight", "current",
    "default", "envs", "env", "venv", ".venv", "pkgs", "site-packages", "dist-packages", ".info",
    "version", "version.json", "version.txt", "nvcc", "hipcc", "icd.d", "games", "shims", ".pyenv",
    ".cargo", ".local", "plugins", "library", "rocblas", "hip", "llvm", "go", "node_modules",
    "Library", "Frameworks"};
constexpr std::string_view kOrdinaryStarts[] = {"cuda",     "rocm",      "nvidia",    "amdgpu",
                                                "vulkan",   "python",    "conda",     "miniconda",
                                                "anaconda", "miniforge", "mambaforge"};

template <std::size_t N>
bool one_of(std::string_view text, const std::string_view (&words)[N]) {
  return std::find(std::begin(words), std::end(words), text) != std::end(words);
}

constexpr std::string_view kTokenEnds = "\"'`<>()[]{},;|&\\";

template <class Keep>
std::size_t run(std::string_view text, Keep keep) {
  return static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), keep) - text.begin());
}
bool is_host_letter(char c) { return is_alnum(c) || c == '-' || c == '.'; }

// A full stop or colon at the end of a sentence belongs to nothing.
std::size_t without_stops(std::string_view text) {
  while (!text.empty() && (text.back() == '.' || text.back() == ':' || text.back() == '-'))
    text.remove_suffix(1);
  return text.size();
}

}  // namespace

std::size_t token_length(std::string_view text) {
  for (const auto& form : kTokens) {
    if (!text.starts_with(form.prefix)) continue;
    const auto rest = text.substr(form.prefix.size());
    const auto length =
        form.letters == Letters::hexadecimal ? run(rest, is_hex) : run(rest, [](char c) {
          return c > ' ' && c <= '~' && !contains(kTokenEnds, {&c, 1});
        });
    const bool ends =
        form.letters != Letters::hexadecimal || length == rest.size() || !is_alnum(rest[length]);
    if (length >= form.least && ends) return form.prefix.size() + length;
  }
  return 0;
}

bool is_public_domain(std::string_view host) {
  return std::any_of(std::begin(kPublicDomains), std::end(kPublicDomains), [&](auto domain) {
    return host == domain ||
           (host.ends_with(domain) && host[host.size() - domain.size() - 1] == '.');
  });
}

std::size_t domain_length(std::string_view text) {
  const auto host = text.substr(0, without_stops(text.substr(0, run(text, is_host_letter))));
  if (const auto rest = after_prefix(host, "ip-");
      rest && std::count(rest->begin(), rest->end(), '-') >= 3 && is_digit(rest->front()))
    return host.size();
  const auto dot = host.rfind('.');
  if (dot == host.npos || dot == 0 || host.size() > 253) return 0;
  if (!one_of(to_lower(host.substr(dot + 1)), kTopLevels) || is_public_domain(to_lower(host)))
    return 0;
  const auto before = host.substr(0, dot);
  return std::any_of(before.begin(), before.end(),
                     [](char c) { return is_alnum(c) && !is_digit(c); })
             ? host.size()
             : 0;
}

Login login_at(std::string_view text) {
  const auto user = run(text, [](char c) { return is_alnum(c) || contains("._%+-", {&c, 1}); });
  if (user == 0 || user > 64 || user + 2 > text.size() || text[user] != '@') return {};
  const auto rest = text.substr(user + 1);
  if (!is_alnum(rest[0]) || is_digit(rest[0])) return {};
  const auto host = without_stops(rest.substr(0, run(rest, is_host_letter)));
  return host < 2 ? Login{} : Login{user + 1 + host, user};
}

std::size_t process_name_length(std::string_view text, std::size_t at) {
  if (at == 0 || !contains("= '", text.substr(at - 1, 1))) return 0;  // as each form ends
  for (const auto& form : kProcessForms) {
    if (!text.substr(0, at).ends_with(form.before)) continue;
    const auto rest = text.substr(at, 256);
    const auto length = std::min(rest.find_first_of(form.end), rest.size());
    if (length == 0 || !rest.substr(length).starts_with(form.after)) continue;
    const auto name = rest.substr(0, length);
    const bool common = std::any_of(std::begin(kCommonProcesses), std::end(kCommonProcesses),
                                    [&](auto start) { return name.starts_with(start); });
    return common ? 0 : length;
  }
  return 0;
}

bool is_system_root(std::string_view component) { return one_of(component, kSystemRoots); }

bool is_ordinary_component(std::string_view component) {
  if (one_of(component, kOrdinaryComponents)) return true;
  if (component.starts_with("lib") && contains(component, ".so")) return true;
  return std::any_of(std::begin(kOrdinaryStarts), std::end(kOrdinaryStarts), [&](auto start) {
    // "cuda-12.4", not "cuda-of-somebody": what follows is a version.
    return component.starts_with(start) &&
           component.find_first_not_of("0123456789.-_", start.size()) == component.npos;
  });
}

}  // namespace gpuready
