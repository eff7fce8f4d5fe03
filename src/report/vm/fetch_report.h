// What `vm drivers fetch` brought, as a document and on a terminal.
#pragma once

#include <string>

#include "report/envelope.h"
#include "report/report.h"
#include "vm/drivers/fetch.h"

namespace gpuready {

struct FetchReport {
  std::string url;  // without a password
  vm::FetchedDriver driver;
};
Json to_json(const FetchReport& report, const Envelope& envelope);  // schema/vm-fetch
std::string render_terminal(const FetchReport& report, const TerminalStyle& style);

}  // namespace gpuready
