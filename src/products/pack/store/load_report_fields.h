// The fields of a load report.
#pragma once

#include "pack/rules/can_load.h"
#include "pack/store/load_report.h"
#include "value/document.h"

namespace gpuready {

FIELDS_OF(pack::ReportedGpu) {
  visit.about("reported_gpu", "A GPU of the machine.");
  FIELD(name, "Name.");
  FIELD(uuid, "UUID.");
  FIELD(target, "Compute capability, or AMD's target.", kAlways);
}

FIELDS_OF(pack::LoadedCode) {
  visit.about("loaded_code", "Device code of a file that the driver took.");
  FIELD(path, "Path within the package.", kAlways);
  FIELD(pieces, "Pieces of it that were loaded.");
  FIELD(by_cubin, "Modules whose machine code loads by the rules.");
  FIELD(by_jit, "Modules whose PTX the driver compiles by the rules.");
}

FIELDS_OF(pack::ReportedLoad) {
  visit.about("reported_load", "What was loaded for one GPU, or for the CPU.");
  FIELD(device, "UUID of the GPU, or cpu.", kAlways);
  FIELD(variant, "Variant.", kAlways);
  FIELD(libraries, "Libraries that were opened, by path within the package.");
  FIELD(code, "Device code that was loaded.");
  FIELD(kernels, "Probe kernels that were launched and wrote what they must.");
  FIELD(failure, "What could not be loaded first, and why; absent: all could.");
}

FIELDS_OF(pack::LoadReport) {
  visit.about("load_report", "What an installation proved on one machine.");
  FIELD(name, "Name of the package.", kAlways);
  FIELD(version, "Version.", kAlways);
  FIELD(variant, "Variant that was chosen for the machine, or several: modern+latest.", kAlways);
  FIELD(content_sha256, "SHA-256 over the paths and contents of the variant.",
        {.always = true, .pattern = kSha256Pattern});
  FIELD(created_utc, "When it was tried.", kAlways);
  FIELD(gpuready, "Version of gpuready.");
  FIELD(driver, "NVIDIA's driver.");
  FIELD(cuda, "CUDA version of the driver.");
  FIELD(glibc, "glibc.");
  FIELD(cpu, "Level of the processor.");
  FIELD(gpus, "GPUs that programs can use.");
  FIELD(loads, "What was loaded, on each GPU or on the CPU.", kAlways);
}

DOCUMENT_OF(pack::LoadReport, .name = "pack-load-report", .title = "A load report",
            .description =
                "What `gpuready pack install --report` writes and `gpuready pack publish "
                "--require-proof` reads: what an installation proved on one machine.",
            .input = true);

}  // namespace gpuready
