// What comes with a driver, of any bytes: archives and the members that they hide, kernel modules,
// the installer's list, bundle.json. What is taken from an archive stays below its folder, and a
// bundle that is read can be written and read again.
#include <cstdlib>
#include <string>

#include "base/elf.h"
#include "vm/drivers/bundle.h"
#include "vm/drivers/driver_archive.h"
#include "vm/drivers/manifest.h"
#include "vm/drivers/module_info.h"

using namespace gpuready;
using namespace gpuready::vm;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto check = [](bool holds) {
    if (!holds) std::abort();
  };
  if (const auto file = parse_elf({data, size}, "elf"); !file) check(!file.error().message.empty());
  if (const auto module = read_module({data, size}, "module"); module)
    (void)load_order({*module, *module});
  (void)parse_installer_manifest(text, "manifest");
  if (const auto bundle = bundle_from_text(text, "bundle")) {
    (void)inconsistencies(*bundle);
    const auto again = bundle_from_json(to_json(*bundle), "again");
    check(again.has_value());
    for (const auto& file : again->files) check(is_safe_relative(file.path));
  }
  const ArchiveSink sink{.wants =
                             [&](std::string_view path) {
                               check(is_safe_relative(path));
                               return true;
                             },
                         .begin = [](std::string_view) -> Result<void> { return {}; },
                         .piece = [](std::string_view) -> Result<void> { return {}; },
                         .end = []() -> Result<void> { return {}; }};
  (void)read_driver_archive({data, size}, "archive", sink, {std::uint64_t{64} << 20, 1000});
  (void)unpack_single({data, size}, "module", std::uint64_t{16} << 20);
  return 0;
}
