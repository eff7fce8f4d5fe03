// What `gpuready vm` parses: the journal, tables of the kernel, a test's document.
#include <cstdint>
#include <string_view>

#include "base/json.h"
#include "base/kernel/mount_table.h"
#include "vm/clean/clean.h"
#include "vm/host_facts.h"
#include "vm/perform.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gpuready;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto operation = vm::parse_operation(text, "fuzz")) {
    vm::Claim claim;
    claim.operations = {*operation, *operation};
    static_cast<void>(vm::state_of(claim));
    static_cast<void>(vm::steps_back(*operation));
  }
  static_cast<void>(parse_mounts(text));
  static_cast<void>(vm::parse_variants(text));
  static_cast<void>(vm::mmio_bytes(vm::parse_bars(text)));
  static_cast<void>(vm::parse_vgpu_types(text));
  static_cast<void>(vm::check_name(text));
  if (const Json doc = Json::parse(text, nullptr, false); !doc.is_discarded())
    static_cast<void>(vm::judge(doc, PciAddress{0, 0x17, 0, 0}));
  return 0;
}
