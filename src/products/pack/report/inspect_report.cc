#include "pack/report/inspect_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "base/units.h"
#include "pack/report/code_text.h"
#include "pack/rules/releases.h"
#include "report/terminal/terminal_text.h"

namespace gpuready {
namespace {

using namespace pack;

std::string carrier_text(Carrier carrier) {
  switch (carrier) {
    case Carrier::fat_binary:
      return "fat binary";
    case Carrier::cubin:
      return "bare cubin";
    case Carrier::zstd_cubin:
      return "bare, in zstd";
    case Carrier::ptx_text:
      return "PTX text";
    case Carrier::lto_ir:
      return "bare LTO-IR";
    case Carrier::offload_bundle:
      return "offload bundle";
    case Carrier::amd_code:
      return "bare code object";
  }
  return {};
}

std::string note_of(const DeviceCode& code) {
  if (code.empty) return "no kernel";
  if (code.relocatable) return "to be linked";
  if (code.kind == CodeKind::lto_ir) return "linker input";
  if (code.kind == CodeKind::tile_ir) return "tile IR";
  return code.suffix_unknown ? "a or f?" : "";
}

// Each kind of code once, with how many carriers have it.
Table code_table(const FileReport& file) {
  std::map<std::pair<DeviceCode, Carrier>, std::pair<std::uint64_t, std::string>> rows;
  for (const CarrierGroup& group : file.groups)
    for (const DeviceCode& code : group.codes) {
      auto& [count, sections] = rows[{code, group.carrier}];
      count += group.count;
      if (!group.section.empty() && !contains(sections, group.section))
        sections += (sections.empty() ? "" : " ") + group.section;
    }
  Table table;
  table.columns = {{"Code"},
                   {"PTX"},
                   {"Packed", Align::left, false, 3},
                   {"Pieces", Align::right},
                   {"Kept as", Align::left, false, 2},
                   {"Section", Align::left, true, 1},
                   {"Note"}};
  for (const auto& [key, value] : rows) {
    const auto& [code, carrier] = key;
    table.rows.push_back(
        {{code.target()},
         {code.ptx_isa ? version_text(*code.ptx_isa) : ""},
         {code.compression == Compression::none ? "" : std::string(name_of(code.compression))},
         {std::to_string(value.first)},
         {carrier_text(carrier)},
         {value.second},
         {note_of(code)}});
  }
  return table;
}

// GPUs in their order, those beside each other of which the same is said in one row.
Table runs_table(const Inspection& inspection) {
  struct Row {
    TargetGpu first, last;
    std::string runs, how;
  };
  std::vector<Row> rows;
  const auto codes = code_of(inspection);
  for (const TargetGpu& gpu : interesting_gpus(inspection.files)) {
    std::uint64_t all = 0, part = 0, none = 0, cubin = 0, jit = 0, modules = 0;
    for (const FileCode& code : codes) {
      const FileAnswer answer = explain(code, gpu, {});
      all += answer.runs == Runs::all;
      part += answer.runs == Runs::part;
      none += answer.runs == Runs::none;
      cubin += answer.by_cubin;
      jit += answer.by_jit;
      modules += answer.modules;
    }
    Row row{gpu, gpu, {}, {}};
    if (all + part + none > 1) {
      row.runs = fmt::format("{} of {}", counted(all + part, "file"), all + part + none);
    } else {
      row.runs = none > 0 ? "no" : part > 0 ? "in part" : "yes";
    }
    row.how = fmt::format("{} of {} by machine code{}", cubin, modules,
                          jit > 0 ? fmt::format(", {} by PTX", jit) : "");
    if (cubin + jit == 0) row.how = "no code for it";
    if (!rows.empty() && rows.back().runs == row.runs && rows.back().how == row.how &&
        rows.back().last.cuda.has_value() == gpu.cuda.has_value()) {
      rows.back().last = gpu;
    } else {
      rows.push_back(std::move(row));
    }
  }
  Table table;
  table.columns = {{"GPU"}, {"Runs"}, {"Modules that load", Align::left, true}};
  for (const Row& row : rows)
    table.rows.push_back(
        {{row.first == row.last ? row.first.name() : row.first.name() + " to " + row.last.name()},
         {row.runs, row.runs == "no" ? Ink::warn : Ink::plain},
         {row.how}});
  return table;
}

// The archive and folders that all files are in: "torch.whl!torch/lib/".
std::string common_folder(std::span<const FileReport> files) {
  std::string common = files.front().path;
  for (const FileReport& file : files)
    common.resize(
        static_cast<std::size_t>(std::ranges::mismatch(common, file.path).in1 - common.begin()));
  return common.substr(0, common.find_last_of("/!") + 1);
}

Table file_table(std::span<const FileReport> files, std::string_view folder) {
  Table table;
  table.columns = {{"File", Align::left, true},
                   {"Size", Align::right, false, 1},
                   {"Device code", Align::right, false, 2},
                   {"For", Align::left, true}};
  for (const FileReport& file : files)
    table.rows.push_back({{file.path.substr(folder.size())},
                          {format_bytes(file.bytes)},
                          {file.has_code() ? format_bytes(file.code_bytes) : "none"},
                          {targets_text(file)}});
  return table;
}

void write_elf(TerminalText& out, const ElfFacts& elf) {
  const auto list = [&](const char* lead, const std::vector<std::string>& names) {
    if (!names.empty()) out.paragraph(2, {fmt::format("{:<9}", lead)}, join(names, ", "));
  };
  list("needs", elf.needed);
  list(elf.rpath ? "rpath" : "runpath", elf.run_path);
  std::vector<std::string> versions;
  for (const auto& [name, version] : elf.symbol_versions)
    if (name == "GLIBC" || name == "GLIBCXX" || name == "CXXABI")
      versions.push_back(fmt::format("{} {}", name, version_text(version)));
  list("symbols", versions);
}

void write_file(TerminalText& out, const FileReport& file) {
  std::string what = fmt::format("{}: {}", file.path, format_bytes(file.bytes));
  if (file.elf)
    what += fmt::format(", {} {}", file.elf->machine,
                        file.elf->type == "shared" ? "library" : file.elf->type);
  if (!file.foreign.empty()) what += ", " + file.foreign + ", which Linux does not load";
  if (file.has_code()) what += fmt::format(", {} of device code", format_bytes(file.code_bytes));
  out.heading(what);
  if (file.elf) write_elf(out, *file.elf);
  if (file.has_code()) {
    out.blank();
    out.table(2, code_table(file));
  }
  out.blank();
}

void write_problems(TerminalText& out, const Inspection& inspection) {
  for (const auto& problem : inspection.problems) out.paragraph(0, {"wrong: ", Ink::warn}, problem);
  for (const FileReport& file : inspection.files)
    for (const auto& problem : file.problems)
      out.paragraph(0, {"wrong: ", Ink::warn}, file.path + ": " + problem);
}

}  // namespace

std::string render_terminal(const Inspection& inspection, const TerminalStyle& style,
                            bool details) {
  TerminalText out(style);
  write_problems(out, inspection);
  if (style.quiet) return out.take();
  out.blank();
  const auto with_code = std::ranges::count_if(inspection.files, &FileReport::has_code);
  if (inspection.files.size() > 1 && !details) {
    const std::string folder = common_folder(inspection.files);
    if (!folder.empty()) out.heading(folder);
    out.table(0, file_table(inspection.files, folder));
    out.blank();
  } else {
    for (const FileReport& file : inspection.files) write_file(out, file);
  }
  if (with_code > 0) {
    out.table(0, runs_table(inspection));
    out.blank();
  }
  out.paragraph(
      0, {""},
      fmt::format("{} of {} read, {} with device code.", counted(inspection.files_read, "file"),
                  format_bytes(inspection.bytes_read), with_code));
  if (!inspection.hidden.empty())
    out.paragraph(0, {""},
                  fmt::format("Left out: {} of lower layers, which a later layer of the image "
                              "deletes or replaces.",
                              counted(inspection.hidden.size(), "file")));
  if (with_code > 0)
    out.paragraph(0, {""},
                  "A module is a container that holds one program in several builds. PTX needs a "
                  "driver that compiles it: `gpuready pack explain` says which.");
  return out.take();
}

}  // namespace gpuready
