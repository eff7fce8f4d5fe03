// The guest's init, from the first mount to the container's own program.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "vm/guest/config.h"
#include "vm/guest/root_folder.h"
#include "vm/guest/steps.h"

namespace gpuready::vm {

// As process 1. Does not return unless nothing can be started.
int run_as_init(const std::vector<std::string>& command);

// What the container's root starts with: the command that was given, the configured init, or the
// first of the usual programs that is there. Empty where there is none.
std::vector<std::string> command_of(const GuestConfig& config,
                                    const std::vector<std::string>& given, const RootFolder& root);

// What checks the GPUs in the root: its own gpuready, or the one that came with the bundle. Empty
// where there is none.
std::string check_program(const RootFolder& root);

// For an init that is somebody else's: modules, nodes and libraries into a root that is mounted.
struct PrepareOptions {
  std::string bundle, root;
  GuestConfig config;
  bool load = true;  // modules too
};
int prepare(const PrepareOptions& options, Steps& steps);

// Makes the driver's nodes below ROOT/dev. False when none could be made.
bool make_nodes(const std::string& root, Steps& steps);

// `gpuready check --level quick` in the root, where it is there; its output goes to
// ROOT/run/gpuready-check.txt.
void check_root(const std::string& root, Steps& steps);

// chroot(2), then the program: what a child of ours does on our behalf.
int run_in_root(const std::string& root, const std::string& program,
                const std::vector<std::string>& args);

}  // namespace gpuready::vm
