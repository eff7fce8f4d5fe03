#include "host/recording/recording.h"

#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>
#include <algorithm>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <tuple>

#include "base/text.h"
#include "host/atomic_file.h"
#include "host/recording/base64.h"
#include "host/recording/recording_archive.h"
#include "host/recording/recording_values.h"
#include "host/recording/tar_writer.h"

namespace gpuready {
namespace {

RecordedFailure failure(int number, const std::string& path) {
  const auto error = fail_errno(path, number).error();
  return {error.kind, error.message, error.code};
}

Recording sample() {
  Recording r;
  r.tool_version = "1.2.3";
  r.created_utc = "2026-03-01T12:00:00Z";
  r.description = "a machine";
  r.files["/sys/a/vendor"] = "0x10de\n";
  r.files["/sys/a/config"] = std::string("\0\xff\x01", 3);
  r.files["/sys/a/gone"] = failure(ENODEV, "/sys/a/gone");
  r.files["/odd/../name"] = "odd";
  r.files["/sys/empty"] = "";
  r.links["/sys/a/driver"] = "../../bus/nvidia";
  r.links["/sys/b/driver"] = failure(ENOENT, "/sys/b/driver");
  r.real_paths["/lib/x.so.1"] = "/lib/x.so.1.2";
  r.directories["/sys"] = std::vector<std::string>{"a", "empty"};
  r.directories["/root"] = failure(EACCES, "/root");
  r.statuses["/dev/nvidia0"] = FileStatus{FileKind::character_device, 0666, 0, 44, 195, 7, 0};
  r.opens["/dev/nvidia0"] = std::nullopt;
  r.opens["/dev/kfd"] = failure(EACCES, "/dev/kfd");
  r.spaces["/"] = FileSystemSpace{1000, 10};
  r.environment["HOME"] = "/root";
  r.environment["UNSET"] = std::nullopt;
  r.identity = SystemIdentity{"Linux", "6.1", "x86_64", "node", 1000, {1000, 44}, 1'700'000'000};
  r.kernel_log = "1.000000 hello\n";
  JobOutcome tool;
  tool.exit_code = 3;
  tool.out = std::string("bytes \xfe\n");
  tool.duration_ms = 12.5;
  r.tools["nvidia-smi -q"] = tool;
  r.tools["rocm-smi"] = RecordedFailure{ErrorKind::too_large, "too much", 0};
  ProbeDocument probe;
  probe.probe = "nvml";
  probe.outcome = ProbeOutcome::crashed;
  probe.signal = 11;
  probe.stopped_in = "nvmlInit_v2()";
  probe.calls["f(0)"].value = 7;
  r.probes["nvml 0000:17:00.0"] = probe;
  return r;
}

std::string expect_bad(const Result<Recording>& result, ErrorKind kind = ErrorKind::bad_input) {
  EXPECT_FALSE(result);
  if (result) return {};
  EXPECT_EQ(result.error().kind, kind) << result.error().message;
  return result.error().message;
}

// An archive made entry by entry, so that it may hold what the writer never writes. `type` is the
// letter of the tar format: '0' file, '1' hard link, '2' symbolic link, '3' device, '5' folder, '6'
// FIFO.
struct RawEntry {
  std::string name, content;
  char type = '0';
  std::string link = {};
};
std::string packed(const std::string& tar) {
  std::string out(ZSTD_compressBound(tar.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), tar.data(), tar.size(), 1));
  return out;
}
std::string raw_archive(const std::vector<RawEntry>& entries) {
  std::string tar;
  for (const auto& item : entries) {
    std::string one;
    append_tar_file(one, item.name, item.content);
    one[156] = item.type;
    one.replace(157, item.link.size(), item.link);
    one.replace(148, 8, 8, ' ');
    unsigned sum = 0;
    for (int i = 0; i < 512; ++i) sum += static_cast<unsigned char>(one[static_cast<size_t>(i)]);
    char text[8];
    std::snprintf(text, sizeof text, "%06o", sum);
    one.replace(148, 7, text, 7);
    tar += one;
  }
  append_tar_end(tar);
  return packed(tar);
}
const std::string kEmptyIndex = R"({"schema":"gpuready.recording","schema_version":1})";

TEST(RecordingArchive, RoundTripKeepsEverything) {
  const auto packed = recording_to_archive(sample());
  ASSERT_TRUE(packed) << packed.error().message;
  const auto again = recording_from_archive(*packed, "t");
  ASSERT_TRUE(again) << again.error().message;
  const Recording want = sample();
  EXPECT_EQ(again->tool_version, want.tool_version);
  EXPECT_EQ(again->description, want.description);
  EXPECT_EQ(std::get<std::string>(again->files.at("/sys/a/config")), std::string("\0\xff\x01", 3));
  EXPECT_EQ(std::get<std::string>(again->files.at("/odd/../name")), "odd");
  EXPECT_EQ(std::get<RecordedFailure>(again->files.at("/sys/a/gone")).code, ENODEV);
  EXPECT_EQ(std::get<RecordedFailure>(again->files.at("/sys/a/gone")).message,
            std::get<RecordedFailure>(want.files.at("/sys/a/gone")).message);
  EXPECT_EQ(again->environment, want.environment);
  EXPECT_EQ(std::get<FileStatus>(again->statuses.at("/dev/nvidia0")).device_minor, 7u);
  EXPECT_EQ(std::get<SystemIdentity>(*again->identity).groups,
            (std::vector<std::uint32_t>{1000, 44}));
  EXPECT_EQ(std::get<JobOutcome>(again->tools.at("nvidia-smi -q")).out, "bytes \xfe\n");
  EXPECT_EQ(std::get<RecordedFailure>(again->tools.at("rocm-smi")).message, "too much");
  EXPECT_EQ(again->probes.at("nvml 0000:17:00.0").stopped_in, "nvmlInit_v2()");
  // And nothing is lost or changed by doing it once more.
  EXPECT_EQ(*recording_to_archive(*again), *packed);
}

TEST(RecordingArchive, TheSameRecordingGivesTheSameBytes) {
  const auto first = recording_to_archive(sample());
  EXPECT_EQ(*first, *recording_to_archive(sample()));
}

TEST(RecordingArchive, CutAnywhereIsAnError) {
  const auto packed = *recording_to_archive(sample());
  for (std::size_t size = 0; size < packed.size(); size += 7) {
    const auto message = expect_bad(recording_from_archive(packed.substr(0, size), "cut.tar.zst"));
    EXPECT_FALSE(contains(message, "unknown error")) << size << ": " << message;
  }
}

TEST(RecordingArchive, WithoutIndexIsRefused) {
  const auto message = expect_bad(recording_from_archive(raw_archive({{"files/a", "x"}}), "r.zst"));
  EXPECT_TRUE(contains(message, "r.zst"));
  EXPECT_TRUE(contains(message, "recording.json"));
}

TEST(RecordingArchive, NamesThatLeadOutAreRefused) {
  for (const char* name : {"/etc/passwd", "files/../../x", "..", "./../x"})
    EXPECT_TRUE(contains(expect_bad(recording_from_archive(
                             raw_archive({{"recording.json", kEmptyIndex}, {name, "x"}}), "r")),
                         "refused"))
        << name;
}

TEST(RecordingArchive, LinksAndDevicesAreRefused) {
  for (const RawEntry& entry :
       {RawEntry{"files/l", "", '2', "/etc/passwd"}, RawEntry{"files/h", "", '1', "recording.json"},
        RawEntry{"files/f", "", '6'}, RawEntry{"files/c", "", '3'}})
    expect_bad(recording_from_archive(raw_archive({{"recording.json", kEmptyIndex}, entry}), "r"));
}

TEST(RecordingArchive, DuplicateEntriesAreRefused) {
  const auto message = expect_bad(recording_from_archive(
      raw_archive({{"recording.json", kEmptyIndex}, {"files/a", "1"}, {"./files/a", "2"}}), "r"));
  EXPECT_TRUE(contains(message, "twice"));
}

TEST(RecordingArchive, FoldersPackedByTarAreAccepted) {
  EXPECT_TRUE(recording_from_archive(
      raw_archive({{"./", "", '5'}, {"./recording.json", kEmptyIndex}}), "r"));
}

TEST(RecordingArchive, BombIsStoppedAtTheLimit) {
  // 270 MB of zeros pack into some ten kilobytes.
  const auto bytes = raw_archive(
      {{"recording.json", kEmptyIndex}, {"files/zero", std::string(270'000'000, '\0')}});
  EXPECT_LT(bytes.size(), 1u << 20);
  const auto message = expect_bad(recording_from_archive(bytes, "bomb"), ErrorKind::too_large);
  EXPECT_TRUE(contains(message, "256 MiB"));
}

TEST(RecordingArchive, NewerSchemaNamesTheCure) {
  const auto bytes =
      raw_archive({{"recording.json", R"({"schema":"gpuready.recording","schema_version":2})"}});
  EXPECT_TRUE(contains(expect_bad(recording_from_archive(bytes, "r")), "newer gpuready"));
}

TEST(RecordingArchive, MissingEntryIsNamed) {
  const auto bytes = raw_archive({{"recording.json",
                                   R"({"schema":"gpuready.recording","schema_version":1,
                                       "files":{"/a":{"entry":"files/a"}}})"}});
  const auto message = expect_bad(recording_from_archive(bytes, "r"));
  EXPECT_TRUE(contains(message, "files[\"/a\"]")) << message;
}

TEST(RecordingArchive, AnEntryUnderFilesIsAFile) {
  const auto recording = recording_from_archive(
      raw_archive({{"recording.json", kEmptyIndex}, {"files/sys/a", "x"}, {"notes.txt", "y"}}),
      "r");
  ASSERT_TRUE(recording) << recording.error().message;
  ASSERT_EQ(recording->files.size(), 1u);
  EXPECT_EQ(std::get<std::string>(recording->files.at("/sys/a")), "x");
}

TEST(RecordingArchive, AFileToldTwiceIsRefused) {
  expect_bad(
      recording_from_archive(raw_archive({{"recording.json",
                                           R"({"schema":"gpuready.recording","schema_version":1,
                        "files":{"/sys/a":{"error":"EIO"}}})"},
                                          {"files/sys/a", "x"}}),
                             "r"));
}

class RecordingFile : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/gpuready-rec-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder = name;
  }
  void TearDown() override { std::system(("rm -rf " + folder).c_str()); }
  std::string write(const std::string& name, std::string_view text) {
    std::ofstream(folder + "/" + name, std::ios::binary) << text;
    return folder + "/" + name;
  }
  std::size_t files_in_folder() { return make_live_host()->list_directory(folder)->size(); }
  std::string folder;
};

