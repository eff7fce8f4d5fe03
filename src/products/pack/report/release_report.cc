#include "pack/report/release_report.h"

#include <fmt/format.h>

#include <set>

#include "base/units.h"
#include "pack/rules/releases.h"
#include "report/terminal/terminal_text.h"

namespace gpuready {
namespace {

using namespace pack;

void variant_table(TerminalText& out, const std::vector<const Variant*>& variants,
                   const std::vector<std::string>& compilers) {
  Table table;
  table.columns = {
      {"Variant"}, {"Files", Align::right}, {"Content", Align::right}, {"Archive", Align::right}};
  if (!compilers.empty()) table.columns.push_back({"CUDA that compiles it", Align::left, false, 1});
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const auto& variant = *variants[i];
    table.rows.push_back({{variant.name, Ink::bold},
                          {std::to_string(variant.files.size())},
                          {format_bytes(variant.content_bytes())},
                          {format_bytes(variant.archive_bytes())}});
    if (!compilers.empty()) table.rows.back().push_back({compilers[i]});
  }
  out.table(2, table);
  // Whole at any width: a table would cut it.
  for (const auto* variant : variants)
    out.paragraph(2, {variant->name + ": ", Ink::bold},
                  variant->for_cpu() ? "CPU" : join(variant->architectures, " "));
}

// The bytes of all variants, and what they would be without what they share.
std::pair<std::uint64_t, std::uint64_t> sizes_of(const std::vector<const Variant*>& variants) {
  std::uint64_t all = 0, once = 0;
  std::set<std::string_view> seen;
  for (const auto* variant : variants)
    for (const auto& file : variant->files) {
      all += file.size_bytes;
      if (file.sha256 && seen.insert(*file.sha256).second) once += file.size_bytes;
    }
  return {all, once};
}

}  // namespace

std::optional<CudaReleases> compilers_of(const Variant& variant) {
  return variant.for_cpu() ? std::nullopt : pack::compilers_of(variant.architectures);
}

std::string releases_text(const std::optional<CudaReleases>& releases) {
  if (!releases) return "none";
  const auto from = version_text(releases->from);
  return releases->to ? fmt::format("{} to {}", from, version_text(*releases->to))
                      : from + " or newer";
}

std::string render_terminal(const KeyFiles& files, const TerminalStyle& style) {
  TerminalText out(style);
  if (!style.quiet)
    out.paragraph(
        0, {},
        fmt::format("Key {}: the private half is in {} (keep it, and keep it secret), the "
                    "public half in {}. Whoever installs trusts this public key:",
                    files.key.id_text(), files.secret_path, files.public_path));
  out.command(style.quiet ? 0 : 2, files.key.text());
  return out.take();
}

std::string render_terminal(const BuildReport& report, const TerminalStyle& style) {
  TerminalText out(style);
  if (!style.quiet) out.heading(fmt::format("{} {}", report.name, report.version));
  std::vector<const Variant*> variants;
  std::vector<std::string> compilers;
  for (const auto& built : report.variants) {
    if (!problems_of(built).empty()) continue;  // it has no archive
    variants.push_back(&built.variant);
    compilers.push_back(built.variant.for_cpu() ? "-" : releases_text(compilers_of(built.variant)));
  }
  if (!style.quiet && !variants.empty()) variant_table(out, variants, compilers);
  for (const auto& built : report.variants)
    for (const auto& wrong : problems_of(built))
      out.paragraph(2, {out.mark(Tone::bad) + " ", Ink::bad},
                    fmt::format("{}: {}", built.variant.name, wrong));
  if (style.quiet) return out.take();
  if (variants.size() < report.variants.size())
    out.paragraph(2, {},
                  fmt::format("{} of {} variants have an archive. Correct the others, and build "
                              "them again.",
                              variants.size(), report.variants.size()));
  if (variants.empty()) return out.take();
  const auto [all, once] = sizes_of(variants);
  out.paragraph(2, {},
                fmt::format("{} hold {}; each content once, {}. In {}.",
                            variants.size() < report.variants.size() ? "They" : "All variants",
                            format_bytes(all), format_bytes(once), report.folder));
  return out.take();
}

std::string render_terminal(const PublishReport& report, const TerminalStyle& style) {
  TerminalText out(style);
  const auto& manifest = report.published.manifest;
  out.heading(
      fmt::format("{} {} is published in {}", manifest.name, manifest.version, report.folder));
  std::vector<const Variant*> variants;
  for (const auto& variant : manifest.variants) variants.push_back(&variant);
  if (!style.quiet) variant_table(out, variants, {});
  for (const auto& gap : report.published.gaps)
    out.paragraph(2, {out.mark(Tone::warn) + " ", Ink::warn}, gap);
  if (style.quiet) return out.take();
  out.paragraph(
      2, {},
      fmt::format(
          "Signed by key {}, valid until {}. Upload all files of the folder; users install by:",
          report.key.id_text(), manifest.expires_utc));
  out.command(4, fmt::format("gpuready pack install URL --key {}", report.key.text()));
  if (report.oci_layout) {
    out.paragraph(2, {}, "For a container registry:");
    out.command(4, fmt::format("skopeo copy --preserve-digests oci:{0}:{1} docker://HOST/NAME:{1}",
                               *report.oci_layout, manifest.version));
  }
  return out.take();
}

}  // namespace gpuready
