// What the options of `pack` mean: recipes, releases, packages, machines, keys and passwords.
#include "pack/cli/pack_options.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

#include "base/descriptor.h"
#include "cli/terminal.h"
#include "machine/gpu_choice.h"
#include "pack/cli/pack_machine.h"
#include "pack/cli/password.h"
#include "test_paths.h"

namespace gpuready::cli {
namespace {

namespace fs = std::filesystem;

std::string told(const auto& result) { return result ? "" : result.error().message; }

class PackOptions : public testing::Test {
 protected:
  PackOptions() {
    fs::current_path(root_);
    ::setenv("HOME", (root_ + "/home").c_str(), 1);
  }
  ~PackOptions() override {
    fs::current_path(before_);
    ::setenv("HOME", home_before_.c_str(), 1);
    fs::remove_all(root_);
  }
  static void write(const std::string& path, std::string_view text) {
    fs::create_directories(fs::absolute(path).parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }
  // A package of this name in a folder, as far as options look at it.
  static void install(const std::string& folder, const std::string& name) {
    fs::create_directories(folder + "/generations");
    write(folder + "/state.json", "{\"name\": \"" + name + "\"}");
  }

  const fs::path before_ = fs::current_path();
  const std::string home_before_ = std::getenv("HOME") == nullptr ? "/" : std::getenv("HOME");
  std::string template_ = (fs::temp_directory_path() / "pack_optionsXXXXXX").string();
  std::string root_ = fs::canonical(::mkdtemp(template_.data()));
  std::unique_ptr<Host> host_ = make_live_host();
};

constexpr const char* kRecipe =
    "name = \"libs\"\nversion = \"1\"\nfolder = "
    "\"out/{variant}\"\n[variants.cpu]\n[variants.gpu]\n";

TEST_F(PackOptions, TheFoldersOfARecipeAreBesideIt) {
  write("deep/pack.toml", kRecipe);
  const auto recipe = read_recipe(*host_, "deep/pack.toml");
  ASSERT_TRUE(recipe) << told(recipe);
  EXPECT_EQ(recipe->name, "libs");
  ASSERT_EQ(recipe->variants.size(), 2u);
  EXPECT_EQ(recipe->variants[0].folder, root_ + "/deep/out/cpu");
  EXPECT_EQ(files_of_recipe("deep/pack.toml"),
            (std::vector<std::string>{"deep/pack.toml", root_ + "/deep/out/cpu",
                                      root_ + "/deep/out/gpu"}));
  EXPECT_EQ(files_of_recipe("absent.toml"), std::vector<std::string>{"absent.toml"});
}

TEST_F(PackOptions, OfARecipeWithoutFoldersVariantsMayShareOne) {
  write("shared.toml",
        "name = \"libs\"\nversion = \"1\"\nfolder = \"out\"\n[variants.cpu]\n[variants.gpu]\n");
  EXPECT_FALSE(read_recipe(*host_, "shared.toml"));
  const auto recipe = read_recipe(*host_, "shared.toml", false);
  EXPECT_TRUE(recipe) << told(recipe);
}

TEST_F(PackOptions, ARecipeThatIsMissingOrWrongIsNamed) {
  EXPECT_EQ(told(read_recipe(*host_, "absent.toml")), told(host_->read_file("absent.toml")));
  EXPECT_EQ(told(read_recipe(*host_, kDefaultRecipe)), told(host_->read_file(kDefaultRecipe)));
  write("wrong.toml", "name = 5\n");
  const auto wrong = told(read_recipe(*host_, "wrong.toml"));
  EXPECT_TRUE(wrong.starts_with("wrong.toml")) << wrong;
}

// The default one is taken without being named, so that its owner matters.
TEST_F(PackOptions, RootTakesAnothersDefaultRecipeOnlyWhereItIsNamed) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  write("pack.toml", kRecipe);
  EXPECT_TRUE(read_recipe(*host_, kDefaultRecipe));
  ASSERT_EQ(::chown("pack.toml", 54321, 54321), 0);
  const auto untrusted = told(host_->read_believed("pack.toml"));
  ASSERT_NE(untrusted, "");
  EXPECT_EQ(told(read_recipe(*host_, kDefaultRecipe)),
            untrusted + ". To trust the recipe, name it: ./pack.toml");
  EXPECT_TRUE(read_recipe(*host_, "./pack.toml"));
}

TEST_F(PackOptions, AManifestStandsForItsFolder) {
  using Files = std::vector<std::string>;
  EXPECT_EQ(files_of_release("release"), Files{"release"});
  EXPECT_EQ(files_of_release("a/manifest.json"), (Files{"a/manifest.json", root_ + "/a"}));
  EXPECT_EQ(files_of_release("manifest.json"), (Files{"manifest.json", root_}));
  EXPECT_EQ(files_of_release("a/my-manifest.json"), Files{"a/my-manifest.json"});
}

TEST_F(PackOptions, APackageStandsForItsFolderAndItsFile) {
  EXPECT_EQ(files_of_package("libs"),
            (std::vector<std::string>{root_ + "/home/.local/share/libs/gpu-libs",
                                      root_ + "/home/.config/libs/gpu-package-info.json"}));
  EXPECT_EQ(files_of_package("no/name"), std::vector<std::string>());
}

TEST_F(PackOptions, ANamedFolderIsMadeWithAllAboveIt) {
  EXPECT_TRUE(make_named_folder("--to", "a/b/c"));
  EXPECT_TRUE(fs::is_directory("a/b/c"));
  EXPECT_TRUE(make_named_folder("--to", "a/b/c")) << "one that exists stays";
  write("file", "");
  const auto refused = make_named_folder("--out", "file/below");
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().message.starts_with("--out file/below: the folder cannot be made ("))
      << refused.error().message;
  EXPECT_TRUE(refused.error().message.ends_with("): name one that you may write to"))
      << refused.error().message;
  EXPECT_EQ(refused.error().code, ENOTDIR);
}

TEST_F(PackOptions, AnInstalledPackageIsFoundByNameOrFolder) {
  const auto usual = root_ + "/home/.local/share/libs/gpu-libs";
  install(usual, "libs");
  install("own", "others");
  struct Row {
    std::optional<std::string> name, folder;
    std::string store, error;
  };
  for (const auto& [name, folder, store, error] : std::initializer_list<Row>{
           {{}, {}, "", "name the package, or its folder with --to"},
           {"libs", {}, usual, ""},
           {{}, "own", root_ + "/own", ""},
           {"others", "own", root_ + "/own", ""},
           {"libs", "own", "", root_ + "/own holds the package others, not libs"},
           {"absent",
            {},
            "",
            root_ + "/home/.local/share/absent/gpu-libs: no package is installed "
                    "there"},
           {{}, "nowhere", "", root_ + "/nowhere: no package is installed there"}}) {
    const auto here = open_here(name, folder);
    EXPECT_EQ(told(here), error);
    if (here) {
      EXPECT_EQ(here->places.store, store);
      EXPECT_EQ(here->store().root(), store);
    }
  }
}

TEST_F(PackOptions, AnUninstalledPackageIsFoundWhereItIsToBeForgotten) {
  install("own", "libs");
  fs::remove_all("own/generations");
  const auto missing = root_ + "/own: no package is installed there";
  EXPECT_EQ(told(open_here({}, "own")), missing);
  EXPECT_EQ(told(open_here({}, "own", true)), "");
  EXPECT_EQ(told(open_here("other", "own", true)),
            root_ + "/own holds the package libs, not other");
  fs::remove("own/state.json");
  EXPECT_EQ(told(open_here({}, "own", true)), missing) << "nothing is remembered";
}

TEST_F(PackOptions, WaitingForALockIsAnnouncedUnlessQuiet) {
  const auto wait = lock_wait(1.5, false);
  EXPECT_EQ(wait.limit, std::chrono::milliseconds(1500));
  EXPECT_EQ(wait.cancel, &interrupted());
  ASSERT_TRUE(wait.begins);
  testing::internal::CaptureStderr();
  wait.begins();
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "gpuready: another gpuready process holds this package's lock; waiting at most 2 s\n");
  EXPECT_FALSE(lock_wait(1.5, true).begins);
  EXPECT_EQ(kUsualWaitSeconds, 300);
  end_at_interrupts();
}

