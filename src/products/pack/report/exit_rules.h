// Exit codes of `gpuready pack`.
#pragma once

#include <span>

#include "pack/code/inspect.h"
#include "pack/release/build.h"
#include "pack/report/env_report.h"
#include "pack/report/explain_report.h"
#include "pack/report/store_report.h"
#include "pack/store/install.h"
#include "pack/store/select.h"
#include "report/exit_rules.h"

namespace gpuready {

Exit exit_of(const pack::Inspection& inspection);
Exit exit_of(const Explanation& explanation);
Exit exit_of(const pack::InstallOutcome& outcome);
Exit exit_of(const pack::Selection& selection);
Exit exit_of(const EnvReport& report);
Exit exit_of(std::span<const pack::BuiltVariant> variants);
Exit exit_of(std::span<const PackageState> packages);
// Of read_trusted_release(): 1 where the release is not trusted.
Exit exit_of_release_error(const Error& error);
// What the store's own files lack is not a mistake of the caller.
Exit exit_of_store_error(const Error& error);

}  // namespace gpuready
