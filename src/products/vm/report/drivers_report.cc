#include "vm/report/drivers_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/paths.h"
#include "base/text.h"
#include "base/units.h"
#include "report/terminal/terminal_text.h"

namespace gpuready {
namespace {

using vm::DriverBundle;
using vm::DriverFile;

std::uint64_t bytes_of(const DriverBundle& bundle) {
  std::uint64_t sum = 0;
  for (const auto& file : bundle.files) sum += file.size_bytes;
  return sum;
}

std::string serves(const DriverFile& file) {
  std::vector<std::string> names;
  for (const auto capability : file.capabilities) names.emplace_back(name_of(capability));
  return names.empty() ? "all" : join(names, ", ");
}

std::string detail(const DriverFile& file) {
  if (file.module)
    return fmt::format("for {}{}", file.module->kernel_release,
                       file.module->is_signed ? ", signed" : "");
  return file.soname;
}

Table file_table(const DriverBundle& bundle) {
  Table table;
  table.columns = {{"File"},
                   {"Kind", Align::left, false, 1},
                   {"Bytes", Align::right},
                   {"Serves", Align::left, true},
                   {"Name", Align::left, false, 2}};
  for (const auto& file : bundle.files)
    table.rows.push_back({{std::string(base_name(file.path))},
                          {std::string(name_of(file.kind))},
                          {format_bytes(file.size_bytes)},
                          {serves(file)},
                          {detail(file)}});
  return table;
}

std::string summary(const vm::BundleEntry& entry) {
  const auto& bundle = entry.bundle;
  return fmt::format(
      "{}: driver {} for {}, {} files, {}; modules for {}{}{}", entry.folder, bundle.driver_version,
      bundle.machine.empty() ? "?" : bundle.machine, bundle.files.size(),
      format_bytes(bytes_of(bundle)),
      bundle.kernel_releases.empty() ? "no kernel" : join(bundle.kernel_releases, ", "),
      bundle.open_modules ? " (open)" : "", entry.current ? "; current" : "");
}

}  // namespace

std::string render_terminal(const DriversReport& report, const TerminalStyle& style) {
  TerminalText out(style);
  for (const auto& problem : report.problems) out.paragraph(0, {"wrong: ", Ink::bad}, problem);
  if (style.quiet) return out.take();
  for (const auto& entry : report.bundles) {
    out.blank();
    if (report.bundles.size() == 1) {
      out.table(0, file_table(entry.bundle));
      out.blank();
    }
    out.paragraph(0, {""}, summary(entry));
    if (report.bundles.size() == 1)
      for (const auto& warning : entry.bundle.warnings)
        out.paragraph(0, {"note: ", Ink::warn}, warning);
  }
  if (report.bundles.empty() && report.problems.empty())
    out.paragraph(0, {""}, "No driver bundle was found.");
  return out.take();
}

std::string render_terminal(const CompatReport& report, const TerminalStyle& style) {
  TerminalText out(style);
  out.paragraph(0, {""}, report.cuda.explanation);
  if (report.gpu) out.paragraph(0, {""}, report.gpu->explanation);
  for (const auto& library : report.image_libraries)
    out.paragraph(
        0, {""},
        fmt::format("The image has {}{}{}.", one_line(library.path),
                    library.version.empty() ? ", whose name does not tell its driver"
                                            : " of driver " + library.version,
                    library.compat
                        ? ", of CUDA's compatibility package: it serves programs that look there "
                          "first"
                    : library.version == report.cuda.driver_version
                        ? ""
                        : fmt::format("; the loader may take it instead of {}",
                                      report.cuda.driver_version)));
  const bool brings_compat = std::ranges::any_of(report.image_libraries, &vm::ImageLibrary::compat);
  if (brings_compat && report.gpu && report.gpu->forward_compatible == false)
    out.paragraph(0, {""},
                  fmt::format("Forward compatibility is for data-center GPUs: on {} programs that "
                              "load the image's compatibility package stop with CUDA error 804. "
                              "Take it out of the image, or out of the loader's way.",
                              report.gpu->gpu));
  if (report.rootfs && report.image_libraries.empty())
    out.paragraph(
        0, {""},
        fmt::format("{} brings no driver libraries of its own.", one_line(*report.rootfs)));
  return out.take();
}

}  // namespace gpuready
