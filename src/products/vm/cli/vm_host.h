// What the commands of `vm` share.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/options.h"
#include "vm/operations.h"
#include "vm/report/make_reports.h"

namespace gpuready::cli {

// vm::devices_named() of the machine that the options choose.
Result<vm::NamedDevices> devices_of(const std::vector<std::string>& names, const Globals& globals);

// The options of every command that reads the machine: --json, --replay, --quiet, --no-color.
void add_vm_output(CommandSpec& command, Globals& globals);

// 3 if what was named is missing, else 2.
Exit exit_of_lookup(const Error& error);

// begin_envelope(), without this machine's ids where a recording is replayed.
Envelope begin_vm_envelope(std::string command, const Globals& globals);

}  // namespace gpuready::cli
