// What of a machine's files and logs some rule reads: all that a redacted recording keeps of them.
#pragma once

#include "host/recording/recording.h"

namespace gpuready {

const RedactionRules& redaction_rules();

}  // namespace gpuready