TEST_F(RecordingFile, SavesAndLoads) {
  const auto path = folder + "/m.tar.zst";
  ASSERT_TRUE(save_recording(sample(), path));
  const auto loaded = load_recording(path);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->files.size(), sample().files.size());
  EXPECT_EQ(files_in_folder(), 1u);
}

TEST_F(RecordingFile, WhatIsNoRecordingIsToldSo) {
  EXPECT_TRUE(contains(expect_bad(load_recording(write("e", ""))), "empty"));
  EXPECT_TRUE(contains(expect_bad(load_recording(write("t", "hello"))), "gpuready record"));
  expect_bad(load_recording(folder + "/absent"), ErrorKind::not_found);
  expect_bad(load_recording(folder), ErrorKind::unsupported);
}

TEST_F(RecordingFile, AFailedWriteLeavesTheOldFile) {
  const auto path = write("m", "old");
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old_limit{};
  getrlimit(RLIMIT_FSIZE, &old_limit);
  rlimit small = old_limit;
  small.rlim_cur = 10'000;  // the "disk" is full after 10 kB
  setrlimit(RLIMIT_FSIZE, &small);
  const auto result = write_file_atomically(path, std::string(100'000, 'x'));
  setrlimit(RLIMIT_FSIZE, &old_limit);
  std::signal(SIGXFSZ, before);
  ASSERT_FALSE(result);
  EXPECT_TRUE(contains(result.error().message, path));
  EXPECT_EQ(*make_live_host()->read_file(path), "old");
  EXPECT_EQ(files_in_folder(), 1u);
}

TEST_F(RecordingFile, DevicesAndFoldersAreNotReplaced) {
  EXPECT_FALSE(write_file_atomically("/dev/null", "x"));
  EXPECT_EQ(make_live_host()->status("/dev/null")->kind, FileKind::character_device);
  EXPECT_FALSE(write_file_atomically(folder, "x"));
  EXPECT_FALSE(write_file_atomically(folder + "/none/m", "x"));
}

TEST_F(RecordingFile, LinksAreWrittenThrough) {
  const auto path = write("real", "old");
  chmod(path.c_str(), 0600);
  ASSERT_EQ(symlink("real", (folder + "/link").c_str()), 0);
  ASSERT_TRUE(write_file_atomically(folder + "/link", "new"));
  EXPECT_EQ(*make_live_host()->read_file(path), "new");
  EXPECT_EQ(*make_live_host()->read_link(folder + "/link"), "real");
  EXPECT_EQ(make_live_host()->status(path)->mode, 0600u);
}

const std::string kHead = R"({"schema":"gpuready.machine-script","schema_version":1,)";

TEST_F(RecordingFile, ScriptExtendsAnother) {
  mkdir((folder + "/base").c_str(), 0755);
  write("base/m.json", kHead + R"("files":{"/a":"1","/b":"2"},"environment":{"X":"x"}})");
  const auto path = write("m.json", kHead + R"("extends":"base/m.json",
      "files":{"/b":null,"/c":"3"},"kernel_log":["1.0 one","2.0 two"]})");
  const auto loaded = load_recording(path);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_TRUE(loaded->closed_world);
  EXPECT_EQ(loaded->files.size(), 2u);
  EXPECT_EQ(std::get<std::string>(loaded->files.at("/c")), "3");
  EXPECT_EQ(loaded->environment.at("X"), "x");
  EXPECT_EQ(std::get<std::string>(*loaded->kernel_log), "1.0 one\n2.0 two\n");
}

TEST_F(RecordingFile, ExtendingInACircleIsAnError) {
  write("a.json", kHead + R"("extends":"b.json"})");
  write("b.json", kHead + R"("extends":"a.json"})");
  EXPECT_TRUE(contains(expect_bad(load_recording(folder + "/a.json")), "extends itself"));
}

TEST_F(RecordingFile, ExtendingTooDeepIsAnError) {
  for (int i = 0; i < 12; ++i)
    write(std::to_string(i) + ".json",
          kHead + "\"extends\":\"" + std::to_string(i + 1) + ".json\"}");
  write("12.json", kHead + "\"files\":{}}");
  EXPECT_TRUE(contains(expect_bad(load_recording(folder + "/0.json")), "more than 8"));
  EXPECT_TRUE(contains(expect_bad(load_recording(folder + "/3.json")), "more than 8"));
  EXPECT_TRUE(load_recording(folder + "/4.json")) << "of eight";
}

// So that a wrong file does not fill the memory.
TEST(RecordingScript, HasAtMost32MiB) {
  std::string text = kHead + "\"files\":{}}";
  text.resize(32u << 20, ' ');
  EXPECT_TRUE(recording_from_script(text, "m", "/"));
  text += ' ';
  expect_bad(recording_from_script(text, "m", "/"), ErrorKind::too_large);
}

TEST(RecordingScript, FaultsNameFileSectionAndKey) {
  for (const auto& [body, want] : std::vector<std::pair<std::string, std::string>>{
           {R"("files":{"/a":7}})", "m.json: files[\"/a\"]: expected text"},
           {R"("files":{"/a":{"base64":"?"}}})", "base64"},
           {R"("files":{"/a":{"error":"EWHAT"}}})", "EWHAT"},
           {R"("files":[]})", "files: expected an object"},
           {R"("statuses":{"/a":{"kind":"fish"}}})", "statuses[\"/a\"]"},
           {R"("statuses":{"/a":{"mode":"0999"}}})", "octal"},
           {R"("opens":{"/a":"yes"}})", "opens[\"/a\"]"},
           {R"("directories":{"/a":"b"}})", "list of names"},
           {R"("identity":{"effective_uid":-1}})", "effective_uid"},
           {R"("probes":{"nvml":{"probe":"nvml","outcome":"odd"}}})", "probes[\"nvml\"]"},
           {R"("enviroment":{}})", "unknown section \"enviroment\""},
           {R"("files":{"/a":"1","/a":"2"}})", "twice"},
           {R"("extends":"/etc/passwd"})", "relative"},
           {R"("files":)", "m.json"}}) {
    const auto message = expect_bad(recording_from_script(kHead + body, "m.json", "/"));
    EXPECT_TRUE(contains(message, want)) << message;
  }
  expect_bad(recording_from_script("{}", "m.json", "/"));
  expect_bad(recording_from_script("[]", "m.json", "/"));
}

// docs/recordings.md: a tool that ran to its end has an exit code, and another says how it ended.
TEST(RecordingValues, AToolsEndIsKeptAndWhatIsNoEndIsRefused) {
  JobOutcome plain;
  plain.end = JobEnd::exited;
  plain.exit_code = 9;
  plain.out = "none";
  EXPECT_EQ(to_json(plain).value("exit_code", -1), 9);
  EXPECT_FALSE(to_json(plain).contains("end"));
  JobOutcome killed;
  killed.end = JobEnd::timed_out;
  killed.signal = 9;
  killed.channel = "{}";
  killed.truncated = true;
  EXPECT_FALSE(to_json(killed).contains("exit_code"));
  for (const auto& outcome : {plain, killed}) {
    const auto again = job_outcome_from_json(to_json(outcome));
    ASSERT_TRUE(again);
    EXPECT_EQ(again->end, outcome.end);
    EXPECT_EQ(again->exit_code, outcome.exit_code);
    EXPECT_EQ(again->signal, outcome.signal);
    EXPECT_EQ(again->out, outcome.out);
    EXPECT_EQ(again->channel, outcome.channel);
    EXPECT_EQ(again->truncated, outcome.truncated);
  }
  EXPECT_TRUE(job_outcome_from_json(Json::object()));
  EXPECT_FALSE(job_outcome_from_json(Json("text")));
  for (const auto& [key, bad, good] : std::initializer_list<std::tuple<const char*, Json, Json>>{
           {"end", "vanished", "timed_out"},
           {"end", 1, "hung"},
           {"exit_code", "0", 0},
           {"exit_code", -2, -1},
           {"exit_code", 65536, 65535},
           {"signal", 65536, 9},
           {"out", 1, "text"},
           {"err", 1, "text"},
           {"document", 1, "text"},
           {"document", {{"base64", "!"}}, {{"base64", "e30="}}}}) {
    EXPECT_FALSE(job_outcome_from_json({{key, bad}})) << key << " " << bad;
    EXPECT_TRUE(job_outcome_from_json({{key, good}})) << key << " " << good;
  }
}

TEST(RecordingScript, ManyMembersAreReadInLinearTime) {
  std::string text = kHead + "\"files\":{";
  for (int i = 0; i < 600'000; ++i) text += "\"/f" + std::to_string(i) + "\":\"x\",";
  text += "\"/last\":\"y\"}}";
  // Looking each up among those before it would take longer than the test may.
  EXPECT_TRUE(recording_from_script(text, "m", "/"));
}

TEST(Base64, RoundTripAndRefusal) {
  for (const std::string& bytes : {std::string(), std::string("f"), std::string("fo"),
                                   std::string("foo"), std::string("\0\xff\x80 ", 4)})
    EXPECT_EQ(base64_decode(base64_encode(bytes)), bytes);
  EXPECT_EQ(base64_encode("foob"), "Zm9vYg==");
  EXPECT_EQ(base64_decode("Zm9v\nYg=="), "foob");
  for (const char* text : {"Zg", "Zg=", "Z", "Zg==Zg==", "Z?==", "===="})
    EXPECT_EQ(base64_decode(text), std::nullopt) << text;
}

}  // namespace
}  // namespace gpuready