// ---- passwords
class Passwords : public PackOptions {
 protected:
  Result<std::string> of_file(std::string_view text) {
    write("password", text);
    return read_password(*host_, "password", "Password", false);
  }
  Result<std::string> of_input(std::string_view text) {
    write("input", text);
    const Descriptor file(::open("input", O_RDONLY | O_CLOEXEC)), before(::dup(STDIN_FILENO));
    ::dup2(file.get(), STDIN_FILENO);
    auto password = read_password(*host_, "-", "Password", false);
    ::dup2(before.get(), STDIN_FILENO);
    return password;
  }
  // What a process with a terminal of its own answers after this was typed, and what the terminal
  // showed.
  std::pair<std::string, std::string> of_terminal(const std::string& typed, bool twice) {
    int terminal = -1;
    const pid_t child = ::forkpty(&terminal, nullptr, nullptr, nullptr);
    if (child == 0) {
      const auto password = read_password(*host_, std::nullopt, "Password", twice);
      write("answer", password ? "got " + *password : "error " + password.error().message);
      (void)!::write(STDERR_FILENO, ".", 1);
      ::pause();  // until the terminal goes: its last output would be lost with this process
    }
    Descriptor master(terminal);
    std::string shown;
    char bytes[256];
    const auto show = [&] {
      const auto count = ::read(terminal, bytes, sizeof bytes);
      if (count > 0) shown.append(bytes, static_cast<std::size_t>(count));
      return count > 0;
    };
    // The terminal discards what is typed before it asks.
    for (const auto line : lines(typed)) {
      while (!shown.ends_with(": ") && show()) {
      }
      const auto text = std::string(line) + "\n";
      EXPECT_EQ(::write(terminal, text.data(), text.size()), static_cast<ssize_t>(text.size()));
      shown += "|";
    }
    while (!shown.ends_with('.') && show()) {
    }
    master = Descriptor();
    ::waitpid(child, nullptr, 0);
    std::ifstream file("answer");
    return {std::string(std::istreambuf_iterator<char>(file), {}), shown};
  }
};

