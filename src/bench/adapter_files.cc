#include "bench/adapter_files.h"

#include <fmt/format.h>

#include <cerrno>

#include "base/sha256.h"
#include "bench/adapters.h"
#include "host/atomic_file.h"

namespace gpuready::bench {
namespace {

std::string name_of_all() {
  std::string all;
  for (const AdapterFile& file : adapter_files())
    all += fmt::format("{}\n{}\n", file.name, file.text.size()) + std::string(file.text);
  const Sha256 sum = sha256(all);
  std::string name = "adapters-";
  for (int i = 0; i < 8; ++i) name += fmt::format("{:02x}", sum[static_cast<std::size_t>(i)]);
  return name;
}

}  // namespace

Result<std::string> place_adapters(const std::string& folder, Host& host, Storage& storage) {
  const std::string place = folder + "/" + name_of_all();
  for (std::size_t slash = place.find('/', 1);; slash = place.find('/', slash + 1)) {
    const auto made = storage.make_folder(place.substr(0, slash), 0777);
    if (!made && made.error().code != EEXIST) return std::unexpected(made.error());
    if (slash == place.npos) break;
  }
  for (const AdapterFile& file : adapter_files()) {
    const std::string path = place + "/" + file.name;
    // Also when a file of that name was changed: what runs is what the name says.
    if (const auto there = host.read_file(path); there && *there == file.text) continue;
    TRY(write_file_atomically(path, file.text, {}, storage));
  }
  return storage.real_path(place);
}

}  // namespace gpuready::bench
