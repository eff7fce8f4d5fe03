// gpuready-guest: the init of a guest with a GPU, and its parts for an init that is another's.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/host.h"
#include "vm/drivers/open_bundle.h"
#include "vm/guest/boot.h"
#include "vm/guest/inject.h"

namespace {

using namespace gpuready;
using namespace gpuready::vm;

constexpr const char* kUsage =
    "usage: gpuready-guest inject --root ROOT --bundle BUNDLE [--method auto|hardlink|bind]\n"
    "                             [--capabilities LIST] [--replace]\n"
    "       gpuready-guest prepare --root ROOT --bundle BUNDLE [--capabilities LIST] [--replace]\n"
    "       gpuready-guest nodes --root ROOT\n"
    "       gpuready-guest check --root ROOT\n"
    "inject   puts a bundle's libraries and programs into a container's root\n"
    "prepare  loads the bundle's modules, makes device nodes in ROOT/dev, and injects by a mount\n"
    "nodes    makes the device nodes of the loaded driver in ROOT/dev\n"
    "check    runs `gpuready check --level quick` in the root, if it is there\n"
    "As process 1 it is a guest's init; docs/vm-drivers.md says what it reads.\n"
    "LIST: of compute, utility, graphics, video (default: all).\n"
    "Exit codes: 0 done; 1 a step failed; 2 wrong usage, or a file is in the way.\n";

int usage(const std::string& what) {
  std::fprintf(stderr, "gpuready-guest: %s\n%s", what.c_str(), kUsage);
  return 2;
}

struct Options {
  std::string root, bundle, method = "auto", capabilities;
  bool replace = false;
};

// Empty: all is understood.
std::string parse(std::span<const std::string> args, Options& options) {
  struct Text {
    std::string_view name;
    std::string Options::* member;
  };
  constexpr Text kTexts[] = {{"--root", &Options::root},
                             {"--bundle", &Options::bundle},
                             {"--method", &Options::method},
                             {"--capabilities", &Options::capabilities}};
  for (std::size_t i = 0; i < args.size(); ++i) {
    bool known = args[i] == "--replace";
    options.replace |= known;
    for (const auto& text : kTexts)
      if (text.name == args[i] && i + 1 < args.size()) {
        options.*text.member = args[++i];
        known = true;
        break;
      }
    if (!known) return "not understood: " + args[i];
  }
  return {};
}

Steps console() {
  return Steps([](const Step& step) { std::fprintf(stderr, "%s\n", to_line(step).c_str()); });
}

int run_inject(const Options& options, const std::vector<Capability>& capabilities) {
  const auto host = make_live_host();
  const auto bundle = open_bundle(*host, options.bundle);
  if (!bundle) return usage(bundle.error().message);
  const auto root = RootFolder::open(options.root);
  if (!root) return usage(root.error().message);
  const auto start = Clock::now();
  const auto method = options.method == "bind"       ? InjectMethod::bind
                      : options.method == "hardlink" ? InjectMethod::hard_link
                                                     : InjectMethod::automatic;
  const auto report =
      inject(*bundle, options.bundle, *root, {method, capabilities, options.replace});
  auto steps = console();
  if (!report) {
    steps.add(StepState::failed, "library", options.root, report.error().message);
    return 2;
  }
  for (const auto& warning : report->warnings)
    steps.add(StepState::warning, "library", options.root, warning);
  for (const auto& saved : report->saved)
    steps.add(StepState::warning, "library", saved, "the image's own is now NAME.gpuready-saved");
  std::printf("driver %s: %zu files, %zu bytes, %zu names in %s, %zu there already, %.1f ms\n",
              bundle->driver_version.c_str(), report->files,
              static_cast<std::size_t>(report->bytes), report->links, report->loader_folder.c_str(),
              report->kept, elapsed_ms(start));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  if (args.size() >= 3 && args[0] == "__in-root")
    return run_in_root(args[1], args[2], {args.begin() + 3, args.end()});
  if (::getpid() == 1) return run_as_init(args);
  if (args.empty()) return usage("name what to do");
  if (args[0] == "help" || std::ranges::any_of(args, [](const std::string& arg) {
        return arg == "--help" || arg == "-h";
      })) {
    std::fputs(kUsage, stdout);
    return 0;
  }
  Options options;
  if (const auto wrong = parse(std::span(args).subspan(1), options); !wrong.empty())
    return usage(wrong);
  GuestConfig config;
  read_config("gpuready.capabilities=" + options.capabilities, config);
  if (!config.unknown.empty()) return usage("not capabilities: " + options.capabilities);
  config.replace = options.replace;
  const auto& method = options.method;
  if (method != "auto" && method != "hardlink" && method != "bind")
    return usage("no such method: " + method);
  if (options.root.empty()) return usage("--root is missing");
  auto steps = console();
  if (args[0] == "nodes") return make_nodes(options.root, steps) ? 0 : 1;
  if (args[0] == "check") {
    check_root(options.root, steps);
    return steps.any_failed() ? 1 : 0;
  }
  if (options.bundle.empty()) return usage("--bundle is missing");
  if (args[0] == "inject") return run_inject(options, config.capabilities);
  if (args[0] == "prepare") return prepare({options.bundle, options.root, config, true}, steps);
  return usage("no such command: " + args[0]);
}
