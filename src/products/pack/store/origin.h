// Where a release comes from.
#pragma once

#include "host/host.h"
#include "http/origin.h"

namespace gpuready::pack {

// `where`: a folder, a manifest.json in one, the same as http:// or https:// or file:// URL, or
// oci://HOST/NAME:TAG (oci+http:// without TLS).
Result<std::unique_ptr<Origin>> open_origin(Host& host, std::string where,
                                            const OriginOptions& options = {});
Result<std::unique_ptr<Origin>> open_oci_origin(Host& host, const std::string& where,
                                                OriginOptions options);

}  // namespace gpuready::pack
