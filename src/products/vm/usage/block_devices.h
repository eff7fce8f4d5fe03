// Where block devices lie: down through partitions, RAID, device mapper, loop files and NVMe's
// multipath to the PCI functions that carry them.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "gpuready/machine.h"
#include "vm/strict_reader.h"

namespace gpuready::vm {

inline constexpr const char* kBlockDevices = "/sys/class/block/";

struct BlockPlace {
  std::set<PciAddress> functions;  // all on the way to it, of every layer and every path
  bool known = true;  // nothing else can carry it; hardware on no PCI bus is known, too
};

class BlockDevices {
 public:
  // Names of the block devices that a file or the device node at a path lies on.
  using OwnersOf = std::function<std::vector<std::string>(const std::string& path)>;

  BlockDevices(Host& host, StrictReader& strict);

  const std::vector<std::string>& names() const { return names_; }
  bool has(const std::string& name) const { return folders_.contains(name); }
  const std::string& folder_of(const std::string& name) const { return folders_.at(name); }
  // The name that device mapper's own name ("vg-root") stands for; "" when none.
  std::string mapped(const std::string& name) const;
  BlockPlace place_of(const std::string& name, const OwnersOf& owners_of) const;

 private:
  struct Walk {
    const OwnersOf& owners_of;
    std::map<std::string, bool> ended = {};  // what was met: whether all below it was looked at
  };
  BlockPlace walk(const std::string& name, Walk& way) const;
  BlockPlace of_layers(const std::vector<std::string>& below, Walk& way) const;
  BlockPlace of_multipath(const std::string& whole) const;
  BlockPlace of_virtual(const std::string& whole, Walk& way) const;
  BlockPlace below(const std::string& folder, Walk& way) const;

  Host& host_;
  std::vector<std::string> names_;
  std::map<std::string, std::string> folders_;  // where each is in sysfs
};

}  // namespace gpuready::vm
