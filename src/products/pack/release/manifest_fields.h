// The fields of a manifest: they drive its JSON out and in.
#pragma once

#include "pack/release/manifest.h"
#include "value/document.h"

namespace gpuready {

FIELDS_OF(pack::Floors) {
  visit.about("floors", "The least of each that a variant runs with; absent: any.");
  FIELD(driver, "Version of NVIDIA's driver.");
  FIELD(cuda, "CUDA version of the driver.");
  FIELD(cudnn, "Version of cuDNN.");
  FIELD(glibc, "Version of glibc.");
  FIELD(cpu, "Level of the processor, such as x86-64-v3.");
}

FIELDS_OF(pack::PackedFile) {
  visit.about("file", "A file or symbolic link of a variant.");
  FIELD(path, "Path within the package.", kAlways);
  FIELD(link, "Text of a symbolic link; then it has no content.");
  FIELD(size_bytes, "Size.");
  FIELD(sha256, "SHA-256 of the content, in hexadecimal.", {.pattern = kSha256Pattern});
  FIELD(executable, "Whether it is installed with mode 0555, else 0444.");
  FIELD(offset_bytes, "Where its zstd frame begins in the archive.");
  FIELD(frame_bytes,
        "Size of the frame, which holds a tar header of 512 bytes, the content, and zeros up to a "
        "multiple of 512.");
}

FIELDS_OF(pack::ArchivePart) {
  visit.about("archive_part", "One published file of an archive.");
  FIELD(name, "Name beside the manifest.", kAlways);
  FIELD(size_bytes, "Size.");
  FIELD(sha256, "SHA-256, in hexadecimal.", {.always = true, .pattern = kSha256Pattern});
}

FIELDS_OF(pack::PieceFile) {
  visit.about(
      "piece_file",
      "Pieces of the large files that earlier releases lack, in zstd frames, and an index.");
  FIELD(name, "Name beside the manifest.", kAlways);
  FIELD(size_bytes, "Size.");
  FIELD(index_bytes, "Size of the index, which is its end.");
  FIELD(index_sha256, "SHA-256 of the index, in hexadecimal.",
        {.always = true, .pattern = kSha256Pattern});
}

FIELDS_OF(pack::CodeOfModules) {
  visit.about("code_modules", "Modules that exist in the same builds.");
  FIELD(targets,
        "The builds: sm_86, compute_80@8.4 (PTX and its ISA), gfx942; with ' zstd' where zstd "
        "compresses it, which drivers before 550.54.14 do not read.",
        kAlways);
  FIELD(count, "How many modules.", {.always = true, .least = 1, .most = 1'000'000'000});
  FIELD(bare, "They are in no container: the library chooses and unpacks by itself.",
        {.sparse = true});
}

FIELDS_OF(pack::CodeOfFile) {
  visit.about("code", "Device code of a file, as scanned.");
  FIELD(path, "Path within the package.", kAlways);
  FIELD(modules, "Its modules, by the builds that they exist in.", kAlways);
  FIELD(cuda, "The CUDA that it was built with or needs, which sets the least driver.");
}

FIELDS_OF(pack::ProbeArgument) {
  visit.about("probe_argument", "An argument of a probe kernel: one of these.",
              {.one_field = true});
  FIELD(words, "The address of memory that holds these 32-bit words.",
        {.most = 4294967295, .least_items = 1});
  FIELD(expect, "The address of memory that must hold these 32-bit words afterwards.",
        {.most = 4294967295, .least_items = 1});
  FIELD(u32, "A number of 32 bits.");
  FIELD(u64, "A number of 64 bits.");
}

FIELDS_OF(pack::Probe) {
  visit.about("probe", "A kernel that the load test launches once on each GPU.");
  FIELD(file, "File of the variant that holds it.", kAlways);
  FIELD(kernel, "Its name in the module.", kAlways);
  FIELD(blocks, "Blocks of the launch.", {.always = true, .least = 1});
  FIELD(threads, "Threads of a block.", {.always = true, .least = 1});
  FIELD(arguments, "Its arguments, in order.");
}

FIELDS_OF(pack::Variant) {
  visit.about("variant", "One build of the package.");
  FIELD(name, "Name.", kAlways);
  FIELD(architectures,
        "Compute capabilities that it is for: 75, 90a, 90+PTX, 90-virtual; absent: it is for the "
        "CPU.");
  FIELD(code, "Device code of each file that has some.");
  FIELD(floors, "The least of each that it runs with; absent: any.");
  FIELD(files, "All files and links, by path.", kAlways);
  FIELD(archive, "The published files that together are the archive, in order.", kAlways);
  FIELD(pieces, "The file from which an update fetches only what changed.");
  FIELD(probes, "Kernels that the load test launches once on each GPU.");
}

FIELDS_OF(pack::Model) {
  visit.about("model", "A model, chosen by the free memory of the GPU: the first that fits.");
  FIELD(name, "Name.", kAlways);
  FIELD(free_bytes, "Free device memory that it needs; 0: it runs on the CPU.");
  FIELD(load,
        "A program of the variant and its arguments: ends with 0 when it has loaded the "
        "model.");
  FIELD(seconds, "Time that the program may take.", {.least = 1});
  FIELD(memory_bytes, "Memory of the host that it may take; absent: what is free.");
}

FIELDS_OF(pack::TestMachine) {
  visit.about("test_machine", "A machine on which a release is tried before it is published.");
  FIELD(name, "Name.", kAlways);
  FIELD(gpus, "Kinds of its GPUs: 8.6, gfx942; absent: it has no GPU.");
  FIELD(driver, "Branch or version of its driver; absent: any.");
}

FIELDS_OF(pack::Manifest) {
  visit.about("manifest", "A release: what it holds, needs and where its files lie.");
  FIELD(name, "Name of the package: letters, digits, -, _ and dots.",
        {.always = true, .pattern = "^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$"});
  FIELD(version, "Digits and dots, higher with each release.",
        {.always = true, .pattern = "^[0-9]+(\\.[0-9]+)*$"});
  FIELD(created_utc, "When it was published.", kAlways);
  FIELD(expires_utc, "When it is no longer accepted.", kAlways);
  FIELD(variants, "The builds.", kAlways);
  FIELD(models, "Models, the most demanding first; the first whose memory is free is taken.");
  FIELD(machines, "Machines on which it is tried before it is published.");
}

DOCUMENT_OF(
    pack::Manifest, .name = "pack-manifest", .title = "The manifest of a release",
    .description = "What `gpuready pack publish` signs and `gpuready pack install` acts on.",
    .input = true);

}  // namespace gpuready
