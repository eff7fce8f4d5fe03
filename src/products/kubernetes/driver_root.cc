#include "kubernetes/driver_root.h"

namespace gpuready::kubernetes {

Result<std::string> nvml_below(Host& host, std::string root) {
  while (root.ends_with('/')) root.pop_back();
  // Debian and Ubuntu; Red Hat and SUSE; the Container-Optimized OS of Google.
  for (const char* folder :
       {"/usr/lib/x86_64-linux-gnu/", "/usr/lib/aarch64-linux-gnu/", "/usr/lib64/", "/lib64/"}) {
    std::string path = root + folder + "libnvidia-ml.so.1";
    if (host.exists(path)) return path;
  }
  return fail(ErrorKind::not_found, "--driver-root " + root +
                                        ": no libnvidia-ml.so.1 is below it: is the driver's "
                                        "container running, and is its root mounted here?");
}

}  // namespace gpuready::kubernetes
