#include "bench/native/cublaslt_paths.h"

#include "base/text.h"

namespace gpuready::bench {

std::vector<std::string> cublaslt_paths(Host& host) {
  std::vector<std::string> folders;
  const std::string path = host.environment("PATH").value_or("");
  for (const std::string_view bin : split(path, ":")) {
    if (!bin.starts_with('/') || !host.exists(std::string(bin) + "/python3")) continue;
    const std::string lib = std::string(bin.substr(0, bin.rfind('/'))) + "/lib";
    const auto entries = host.list_directory(lib);
    if (!entries) continue;
    for (const std::string& entry : *entries) {
      if (!entry.starts_with("python3")) continue;
      for (const char* packages : {"/site-packages", "/dist-packages"})
        for (const char* package : {"/nvidia/cu13/lib", "/nvidia/cublas/lib"})
          folders.push_back(lib + "/" + entry + packages + package);
    }
  }
  folders.emplace_back("/usr/local/cuda/lib64");
  std::vector<std::string> files;
  for (const char* name : {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11"})
    for (const std::string& folder : folders) {
      std::string file = folder + "/" + name;
      if (host.exists(file)) files.push_back(std::move(file));
    }
  return files;
}

std::vector<std::string> cublaslt_paths() { return cublaslt_paths(*make_live_host()); }

}  // namespace gpuready::bench
