// Initrds of any bytes, and what our own writer makes of what was read.
#include <cstdlib>
#include <string>

#include "vm/guest/config.h"
#include "vm/guest/loader_cache_add.h"
#include "vm/guest/nodes.h"
#include "vm/guest/steps.h"
#include "vm/initrd/newc.h"

using namespace gpuready;
using namespace gpuready::vm;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto archive = read_newc({data, size}, "initrd")) {
    std::string again;
    std::uint32_t inode = 0;
    for (const auto& file : archive->files) {
      again += *newc_header(file.entry, ++inode);
      again.append(file.content.begin(), file.content.end());
      again.append(newc_padding(file.content.size()), '\0');
    }
    again += newc_end();
    const auto read =
        read_newc({reinterpret_cast<const std::uint8_t*>(again.data()), again.size()}, "again");
    if (!read || read->files.size() != archive->files.size()) std::abort();
  }
  // What else a guest reads of others.
  (void)add_to_loader_cache(text, {{"libcuda.so.1", "/usr/lib64/libcuda.so.1"}}, "x86_64");
  GuestConfig config;
  read_config(text, config);
  const std::string copy(text);
  (void)plan_nodes({copy, copy, {copy}, {copy}});
  for (const auto& step : steps_in(text))
    if (steps_in(to_line(step)).empty()) std::abort();
  return 0;
}
