// What the parts of the NVML probe share: the library, the writer, and what was asked for.
#pragma once

#include <string>
#include <vector>

#include "host/probe_document.h"
#include "probe/ask.h"
#include "probe/library.h"
#include "probe/nvml_types.h"

namespace gpuready::nvml {

struct Session {
  const ProbeLibrary& library;
  ProbeWriter& writer;
  bool full = false;   // also what is slow or seldom needed
  bool links = false;  // NVLink (18 links a GPU, several calls each)
  std::string driver_version;
};

// A GPU, or a MIG device of one. `id` is how calls' keys name it: NVML's index ("0"), or the PCI
// address when it was asked by address ("0000:17:00.0"); of a MIG device "0/mig1".
struct Target {
  Device handle = nullptr;
  std::string id;
};

// The symbol's function, or null after telling that the library lacks it.
template <class Function>
Function* function_or_missing(Session& session, const char* symbol, const std::string& key) {
  auto* function = session.library.function<Function>(symbol);
  if (function == nullptr) session.writer.missing(key);
  return function;
}

void ask_device(Session& session, const Target& target);      // nvml_queries.cc: the table
void ask_fields(Session& session, const Target& target);      // nvml_fields.cc
void ask_processes(Session& session, const Target& target);   // nvml_processes.cc
void ask_mig(Session& session, const Target& target);         // nvml_mig.cc
void ask_mig_device(Session& session, const Target& target);  // nvml_queries.cc: the MIG table
void ask_links(Session& session, const Target& target);       // nvml_links.cc
void ask_pairs(Session& session, const std::vector<Target>& targets);  // nvml_links.cc

}  // namespace gpuready::nvml