TEST_F(Passwords, AreTheFirstLine) {
  EXPECT_EQ(of_file("secret\nsecond\n").value(), "secret");
  EXPECT_EQ(of_file("secret").value(), "secret");
  EXPECT_EQ(of_file(" two words \r\nsecond").value(), " two words ");
  EXPECT_EQ(of_file("").value(), "");
  EXPECT_EQ(of_file("\nsecond").value(), "");
  EXPECT_EQ(of_input("secret\nsecond\n").value(), "secret");
  EXPECT_EQ(of_input("secret\r\nsecond\n").value(), "secret");
  EXPECT_EQ(of_input("secret").value(), "secret");
  EXPECT_EQ(of_input("").value(), "");
}

TEST_F(Passwords, HaveAtMost1024Bytes) {
  const std::string longest(1024, 'x');
  EXPECT_EQ(of_input(longest + "\n").value_or(""), longest);
  EXPECT_EQ(of_input(longest).value_or(""), longest);
  EXPECT_EQ(told(of_input(longest + "x\n")), "standard input: a password has at most 1024 bytes");
  EXPECT_EQ(of_file(longest).value_or(""), longest);
  EXPECT_FALSE(of_file(longest + "x"));
}

TEST_F(Passwords, OfAFileThatCannotBeReadAreAnError) {
  EXPECT_EQ(told(read_password(*host_, "absent", "Password", false)),
            told(host_->read_file("absent")));
  EXPECT_NE(told(read_password(*host_, "absent", "Password", false)), "");
}

TEST_F(Passwords, AreTypedUnseen) {
  const auto [answer, shown] = of_terminal("secret\n", false);
  EXPECT_EQ(answer, "got secret");
  EXPECT_EQ(shown, "Password: |\r\n.");
}

TEST_F(Passwords, AreTypedTwiceWhereAKeyIsMade) {
  const auto [same, shown] = of_terminal("secret\nsecret\n", true);
  EXPECT_EQ(same, "got secret");
  EXPECT_EQ(shown, "Password: |\r\nPassword again: |\r\n.");
  EXPECT_EQ(of_terminal("secret\nsecrets\n", true).first, "error the two passwords differ");
}

TEST_F(Passwords, NeedATerminalOrAFile) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::setsid();  // without a terminal
    const auto password = read_password(*host_, std::nullopt, "Password of k", false);
    write("answer", password ? "got " + *password : "error " + password.error().message);
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  std::ifstream file("answer");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}),
            "error Password of k: there is no terminal to ask for it: give it with "
            "--password-file, or that of a key that signs a new one with "
            "--signed-by-password-file");
}

TEST_F(Passwords, AreAskedForOnlyWhereAKeyHasOne) {
  const auto key = pack::make_secret_key().value();
  write("plain.key", pack::secret_key_file(key, "").value());
  const auto plain = read_secret_key(*host_, "plain.key", "absent");
  ASSERT_TRUE(plain) << told(plain);
  EXPECT_EQ(plain->public_key(), key.public_key());

  const pack::PasswordCost cheap{.operations = 32768, .memory_bytes = 1 << 24};
  write("locked.key", pack::secret_key_file(key, "secret", cheap).value());
  write("right", "secret\n");
  write("wrong", "secrets\n");
  const auto unlocked = read_secret_key(*host_, "locked.key", "right");
  ASSERT_TRUE(unlocked) << told(unlocked);
  EXPECT_EQ(unlocked->public_key(), key.public_key());
  EXPECT_FALSE(read_secret_key(*host_, "locked.key", "wrong"));
  EXPECT_EQ(told(read_secret_key(*host_, "locked.key", "absent")),
            told(host_->read_file("absent")));
  EXPECT_EQ(told(read_secret_key(*host_, "absent.key", "right")),
            told(host_->read_file("absent.key")));
  write("large.key", std::string(4097, 'x'));
  EXPECT_EQ(told(read_secret_key(*host_, "large.key", "right")),
            told(host_->read_file("large.key", 4096)));
}

