// The fields of a manifest: they drive its JSON out and in.
#pragma once

#include "pack/release/manifest.h"
#include "value/field.h"

namespace gpuready {

template <class Visitor>
constexpr void visit_fields(Visitor& visit, Of<pack::Floors>) {
  using T = pack::Floors;
  visit.about("floors", "The least of each that a variant runs with; absent: any.");
  FIELD(driver, "Version of NVIDIA's driver.");
  FIELD(cuda, "CUDA version of the driver.");
  FIELD(cudnn, "cuDNN version that the variant needs.");
  FIELD(glibc, "Version of glibc.");
  FIELD(cpu, "Level of the processor, such as x86-64-v3.");
}

template <class Visitor>
constexpr void visit_fields(Visitor& visit, Of<pack::PackedFile>) {
  using T = pack::PackedFile;
  visit.about("file", "A file or symbolic link of a variant.");
  FIELD(path, "Path within the package.", {.always = true});
  FIELD(link, "Text of a symbolic link.");
  FIELD(size_bytes, "Size.");
  FIELD(sha256, "SHA-256 of the file, in hexadecimal.");
  FIELD(executable, "Whether it is installed with mode 0555, else 0444.");
  FIELD(offset_bytes, "Where its zstd frame begins in the archive.");
  FIELD(frame_bytes, "Size of that frame: a tar header of 512 bytes, the file, zeros to 512.");
}

template <class Visitor>
constexpr void visit_fields(Visitor& visit, Of<pack::ArchivePart>) {
  using T = pack::ArchivePart;
  visit.about("archive_part", "One published file of an archive.");
  FIELD(name, "Name beside the manifest.", {.always = true});
  FIELD(size_bytes, "Size.");
  FIELD(sha256, "SHA-256, in hexadecimal.", {.always = true});
}

template <class Visitor>
constexpr void visit_fields(Visitor& visit, Of<pack::CodeOfFile>) {
  using T = pack::CodeOfFile;
  visit.about("code", "Device code of a file, as scanned.");
  FIELD(path, "Path within the package.", {.always = true});
  FIELD(targets, "What it runs on: sm_86, compute_80@8.4 (PTX and its ISA), gfx942.");
  FIELD(compressed, "Whether zstd compresses it, which drivers before 550 do not read.");
}

template <class Visitor>
constexpr void visit_fields(Visitor& visit, Of<pack::ProbeArgument>) {
  using T = pack::ProbeArgument;
  visit.about("probe_argument", "An argument of a probe kernel: one of these.");
  FIELD(words, "The address of memory that holds these 32-bit words.");
  FIELD(expect, "The address of memory that must hold these 32-bit words afterwards.");
  FIELD(u32, "A number of 32 bits.");
  FIELD(u64, "A number of 64 bits.");
}

template <class Visitor>
constexpr void visit_fields(Visitor& visit, Of<pack::Probe>) {
  using T = pack::Probe;
  visit.about("probe", "A kernel that the load test launches once on each GPU.");
  FIELD(file, "File of the variant that holds it.", {.always = true});
  FIELD(kernel, "Its name in the module.", {.always = true});
  FIELD(blocks, "Blocks of the launch.", {.always = true});
  FIELD(threads, "Threads of a block.", {.always = true});
  FIELD(arguments, "Its arguments, in order.");
}

template <class Visitor>
constexpr void visit_fields(Visitor& visit, Of<pack::Variant>) {
  using T = pack::Variant;
  visit.about("variant", "One build of the package.");
  FIELD(name, "Name.", {.always = true});
  FIELD(architectures, "Compute capabilities that it is for: 75, 90a, 90+PTX; none: the CPU.");
  FIELD(code, "Device code of each file that has some.");
  FIELD(floors, "What the machine needs.");
  FIELD(files, "All files and links, by path.", {.always = true});
  FIELD(archive, "The published files that hold them, in order.", {.always = true});
  FIELD(probes, "Kernels that the load test launches.");
}

template <class Visitor>
constexpr void visit_fields(Visitor& visit, Of<pack::Model>) {
  using T = pack::Model;
  visit.about("model", "A model, chosen by the free memory of the GPU: the first that fits.");
  FIELD(name, "Name.", {.always = true});
  FIELD(free_bytes, "Free device memory that it needs; 0: it runs on the CPU.");
  FIELD(load, "A program of the variant and its arguments: ends with 0 when it has loaded it.");
  FIELD(seconds, "Time that the program may take.");
  FIELD(memory_bytes, "Memory of the host that it may take; absent: what is free.");
}

template <class Visitor>
constexpr void visit_fields(Visitor& visit, Of<pack::TestMachine>) {
  using T = pack::TestMachine;
  visit.about("test_machine", "A machine on which a release is tried before it is published.");
  FIELD(name, "Name.", {.always = true});
  FIELD(gpus, "Kinds of its GPUs: 8.6, gfx942; none: it has no GPU.");
  FIELD(driver, "Branch or version of its driver; absent: any.");
}

template <class Visitor>
constexpr void visit_fields(Visitor& visit, Of<pack::Manifest>) {
  using T = pack::Manifest;
  visit.about("manifest", "A release: its content, requirements and the places of its files.");
  FIELD(name, "Name of the package.", {.always = true});
  FIELD(version, "Version: digits and dots, higher with each release.", {.always = true});
  FIELD(created_utc, "When it was published.", {.always = true});
  FIELD(expires_utc, "When it is no longer accepted.", {.always = true});
  FIELD(variants, "The builds.", {.always = true});
  FIELD(models, "Models, the most demanding first.");
  FIELD(machines, "Machines on which it is tried before it is published.");
}

}  // namespace gpuready
