// The commands of `pack`, run in this process: what each asks before it works, which releases it
// trusts, and with which exit code it ends.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/json.h"
#include "base/text.h"
#include "machine/system/loader_cache.h"
#include "pack/release/key_chain.h"
#include "pack/release/manifest.h"
#include "pack/release/minisign.h"
#include "pack/store/load_report.h"
#include "unit/cli/run_command.h"

namespace gpuready::cli {
namespace {

namespace fs = std::filesystem;

using Ran = test::Ran;

class PackCommands : public testing::Test {
 protected:
  PackCommands() {
    fs::current_path(root_);
    ::setenv("HOME", (root_ + "/home").c_str(), 1);
    ::setenv("GPUREADY_FAKE", "none", 1);
    for (const auto& [name, key] : {std::pair("maker", &maker_), {"machine", &machine_}})
      write(std::string(name) + ".key", pack::secret_key_file(*key, "").value());
    write("source/cpu/data", noise(20'000));
    write("source/more/data", "more");
  }
  ~PackCommands() override {
    fs::current_path(before_);
    ::setenv("HOME", home_before_.c_str(), 1);
    ::unsetenv("GPUREADY_FAKE");
    fs::remove_all(root_);
  }
  static void write(const std::string& path, std::string_view text) {
    fs::create_directories(fs::absolute(path).parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }
  static std::string read(const std::string& path) { return test::read_file(path); }
  static std::string noise(std::size_t bytes) {
    std::string text;
    for (std::uint32_t value = 1; text.size() < bytes;) {
      value = value * 1664525u + 1013904223u;
      text += static_cast<char>(value >> 24);
    }
    return text;
  }
  void write_recipe(const std::string& version, const std::string& variants = "[variants.cpu]\n") {
    write("pack.toml", "name = \"libs\"\nversion = \"" + version +
                           "\"\nfolder = \"source/{variant}\"\nreport_keys = [\"" +
                           machine_.public_key().text() + "\"]\n" + variants +
                           "[[machines]]\nname = \"plain\"\n");
  }
  static Ran run(std::vector<std::string> args) {
    return test::run_command("pack", std::move(args));
  }
  static Ran run(std::vector<std::string> args, const std::vector<std::string>& more) {
    args.insert(args.end(), more.begin(), more.end());
    return run(args);
  }
  static Json document(std::vector<std::string> args) {
    args.emplace_back("--json=-");
    return parse_json(run(args).out, "out").value_or(Json());
  }
  void build(const std::string& version) {
    write_recipe(version);
    const auto built = run({"build", "-q"});
    ASSERT_EQ(built.exit, 0) << built.err;
  }
  static Ran publish(const std::vector<std::string>& more = {}) {
    return run({"publish", "--key", "maker.key", "--to", "release"}, more);
  }
  void release(const std::string& version) {
    build(version);
    const auto published = publish();
    ASSERT_EQ(published.exit, 0) << published.err;
  }
  // Of the release in "candidate", as a machine without GPUs reports it.
  void write_load_report(const pack::SecretKey& key) {
    const auto manifest = pack::parse_manifest(read("candidate/manifest.json"), "manifest").value();
    const pack::LoadPlan plan{"cpu", "", {}, {}, "cpu", "/s"};
    const pack::TriedLoad tried{"cpu", plan, {"cpu", "", 0, 0, {}}};
    const auto text = load_report_text(pack::load_report(manifest, {}, {&tried, 1}, 0));
    write("reports/plain.json", text);
    write("reports/plain.json.minisig", sign(key, text, ""));
  }

  const pack::SecretKey maker_ = pack::make_secret_key().value(),
                        machine_ = pack::make_secret_key().value();
  const std::string public_ = maker_.public_key().text();
  const fs::path before_ = fs::current_path();
  const std::string home_before_ = std::getenv("HOME") == nullptr ? "/" : std::getenv("HOME");
  std::string template_ = (fs::temp_directory_path() / "pack_commandsXXXXXX").string();
  const std::string root_ = fs::canonical(::mkdtemp(template_.data()));
};

constexpr const char* kNoReport =
    "gpuready: nothing was published:\n    no load report covers the machine plain (GPUs none)\n";

TEST_F(PackCommands, PublishWithoutProofNeedsNoReport) {
  build("1");
  const auto published = document({"publish", "--key", "maker.key", "--to", "release"});
  EXPECT_EQ(published.value("name", ""), "libs");
  EXPECT_EQ(published.value("version", ""), "1");
  EXPECT_EQ(published.value("folder", ""), "release");
  EXPECT_EQ(published.value("public_key", ""), public_);
  EXPECT_FALSE(published.contains("oci_layout"));
  EXPECT_TRUE(fs::exists("release/manifest.json.minisig"));
}

TEST_F(PackCommands, PublishWithProofNeedsAReportOfATrustedKey) {
  release("1");
  fs::rename("release", "candidate");
  fs::create_directories("reports");
  const auto refused = publish({"--require-proof", "reports"});
  EXPECT_EQ(refused.exit, 2);
  EXPECT_EQ(refused.err, kNoReport);
  EXPECT_FALSE(fs::exists("release/manifest.json"));

  write_load_report(maker_);  // it signs releases, and is not one of the recipe's report_keys
  const auto forged = publish({"--require-proof", "reports"});
  EXPECT_EQ(forged.exit, 2);
  EXPECT_TRUE(forged.err.starts_with(
      "gpuready: nothing was published:\n    reports/plain.json: none of the recipe's report_keys "
      "signed it ("))
      << forged.err;
  write_load_report(machine_);
  for (const char* named : {"reports", "reports/plain.json"}) {
    const auto published = publish({"--require-proof", named});
    EXPECT_EQ(published.exit, 0) << published.err;
    fs::remove_all("release");
  }
  const auto absent = publish({"--require-proof", "absent"});
  EXPECT_EQ(absent.exit, 2);
  EXPECT_FALSE(fs::exists("release/manifest.json"));
}

TEST_F(PackCommands, PublishCutsArchivesAtTheSizeThatIsNamed) {
  write("source/cpu/data", noise(1'500'000));
  build("1");
  ASSERT_EQ(publish({"--part-mb", "1"}).exit, 0);
  const auto manifest = pack::parse_manifest(read("release/manifest.json"), "manifest").value();
  ASSERT_EQ(manifest.variants.at(0).archive.size(), 2u);
  EXPECT_EQ(fs::file_size("release/" + manifest.variants[0].archive[0].name), 1'000'000u);
}

TEST_F(PackCommands, PublishAddsTheReleaseToAnImageLayoutWhereOneIsNamed) {
  build("1");
  const auto published =
      document({"publish", "--key", "maker.key", "--to", "release", "--oci", "layout"});
  EXPECT_EQ(published.value("oci_layout", ""), "layout");
  const auto index = parse_json(read("layout/index.json"), "index").value_or(Json());
  EXPECT_EQ(
      index.at("manifests").at(0).at("annotations").value("org.opencontainers.image.ref.name", ""),
      "1");
}

TEST_F(PackCommands, PublishTakesTheKeysThatSignedEachOther) {
  build("1");
  const pack::KeyChain chain{
      "libs",
      {{machine_.public_key().text(), ""}, sign_successor(machine_, "libs", maker_.public_key())}};
  write("libs.keys.json", key_chain_text(chain));
  ASSERT_EQ(publish({"--keys", "absent.json"}).exit, 2);
  write("wrong.json", "{}");
  ASSERT_EQ(publish({"--keys", "wrong.json"}).exit, 2);
  EXPECT_FALSE(fs::exists("release/manifest.json"));
  const auto published = publish({"--keys", "libs.keys.json"});
  ASSERT_EQ(published.exit, 0) << published.err;
  EXPECT_EQ(read("release/keys.json"), read("libs.keys.json"));
}

TEST_F(PackCommands, ANewKeyIsSignedByTheOneBeforeIt) {
  const auto key = [&](const std::string& name, std::vector<std::string> more) {
    return run({"key", name, "--no-password", "--package", "libs", "--signed-by"}, more);
  };
  const auto newest = [&](const std::string& chain) {
    const auto parsed = pack::parse_key_chain(read(chain), chain).value();
    return pack::newest_key(parsed, "libs", maker_.public_key()).text();
  };
  const auto key_of = [&](const std::string& file) {
    return pack::parse_public_key(read(file), file).value().text();
  };
  ASSERT_EQ(key("second", {"maker.key"}).exit, 0);
  EXPECT_EQ(newest("second.keys.json"), key_of("second.pub"));
  ASSERT_EQ(key("third", {"second.key", "--after", "second.keys.json"}).exit, 0);
  EXPECT_EQ(newest("third.keys.json"), key_of("third.pub"));
  // Only the last key of this package's chain signs the next.
  const auto refused = key("fourth", {"second.key", "--after", "third.keys.json"});
  EXPECT_EQ(refused.exit, 2);
  EXPECT_EQ(refused.err,
            "gpuready: third.keys.json: another package's, or its last key is not that of "
            "--signed-by\n");
  EXPECT_EQ(run({"key", "fourth", "--no-password", "--package", "other", "--signed-by", "third.key",
                 "--after", "third.keys.json"})
                .exit,
            2);
  for (const char* file : {"fourth.key", "fourth.pub", "fourth.keys.json"})
    EXPECT_FALSE(fs::exists(file)) << file;
  // A chain may be empty.
  write("empty.json", pack::key_chain_text({.package = "libs", .keys = {}}));
  EXPECT_EQ(key("fourth", {"third.key", "--after", "empty.json"}).exit, 0);
}

TEST_F(PackCommands, AKeyIsNeverWrittenOver) {
  const auto refused = [&](const std::string& file, std::vector<std::string> more) {
    write(file, "kept");
    const auto ran = run({"key", "new", "--no-password"}, more);
    EXPECT_EQ(read(file), "kept");
    fs::remove(file);
    return ran.exit == 2 &&
           ran.err == "gpuready: " + file + " exists: a key is never written over\n";
  };
  const std::vector<std::string> successor = {"--package", "libs", "--signed-by", "maker.key"};
  EXPECT_TRUE(refused("new.key", {}));
  EXPECT_TRUE(refused("new.pub", {}));
  EXPECT_TRUE(refused("new.keys.json", successor));
  for (const char* file : {"new.key", "new.pub", "new.keys.json"})
    EXPECT_FALSE(fs::exists(file)) << file;
  write("new.keys.json", "of another key");
  EXPECT_EQ(run({"key", "new", "--no-password"}).exit, 0) << "which it does not write";
}

TEST_F(PackCommands, BuildMakesTheVariantsThatAreNamed) {
  write_recipe("1", "[variants.cpu]\n[variants.more]\n");
  EXPECT_EQ(run({"build", "--variant", "absent"}).err,
            "gpuready: pack.toml has no variant absent\n");
  EXPECT_FALSE(fs::exists("build/pack"));
  const auto built = document({"build", "--variant", "more"});
  ASSERT_EQ(built.at("variants").size(), 1u);
  EXPECT_EQ(built["variants"][0].value("name", ""), "more");
  EXPECT_EQ(built.value("folder", ""), "build/pack");
  EXPECT_EQ(document({"build", "--out", "other"}).at("variants").size(), 2u);
  EXPECT_TRUE(fs::is_directory("other"));
}

TEST_F(PackCommands, BuildRunsNoCommandWhereThatIsNotWanted) {
  write_recipe("1", "[variants.cpu]\nbuild = [\"sh\", \"-c\", \"touch source/cpu/built\"]\n");
  ASSERT_EQ(run({"build", "--no-build", "-q"}).exit, 0);
  EXPECT_FALSE(fs::exists("source/cpu/built"));
  ASSERT_EQ(run({"build", "-q"}).exit, 0);
  EXPECT_TRUE(fs::exists("source/cpu/built"));
}

TEST_F(PackCommands, AContainerfileIsOnlyPrinted) {
  write_recipe("1", "[variants.gpu]\narchitectures = [\"90\"]\nbuild = [\"make\"]\n");
  const auto printed = run({"build", "--containerfile", "12.9"});
  EXPECT_EQ(printed.exit, 0) << printed.err;
  EXPECT_TRUE(printed.out.contains("FROM ")) << printed.out;
  EXPECT_FALSE(fs::exists("build"));
  const auto unknown = run({"build", "--containerfile", "new"});
  EXPECT_EQ(unknown.exit, 2);
  EXPECT_EQ(unknown.err, "gpuready: --containerfile new: not a CUDA release such as 12.9\n");
  const auto future = run({"build", "--containerfile", "99"});
  EXPECT_EQ(future.exit, 2);
  EXPECT_TRUE(future.err.starts_with(
      "gpuready: pack.toml: --containerfile 99: no CUDA release 99.0 is known"))
      << future.err;
}

// ---- what trusts a release
TEST_F(PackCommands, SelectTrustsOnlyTheKeyThatIsNamedOrRemembered) {
  release("1");
  const std::vector<std::string> select = {"select", "release", "--gpu", "none"};
  EXPECT_EQ(run(select, {"--key", public_}).exit, 0);
  const auto other = run(select, {"--key", machine_.public_key().text()});
  EXPECT_EQ(other.exit, 1) << "another key: " << other.err;
  const auto unknown = run(select);
  EXPECT_EQ(unknown.exit, 1) << "no key is remembered: " << unknown.err;
  const auto wrong = run(select, {"--key", "nonsense"});
  EXPECT_EQ(wrong.exit, 2) << "a mistake of the caller: " << wrong.err;
  EXPECT_EQ(wrong.err,
            "gpuready: --key nonsense: neither a file with a public key nor such a key "
            "(RWQ...)\n");
  fs::create_directories("empty");
  EXPECT_EQ(run({"select", "empty", "--key", public_, "--gpu", "none"}).exit, 4) << "not read";
  const auto gpu = run({"select", "release", "--key", public_, "--gpu", "no such GPU"});
  EXPECT_EQ(gpu.exit, 2) << "the release is trusted, the GPU is a mistake: " << gpu.err;

  auto text = read("release/manifest.json");
  text.insert(text.find("\"version\""), " ");
  write("release/manifest.json", text);
  EXPECT_EQ(run(select, {"--key", public_}).exit, 1) << "a changed manifest";
}

TEST_F(PackCommands, SelectWithoutAFittingVariantIsExit3) {
  write("source/gpu/code.ptx",
        ".version 6.3\n.target sm_75\n.address_size 64\n.visible .entry k()\n{\n  ret;\n}\n");
  write_recipe("1", "[variants.gpu]\narchitectures = [\"75-virtual\"]\n");
  const auto built = run({"build", "-q"});
  ASSERT_EQ(built.exit, 0) << built.err;
  ASSERT_EQ(publish().exit, 0);
  EXPECT_EQ(run({"select", "release", "--key", public_, "--gpu", "8.6"}).exit, 0);
  EXPECT_EQ(run({"select", "release", "--key", public_, "--gpu", "none"}).exit, 3);
}

TEST_F(PackCommands, SelectForPipPrintsOneLineAndWhatItLeavesOut) {
  const auto one =
      run({"select", "jax", "--format", "pip-index", "--gpu", "9.0", "--driver", "580.65.06"});
  EXPECT_EQ(one.exit, 0);
  EXPECT_EQ(one.out, "jax[cuda13]\n");
  EXPECT_EQ(one.err, "");
  const auto partly = run(
      {"select", "torch", "--format", "pip-index", "--gpu", "3.5,9.0", "--driver", "580.65.06"});
  EXPECT_EQ(partly.exit, 0);
  EXPECT_EQ(partly.out, "torch --index-url https://download.pytorch.org/whl/cu132\n");
  EXPECT_TRUE(partly.err.ends_with("gpuready: no build serves 3.5\n")) << partly.err;
  const auto json = document({"select", "jax", "--format", "pip-index", "--gpu", "none"});
  EXPECT_EQ(json.at("variants"), Json({"cpu"}));
  EXPECT_FALSE(json.value("version", "").empty());
  const auto unknown = run({"select", "numpy", "--format", "pip-index"});
  EXPECT_EQ(unknown.exit, 2);
  EXPECT_EQ(unknown.err,
            "gpuready: numpy: pip's builds of it are not known here; those of torch, jax, "
            "onnxruntime are\n");
}

TEST_F(PackCommands, InstallTrustsOnlyTheKeyThatIsNamedOrRemembered) {
  release("1");
  const std::vector<std::string> install = {"install", "release", "--no-load-test", "--to",
                                            "store"};
  const auto other = run(install, {"--key", machine_.public_key().text()});
  EXPECT_EQ(other.exit, 1) << other.out;
  EXPECT_FALSE(fs::exists("store/current"));
  EXPECT_EQ(run(install).exit, 1) << "no key is remembered";
  EXPECT_EQ(run(install, {"--key", "nonsense"}).exit, 2);
  const auto installed = run(install, {"--key", public_});
  EXPECT_EQ(installed.exit, 0) << installed.out;
  EXPECT_EQ(read("store/current/data"), noise(20'000));
  EXPECT_EQ(run(install).exit, 0) << "it is remembered now";
  fs::create_directories("empty");
  EXPECT_EQ(run({"install", "empty", "--key", public_, "--to", "store"}).exit, 4) << "not read";
}

TEST_F(PackCommands, ADryRunInstallsNothing) {
  release("1");
  const auto planned =
      run({"install", "release", "--key", public_, "--to", "store", "--dry-run", "--gpu", "none"});
  EXPECT_EQ(planned.exit, 0) << planned.out;
  EXPECT_TRUE(planned.out.contains("libs 1 would be installed")) << planned.out;
  EXPECT_FALSE(fs::exists("store/current"));
}

TEST_F(PackCommands, AVariantThatIsNamedIsInstalledWhateverTheMachine) {
  write_recipe("1", "[variants.cpu]\n[variants.more]\n");
  ASSERT_EQ(run({"build", "-q"}).exit, 0);
  ASSERT_EQ(publish().exit, 0);
  const auto installed = document({"install", "release", "--key", public_, "--to", "store",
                                   "--no-load-test", "--variant", "more"});
  EXPECT_EQ(installed.at("installed").value("variant", ""), "more");
  EXPECT_EQ(read("store/current/data"), "more");
}

// A report says what loaded here, so that it does not go with what loads nothing here.
TEST_F(PackCommands, AReportNeedsALoadTestOnThisMachine) {
  release("1");
  const std::vector<std::string> install = {"install", "release", "--key",    public_,
                                            "--to",    "store",   "--report", "report.json"};
  for (const auto& more : std::vector<std::vector<std::string>>{
           {"--dry-run"}, {"--no-load-test"}, {"--gpu", "none"}, {"--replay", "machine.json"}}) {
    const auto refused = run(install, more);
    EXPECT_EQ(refused.exit, 2) << more[0];
    EXPECT_EQ(refused.err,
              "gpuready: --report says what loaded on this machine: it does not go with "
              "--dry-run, --no-load-test, --gpu or --replay\n")
        << more[0];
  }
  EXPECT_FALSE(fs::exists("store"));
  EXPECT_FALSE(fs::exists("report.json"));
}

TEST_F(PackCommands, NothingIsInstalledWhereTheReportCannotBeWrittenOrSigned) {
  release("1");
  const auto install = [&](const std::string& report, const std::string& key) {
    return run({"install", "release", "--key", public_, "--to", "store", "--report", report,
                "--report-key", key});
  };
  EXPECT_EQ(install("nowhere/report.json", "machine.key").exit, 2);
  fs::create_directories("report.json.minisig");
  EXPECT_EQ(install("report.json", "machine.key").exit, 2);
  fs::remove("report.json.minisig");
  EXPECT_EQ(install("report.json", "absent.key").exit, 2);
  EXPECT_FALSE(fs::exists("store"));
}

// ---- what is installed
TEST_F(PackCommands, WhatIsInstalledIsListedVerifiedAndRemoved) {
  release("1");
  ASSERT_EQ(run({"install", "release", "--key", public_, "--no-load-test"}).exit, 0);
  release("2");
  ASSERT_EQ(run({"install", "release", "--no-load-test"}).exit, 0);
  const auto listed = document({"list"});
  EXPECT_EQ(listed.value("command", ""), "pack list");
  EXPECT_EQ(listed.at("packages").size(), 1u);
  EXPECT_FALSE(listed.contains("conclusion"));
  EXPECT_EQ(document({"list", "libs"}).at("packages"), listed.at("packages"));
  EXPECT_EQ(run({"list", "absent"}).exit, 2);
  EXPECT_EQ(run({"list", "--to", "absent"}).exit, 2);
  EXPECT_EQ(run({"verify"}).exit, 2) << "a name is needed";
  EXPECT_EQ(run({"verify", "libs"}).exit, 0);
  EXPECT_EQ(run({"rollback", "libs"}).exit, 0);
  EXPECT_EQ(document({"list"}).at("packages").at(0).value("current", 0), 1);
  EXPECT_EQ(run({"rollback", "libs", "--number", "2"}).exit, 0);
  EXPECT_EQ(run({"rollback", "libs", "--number", "99"}).exit, 2);
  const auto collected = document({"gc", "libs"});
  EXPECT_EQ(collected.value("conclusion", ""),
            "Removed 0 old versions and 0 files that no other needs (0 B).");
  write(root_ + "/home/.local/share/libs/gpu-libs/current/added", "");
  EXPECT_EQ(run({"verify", "libs"}).exit, 1);
  EXPECT_EQ(run({"list", "libs"}).exit, 0) << "list hashes nothing";
  EXPECT_EQ(run({"uninstall", "libs"}).exit, 0);
  EXPECT_TRUE(fs::exists("home/.local/share/libs/gpu-libs/state.json"));
  EXPECT_EQ(run({"uninstall", "libs"}).exit, 2) << "it is not installed";
  EXPECT_EQ(run({"uninstall", "libs", "--forget"}).exit, 0);
  EXPECT_FALSE(fs::exists("home/.local/share/libs/gpu-libs"));
  EXPECT_EQ(run({"list"}).exit, 0);
}

TEST_F(PackCommands, EnvNamesTheFoldersWithLibrariesAndWhatTheyReplace) {
  if (!LibrarySearch(*make_live_host()).find("libm.so.6")) GTEST_SKIP() << "no libm.so.6";
  const auto system = *LibrarySearch(*make_live_host()).find("libm.so.6");
  for (const char* file : {"lib/libm.so.6", "lib/libnowhere.so.1", "more/libother.so", "bin/tool"})
    write(std::string("source/cpu/") + file, "text");
  release("1");
  ASSERT_EQ(run({"install", "release", "--key", public_, "--no-load-test", "--to", "s"}).exit, 0);
  const auto current = root_ + "/s/current";
  const auto exported = "export LD_LIBRARY_PATH='" + current + "/lib:" + current +
                        "/more'${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}\n";
  const auto env = run({"env", "--to", "s"});
  EXPECT_EQ(env.exit, 0) << env.err;
  EXPECT_EQ(env.out, "# libm.so.6 replaces " + system + "\n" + exported);
  const auto json = document({"env", "--to", "s"});
  EXPECT_EQ(json.value("command", ""), "pack env");
  EXPECT_EQ(json.at("library_folders"), Json({current + "/lib", current + "/more"}));
  EXPECT_FALSE(json.contains("conclusion"));
  // Where the variable names the package already, nothing of the system's is in its place.
  ::setenv("LD_LIBRARY_PATH", (current + "/lib").c_str(), 1);
  EXPECT_EQ(run({"env", "--to", "s"}).out, exported);
  ::unsetenv("LD_LIBRARY_PATH");
  EXPECT_EQ(run({"env", "--to", "s", "--variant", "cpu"}).exit, 0);
  const auto other = run({"env", "--to", "s", "--variant", "gpu"});
  EXPECT_EQ(other.exit, 2);
  EXPECT_EQ(other.err, "gpuready: --variant gpu: installed is cpu\n");
  EXPECT_EQ(run({"env", "--to", "nowhere"}).exit, 2);
  fs::rename("s", "a:b");
  EXPECT_EQ(run({"env", "--to", "a:b"}).exit, 2) << "the loader would split the folder's name";
}

TEST_F(PackCommands, EnvChecksWhetherTheMachineIsStillTheOneOfTheInstallation) {
  write("source/gpu/code.ptx",
        ".version 6.3\n.target sm_75\n.address_size 64\n.visible .entry k()\n{\n  ret;\n}\n");
  write_recipe("1", "[variants.cpu]\n[variants.gpu]\narchitectures = [\"75-virtual\"]\n");
  ASSERT_EQ(run({"build", "-q"}).exit, 0);
  ASSERT_EQ(publish().exit, 0);
  ASSERT_EQ(run({"install", "release", "--key", public_, "--no-load-test", "--to", "s"}).exit, 0);
  const auto check = [&](const std::vector<std::string>& more = {}) {
    std::vector<std::string> args = {"env", "--to", "s", "--check"};
    args.insert(args.end(), more.begin(), more.end());
    const auto ran = run(args);
    return std::to_string(ran.exit) + " " + ran.out;
  };
  const std::string same = "0 [ok] The GPUs and the driver are those that it was installed for.\n";
  EXPECT_EQ(check(), same);
  EXPECT_EQ(check({"--gpu", "none"}), "0 [ok] The variant cpu is right for that machine, too.\n");
  EXPECT_EQ(check({"--gpu", "8.6"}), "1 [x] That machine needs the variant gpu.\n");
  EXPECT_EQ(document({"env", "--to", "s", "--check", "--gpu", "8.6"}).value("variant", ""), "gpu");

  const std::string record = "s/generations/1/.gpuready/installed.json";
  const auto before = read(record);
  auto installed = parse_json(before, "record").value();
  ASSERT_TRUE(installed.contains("machine"));
  installed["machine"] = "driver 1.2, GPUs 10de:1234";
  write(record, dump(installed));
  const auto changed = run({"env", "--to", "s", "--check", "--json=-"});
  EXPECT_EQ(changed.exit, 0) << changed.err;
  const auto conclusion = parse_json(changed.out, "out").value_or(Json()).value("conclusion", "");
  EXPECT_TRUE(conclusion.starts_with(
      "The machine changed (it was installed for driver 1.2, GPUs 10de:1234, and driver "))
      << conclusion;
  EXPECT_TRUE(conclusion.ends_with(" is here now), and the variant is still the right one."))
      << conclusion;
  installed["variant"] = "gpu";
  write(record, dump(installed));
  const auto wrong = check();
  EXPECT_TRUE(wrong.starts_with("1 [x] The machine changed (")) << wrong;
  EXPECT_TRUE(contains(wrong, "\n  gpuready pack install " + root_ + "/release --to ")) << wrong;
  EXPECT_TRUE(wrong.ends_with(" " + root_ + "/s\n")) << wrong;
  installed["variant"] = "cpu";
  installed.erase("machine");
  write(record, dump(installed));
  EXPECT_EQ(check(),
            "0 [ok] The machine changed (it was installed without a look at this machine), and\n"
            "     the variant is still the right one.\n");
  write(record, before);
  EXPECT_EQ(check(), same);
}

TEST_F(PackCommands, DamageOfAStoresOwnFilesIsExit1) {
  release("1");
  ASSERT_EQ(run({"install", "release", "--key", public_, "--no-load-test", "--to", "s"}).exit, 0);
  write("s/generations/1/.gpuready/installed.json", "{");
  EXPECT_EQ(run({"list", "--to", "s"}).exit, 1);
  EXPECT_EQ(run({"verify", "--to", "s"}).exit, 1);
  EXPECT_EQ(run({"rollback", "--to", "s"}).exit, 1);
}

// ---- archives that exist, and what files hold
TEST_F(PackCommands, AdoptNeedsAnArchiveOfEachVariantOfTheRecipe) {
  write_recipe("1", "[variants.cpu]\n[variants.more]\n");
  const std::vector<std::string> adopt = {"adopt", "--key", "maker.key", "--to", "release"};
  EXPECT_EQ(run(adopt, {"a=x.zip"}).err, "gpuready: name a --recipe, or --name and --version\n");
  EXPECT_EQ(run(adopt, {"cpu=x.zip", "--recipe", "pack.toml"}).err,
            "gpuready: pack.toml: the archive of variant more is missing\n");
  EXPECT_EQ(run(adopt, {"cpu=x.zip", "cpu=y.zip", "--recipe", "pack.toml"}).err,
            "gpuready: two archives are the variant cpu: write VARIANT=FILE\n");
  EXPECT_FALSE(fs::exists("release"));
}

TEST_F(PackCommands, AdoptPublishesArchivesOfANewerVersion) {
  if (std::system("command -v tar >/dev/null") != 0) GTEST_SKIP() << "no tar";
  ASSERT_EQ(std::system("tar czf libs-more.tar.gz -C source/more data"), 0);
  const auto adopt = [&](const char* version) {
    return run({"adopt", "libs-more.tar.gz", "--name", "libs", "--version", version, "--key",
                "maker.key", "--to", "release", "--exclude", "none/**"});
  };
  const auto first = adopt("1.1");
  ASSERT_EQ(first.exit, 0) << first.err;
  EXPECT_EQ(pack::parse_manifest(read("release/manifest.json"), "m").value().version, "1.1");
  EXPECT_FALSE(fs::exists("release/.gpuready-adopt"));
  EXPECT_EQ(adopt("1.0").exit, 2) << "an older version";
  EXPECT_FALSE(fs::exists("release/.gpuready-adopt")) << "refused before the work";
  EXPECT_EQ(adopt("1.1").exit, 2) << "the same version";
  EXPECT_EQ(adopt("1.2").exit, 0);
  const auto all = run({"adopt", "libs-more.tar.gz", "--name", "libs", "--version", "1.3", "--key",
                        "maker.key", "--to", "release", "--exclude", "**"});
  EXPECT_EQ(all.exit, 2) << "nothing is left of it";
}

TEST_F(PackCommands, ExplainAnswersForTheGpusAndTheDriverThatAreNamed) {
  write("code.ptx",
        ".version 8.4\n.target sm_75\n.address_size 64\n.visible .entry k()\n{\n  ret;\n}\n");
  const auto exit_for = [&](const std::vector<std::string>& more) {
    return run({"explain", "code.ptx"}, more).exit;
  };
  EXPECT_EQ(exit_for({"--gpu", "8.6"}), 0);
  EXPECT_EQ(exit_for({"--gpu", "7.0"}), 1);
  EXPECT_EQ(exit_for({"--gpu", "8.6", "--cuda", "12.4"}), 0) << "PTX 8.4 is of CUDA 12.4";
  EXPECT_EQ(exit_for({"--gpu", "8.6", "--cuda", "12.3"}), 1);
  EXPECT_EQ(exit_for({"--gpu", "8.6", "--cuda", "12"}), 1) << "that is 12.0";
  EXPECT_EQ(exit_for({"--gpu", "8.6", "--driver", "550.54"}), 0);
  EXPECT_EQ(exit_for({"--gpu", "8.6", "--driver", "535.54"}), 1);
  EXPECT_EQ(exit_for({"--gpu", "none"}), 3);
  EXPECT_EQ(exit_for({"--gpu", "8.6", "--driver", "new"}), 2);
  EXPECT_EQ(exit_for({"--gpu", "8.6", "--cuda", "new"}), 2);
  EXPECT_EQ(run({"explain", "absent", "--gpu", "8.6"}).exit, 2);
}

}  // namespace
}  // namespace gpuready::cli