// ---- machines
std::string gpus_text(const Result<pack::SelectMachine>& machine) {
  if (!machine) return machine.error().message;
  std::string text;
  for (const auto& gpu : machine->gpus)
    text += gpu.target.name() + (gpu.free_bytes ? ":" + std::to_string(*gpu.free_bytes) : "") + " ";
  return text;
}

TEST_F(PackOptions, AMachineIsDescribedByItsGpus) {
  EXPECT_EQ(gpus_text(machine_for({.gpus = {"none"}})), "");
  EXPECT_EQ(gpus_text(machine_for({.gpus = {"8.6", "gfx942", " 9.0 "}})), "8.6 gfx942 9.0 ");
  EXPECT_EQ(gpus_text(machine_for({.gpus = {"8.6", "9.0"}, .free_mb = 3})),
            "8.6:3145728 9.0:3145728 ");
  EXPECT_EQ(gpus_text(machine_for({.gpus = {"H100"}})), "9.0 ") << "a model that is not here";
  EXPECT_NE(gpus_text(machine_for({.gpus = {"8.6", "none"}})), "8.6 ") << "none is the only word";
  EXPECT_NE(told(machine_for({.gpus = {"no such GPU"}})), "");
  const auto machine = machine_for({.gpus = {"8.6"}, .driver = "550.54"});
  ASSERT_TRUE(machine);
  EXPECT_EQ(machine->driver.version, parse_version("550.54"));
  EXPECT_FALSE(machine->mark || machine->glibc || machine->cpu) << "it is not this one";
  EXPECT_EQ(told(machine_for({.gpus = {"8.6"}, .driver = "new"})),
            told(version_option("--driver", "new")));
}

TEST_F(PackOptions, AGpuOfThisMachineIsItsArchitecture) {
  Machine machine;
  for (const auto& [index, address, capability, gfx] : {std::tuple(0, "17:00.0", "8.6", ""),
                                                        {1, "18:00.0", "", "gfx942"},
                                                        {2, "19:00.0", "", ""},
                                                        {3, "1a:00.0", "new", ""}}) {
    auto& gpu = machine.gpus.emplace_back();
    gpu.index = index;
    gpu.pci = *parse_pci_address(address);
    if (*capability != 0) gpu.compute_capability = capability;
    if (*gfx != 0) gpu.gfx_target = gfx;
  }
  const auto on = [&](const std::string& word) {
    const auto targets = targets_on(machine, "--gpu", word);
    if (!targets) return targets.error().message;
    std::string all;
    for (const auto& target : *targets) all += target.name() + " ";
    return all;
  };
  EXPECT_EQ(on("17:00.0"), "8.6 ");
  EXPECT_EQ(on("18:00.0"), "gfx942 ");
  EXPECT_EQ(on("19:00.0"), "--gpu 19:00.0: the capability of this GPU is not known");
  EXPECT_EQ(on("1a:00.0"), "--gpu 1a:00.0: the capability of this GPU is not known");
  EXPECT_EQ(on("H100"), "9.0 ") << "a model that is not here";
  EXPECT_EQ(on("no such GPU"), gpus_named(machine, "--gpu", "no such GPU").error().message);
}

TEST_F(PackOptions, AMachineIsThisOneUnlessGpusOrARecordingAreNamed) {
  EXPECT_TRUE(MachineOptions{}.is_this_one());
  EXPECT_TRUE((MachineOptions{.driver = "550"}).is_this_one());
  EXPECT_FALSE((MachineOptions{.gpus = {"none"}}).is_this_one());
  EXPECT_FALSE((MachineOptions{.replay = "m.json"}).is_this_one());
}

TEST_F(PackOptions, OnlyThisMachineHasAMark) {
  const auto recorded =
      machine_for({.replay = std::string(GPUREADY_SOURCE_DIR) + "/tests/pack/machines/"
                                                                "quadro-m2200.json"});
  EXPECT_TRUE(gpus_text(recorded).starts_with("5.2")) << gpus_text(recorded);
  EXPECT_FALSE(recorded->mark || recorded->cpu);
  const auto here = machine_for({});
  ASSERT_TRUE(here) << told(here);
  EXPECT_TRUE(here->mark);
  EXPECT_TRUE(here->glibc);
  EXPECT_NE(told(machine_for({.replay = "absent.json"})), "");
}

}  // namespace
}  // namespace gpuready::cli
