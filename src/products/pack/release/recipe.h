// pack.toml: what a maintainer writes to make a release. docs/pack.md describes it for people.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "pack/code/target.h"
#include "pack/release/manifest.h"
#include "pack/release/minisign.h"

namespace gpuready::pack {

// "86", "90a", "90+PTX", "90-virtual": machine code for one architecture, with PTX for later ones,
// or PTX alone.
struct Architecture {
  CudaTarget target;
  bool cubin = true, ptx = false;
  bool operator==(const Architecture&) const = default;
};
std::optional<Architecture> parse_architecture(std::string_view text);

struct VariantRecipe {
  std::string name;
  std::vector<std::string> architectures;  // none: it is for the CPU
  bool architectures_from_code = false;    // what the scan finds is declared
  std::string folder;                      // that holds its files, built already or by `command`
  std::vector<std::string> command;        // of the build; empty: the folder is ready
  std::vector<std::string> include;        // patterns of paths; none: all
  std::vector<std::string> exclude;
  Floors floors;
  std::vector<Probe> probes = {};  // kernels that the load test launches
};

// A file that is published although the check of the folder finds fault with it.
struct Waiver {
  std::string file;  // a pattern of paths
  std::string reason;

  std::string text() const { return "accepted: " + reason; }  // at the end of what is waived
};
// "lib/libx.so=the machine has it"
Result<Waiver> parse_waiver(std::string_view text);

struct Recipe {
  std::string name, version;
  unsigned expires_days = 365;
  std::vector<VariantRecipe> variants;
  std::vector<Model> models;
  // Libraries that a variant may need and does not bring, beside glibc's and the driver's.
  std::vector<std::string> system_libraries;
  std::vector<Waiver> waivers = {};
  // What `publish --require-proof` wants load reports of, and whose signatures it believes.
  std::vector<TestMachine> machines;
  std::vector<PublicKey> report_keys;
};

// Paths in it are relative to `folder`, that of the file. Of those that are not used variants may
// share one.
Result<Recipe> parse_recipe(std::string_view text, std::string_view name, const std::string& folder,
                            bool uses_folders = true);
// Those variants, or all where none is named, in the recipe's order. `recipe_name`: its file.
Result<std::vector<VariantRecipe>> variants_named(const Recipe& recipe,
                                                  const std::vector<std::string>& names,
                                                  const std::string& recipe_name);

// What a build command finds in its environment.
struct ArchitectureForms {
  std::string cmake;    // CUDAARCHS, CMAKE_CUDA_ARCHITECTURES: "75-real;90"
  std::string torch;    // TORCH_CUDA_ARCH_LIST: "7.5;9.0+PTX"
  std::string gencode;  // NVCC_GENCODE: "-gencode=arch=compute_75,code=sm_75 ..."
};
ArchitectureForms forms_of(const std::vector<std::string>& architectures);

// The CUDA releases whose nvcc knows all these architectures; "to" is absent while the newest known
// does. Nothing: no release knows them all.
struct CudaReleases {
  Version from;
  std::optional<Version> to;
};
std::optional<CudaReleases> compilers_of(const std::vector<std::string>& architectures);

// "lib/**", "*.so*", "?": `*` and `?` stay within a name, `**` does not.
bool matches(std::string_view pattern, std::string_view path);

}  // namespace gpuready::pack
