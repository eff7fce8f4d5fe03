// What `vm drivers fetch` brought, as a document and on a terminal.
#pragma once

#include <string>

#include "report/report.h"
#include "value/envelope.h"
#include "vm/drivers/fetch.h"

namespace gpuready {

struct FetchReport {
  std::string url;  // without a password
  vm::FetchedDriver driver;
};
std::string render_terminal(const FetchReport& report, const TerminalStyle& style);

}  // namespace gpuready
