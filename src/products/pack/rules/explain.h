// What a file would do on a GPU: how much of its code loads, why the rest does not, and the
// smallest change that would help. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/named.h"
#include "pack/code/inspect.h"
#include "pack/rules/can_load.h"

namespace gpuready::pack {

enum class Runs {
  all,      // every module loads
  part,     // some do; that the others are not needed here, only a load test can prove
  none,     // no module does
  no_code,  // the file holds no code that could be loaded anywhere
};

// What would make a module load that does not: a newer driver with the code as it is, or another
// build.
struct Change {
  std::string driver;  // "590.44.01", or a CUDA release where its driver is not known
  std::string build;   // what to build for: "sm_86", "gfx942"
  std::string text;    // one clause that says both
  bool empty() const { return text.empty(); }
  bool operator==(const Change&) const = default;
};

// Containers that hold the same builds of one module each. Where a file has no containers, its
// bare pieces together are one module, which the library chooses from by itself.
struct Modules {
  std::vector<DeviceCode> codes;
  std::uint64_t count = 1;
  bool in_container = true;
};
// What decides of a file: the same from a scan and from a release's manifest.
struct FileCode {
  std::string path;
  // A container without any code that could be loaded is not among them.
  std::vector<Modules> modules;
  std::optional<Version> cuda;   // that it was built with or needs, which sets the least driver
  std::optional<Version> cudnn;  // that it belongs to, which sets the least GPU
};
FileCode code_of(const FileReport& file);
// Of each of its files, in their order.
std::vector<FileCode> code_of(const Inspection& inspection);
// Gives the parts of cuDNN the version that is declared, else what the names of their package tell:
// of several, that with the longest common path. Where none of the files is a part, all depend on
// it.
void set_cudnn(std::vector<FileCode>& files, std::span<const std::string> names,
               const std::optional<Version>& declared = {});

struct FileAnswer {
  Runs runs = Runs::no_code;
  std::uint64_t modules = 0, by_cubin = 0, by_jit = 0;
  std::uint64_t loads() const { return by_cubin + by_jit; }
  // Of the code that is taken: its compute capabilities, 86 for 8.6, over all modules.
  std::uint64_t taken = 0;
  struct Reason {
    Obstacle obstacle;
    std::string because;
    std::uint64_t modules;
    bool operator==(const Reason&) const = default;
  };
  std::vector<Reason>
      reasons;         // of modules that do not load, the most frequent first, three at most
  std::string driver;  // why no code at all loads with this driver
  Change change;       // where not all modules load
  bool operator==(const FileAnswer&) const = default;
  // Where no module loads, why: of the driver, else of most modules.
  std::string why_none() const;
};
FileAnswer explain(const FileCode& file, const TargetGpu& gpu, const Driver& driver);

// Every GPU that is distinguished by what files hold for it: all of NVIDIA's from 5.0 on, and older
// ones and AMD's that the files name.
std::vector<TargetGpu> interesting_gpus(std::span<const FileReport> files);

}  // namespace gpuready::pack

namespace gpuready {
NAMES_OF(pack::Runs, "all", "part", "none", "no_code");
}  // namespace gpuready
