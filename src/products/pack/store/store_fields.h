// The fields of what a store writes down.
#pragma once

#include "pack/store/store.h"
#include "value/field.h"

namespace gpuready {

FIELDS_OF(pack::LoadResult) {
  visit.about("load_result", "What a load test found on one GPU, or on the CPU.");
  FIELD(device, "UUID of the GPU, or cpu.", kAlways);
  FIELD(name, "Name of the GPU.");
  FIELD(libraries, "Libraries that were loaded.");
  FIELD(modules, "Pieces of device code that were loaded.");
  FIELD(probes, "Probe kernels that were launched and wrote what they must.");
  FIELD(failure, "What could not be loaded first, and why; absent: all could.");
}

FIELDS_OF(pack::Installed) {
  visit.about("installed", "One installed version.");
  FIELD(number, "Number of the generation.");
  FIELD(name, "Name of the package.", kAlways);
  FIELD(version, "Version.", kAlways);
  FIELD(variant, "Variant.", kAlways);
  FIELD(installed_utc, "When it was installed.", kAlways);
  FIELD(from, "Folder or address that it came from.");
  FIELD(previous, "Generation that was current before.");
  FIELD(gpus, "GPUs of the machine then: compute capability and name.");
  FIELD(machine, "Driver and GPUs of the machine then, by its files.");
  FIELD(loads, "What the load test found.");
  FIELD(model, "Model that was chosen, and loaded where the release names a program for it.");
}

FIELDS_OF(pack::StoreState) {
  visit.about("store_state", "What a store remembers of a package.");
  FIELD(name, "Name of the package.");
  FIELD(key, "Trusted public key.");
  FIELD(highest_version, "Highest version that was ever seen.");
  FIELD(highest_sha256, "SHA-256 of its manifest.");
}

}  // namespace gpuready
