// Over all commands and options: what names a file says what is done with it, and no output
// replaces what the same command reads.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/option_text.h"
#include "cli/options.h"
#include "health/test.h"
#include "machine/gpu_choice.h"

namespace gpuready::cli {
namespace {

namespace fs = std::filesystem;

using Visit = std::function<void(const std::string& command, CommandSpec& spec)>;
void each_command(std::span<const CommandEntry> commands, const std::string& parent,
                  const Visit& visit) {
  for (const CommandEntry& entry : commands) {
    CommandSpec spec;
    entry.declare(spec);
    const std::string name = parent + entry.name;
    if (spec.run) visit(name, spec);
    each_command(spec.subcommands, name + " ", visit);
  }
}

bool is_positional(const Option& option) { return option.name[0] != '-'; }

void give(const Option& option, const std::string& text) {
  if (auto* const* one = std::get_if<std::string*>(&option.value))
    **one = text;
  else if (auto* const* maybe = std::get_if<std::optional<std::string>*>(&option.value))
    **maybe = text;
  else if (auto* const* list = std::get_if<std::vector<std::string>*>(&option.value))
    (*list)->push_back(text);
}

bool means_its_value(const Option& option) {
  if (option.files_of == nullptr) return true;
  const auto files = option.files_of("/no/such");
  return std::ranges::find(files, "/no/such") != files.end();
}

class CommandTable : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("command_table_" + std::to_string(getpid()));
    fs::create_directories(folder_ / "within/deep");
    for (const char* name : {"input", "other", "within/deep/file"}) write(name);
    fs::create_hard_link(folder_ / "input", folder_ / "hard");
    fs::create_symlink("input", folder_ / "soft");
    fs::create_directory_symlink("within", folder_ / "way");
  }
  void TearDown() override { fs::remove_all(folder_); }
  void write(const std::string& name) { std::ofstream(folder_ / name) << name; }
  std::string at(const std::string& name) const { return folder_ / name; }

  fs::path folder_;
};

TEST_F(CommandTable, WhatNamesAFileSaysWhatIsDoneWithIt) {
  const std::set<std::string> kinds = {"FILE", "FOLDER", "BUNDLE", "KEYFILE", "KEY", "PROGRAM"};
  // Positional words that are no files.
  const std::set<std::string> names = {"bench loop BASE", "bench loop CANDIDATE",
                                       "kubernetes condition CONDITION", "vm drivers fetch URL"};
  each_command(all_commands(), "", [&](const std::string& command, CommandSpec& spec) {
    for (const Option& option : spec.options) {
      const std::string full = command + " " + option.name;
      const bool may_be = is_positional(option)
                              ? !names.contains(full) && full.find("DEVICE") == full.npos
                              : kinds.contains(value_name(option));
      EXPECT_EQ(may_be, option.files != Files::none) << full;
    }
  });
}

// docs/bench-run.md: 6 repeats, and up to 20 with --until.
TEST_F(CommandTable, ABenchmarkRepeatsAStackAsOftenAsTheDocsSay) {
  unsigned found = 0;
  each_command(all_commands(), "", [&](const std::string& command, CommandSpec& spec) {
    for (const Option& option : spec.options) {
      if (!command.ends_with("bench run") || std::string_view(option.name) != "--repeats") continue;
      ++found;
      EXPECT_TRUE(option.help.contains("each stack (default: 6)")) << option.help;
      EXPECT_TRUE(option.help.contains("maximum (default: 20)")) << option.help;
    }
  });
  EXPECT_EQ(found, 1u);
}

TEST_F(CommandTable, TimesGpusAndDriversAreWrittenAlikeEverywhere) {
  unsigned times = 0, gpus = 0, drivers = 0;
  each_command(all_commands(), "", [&](const std::string& command, CommandSpec& spec) {
    for (const Option& option : spec.options) {
      const std::string_view name = option.name;
      SCOPED_TRACE(command + " " + option.name);
      const bool of_time =
          std::ranges::any_of(
              std::initializer_list<const char*>{"timeout", "wait", "duration", "seconds",
                                                 "silence", "budget", "valid", "time"},
              [&](const char* word) { return name.contains(word); }) ||
          ((command == "exporter" || command == "kubernetes event" || command == "slurm install") &&
           name == "--interval");
      EXPECT_EQ(option.seconds, of_time);
      times += of_time;
      EXPECT_EQ(explanation(option).contains(" (for example 30, 30s or 2m)"), of_time);
      // --device of a benchmark is an executor.
      const bool of_gpus = (name == "--device" && option.one_of.empty()) || name == "--gpu";
      gpus += of_gpus;
      EXPECT_EQ(option.help.contains(kGpuWords), of_gpus) << option.help;
      if (name != "--driver") continue;
      ++drivers;
      EXPECT_TRUE(option.help.contains("550 or 5")) << option.help;
    }
  });
  EXPECT_GE(times, 10u);
  EXPECT_GE(gpus, 9u);
  EXPECT_GE(drivers, 4u);
}

// Each as the parser takes it; tests/cli/examples_of_help_run.sh runs them.
TEST_F(CommandTable, HelpBeginsWithExamplesThatParse) {
  unsigned count = 0;
  const auto each = [&](std::span<const CommandEntry> entries, const std::string& parent,
                        auto&& self) -> void {
    for (const CommandEntry& entry : entries) {
      const std::string name = parent + entry.name;
      const auto examples = lines(entry.examples);
      EXPECT_GE(examples.size(), 2u) << name;
      EXPECT_LE(examples.size(), 3u) << name;
      for (const std::string_view line : examples) {
        SCOPED_TRACE(line);
        ++count;
        EXPECT_LE(line.size() + std::string_view("  gpuready ").size(), 80u);
        EXPECT_TRUE((std::string(line) + " ").starts_with(name + " "));
        std::vector<std::string> words;
        for (const std::string_view word : split(line.substr(0, line.find("  #")), " "))
          words.emplace_back(word);
        EXPECT_EQ(run_command_line(all_commands(), "check", words, true), 0);
      }
      CommandSpec spec;
      entry.declare(spec);
      self(spec.subcommands, name + " ", self);
    }
  };
  each(all_commands(), "", each);
  EXPECT_GE(count, 110u);
  // The parser is asked indeed.
  EXPECT_EQ(run_command_line(all_commands(), "check", {"check", "--level", "none"}, true), 2);
}

TEST_F(CommandTable, RequiredOptionsSaySo) {
  unsigned required = 0;
  each_command(all_commands(), "", [&](const std::string& command, CommandSpec& spec) {
    for (const Option& option : spec.options) {
      const bool says = explanation(option).contains("; required");
      EXPECT_EQ(says, option.required && !is_positional(option)) << command << " " << option.name;
      required += says;
    }
  });
  EXPECT_GE(required, 5u);
}

TEST_F(CommandTable, CompletionOffersWhatTheOptionsSay) {
  const auto offered = [](std::vector<std::string> words) {
    std::vector<std::string> values;
    for (const std::string& line : completions(all_commands(), words))
      values.emplace_back(line.substr(0, line.find('\t')));
    return values;
  };
  using Words = std::vector<std::string>;
  EXPECT_EQ(offered({"sel"}), Words{"selftest"});
  EXPECT_EQ(offered({"policy", ""}), (Words{"check", "init", "--help"}));
  EXPECT_EQ(offered({"check", "--level", ""}), (Words{"quick", "standard", "thorough"}));
  EXPECT_EQ(offered({"check", "--level=s"}), Words{"--level=standard"});
  EXPECT_EQ(offered({"check", "--lev"}), Words{"--level"});
  EXPECT_EQ(offered({"test", "--only", "memory,comp"}), Words{"memory,compute"});
  EXPECT_EQ(offered({"doctor", "--replay", ""}), Words{std::string(kFilesFollow)});
  EXPECT_EQ(offered({"doctor", "--json="}), Words{std::string(kFilesFollow)});
  EXPECT_EQ(offered({"check", "--seconds-of-nothing", "x"}), Words{});
  EXPECT_EQ(offered({"doctor", "--json", "--qui"}), Words{"--quiet"}) << "takes no following word";
  EXPECT_EQ(offered({"doctor", "--no-color", "--qui"}), Words{"--quiet"}) << "a flag";
  EXPECT_EQ(offered({"doctor", "--nothing=x"}), Words{});
  EXPECT_EQ(offered({"vm", "args", "--hypervisor", "l"}), Words{"libvirt"});
  EXPECT_EQ(completions(all_commands(), Words{"dete"}),
            Words{"detect\tList the GPUs and their environment; start only NVML"});
}

TEST_F(CommandTable, HelpOfOnlyDescribesEachTestThatALevelHas) {
  std::string expected = "Run only these tests:";
  std::vector<std::string> names;
  for (const HealthTest& test : health_tests()) {
    if (!test.from) continue;
    expected += (names.empty() ? "\n  " : ";\n  ") + std::string(test.name) + ": " +
                std::string(test.summary) + " (from level " + std::string(to_string(*test.from)) +
                ")";
    names.emplace_back(test.name);
  }
  EXPECT_GE(names.size(), 5u);
  unsigned found = 0;
  each_command(all_commands(), "", [&](const std::string& command, CommandSpec& spec) {
    if (command != "test") return;
    for (const Option& option : spec.options) {
      if (std::string_view(option.name) != "--only") continue;
      ++found;
      EXPECT_EQ(option.help, expected);
      EXPECT_EQ(option.one_of, names);
    }
  });
  EXPECT_EQ(found, 1u);
}

TEST_F(CommandTable, EveryOptionWithKnownValuesCompletesThem) {
  const std::set<std::string> free = {// names, times and places that users choose
                                      "--allow-loss",
                                      "--candidate-command",
                                      "--clean-with",
                                      "--command",
                                      "--cuda",
                                      "--description",
                                      "--free-mb",
                                      "--driver",
                                      "--driver-version",
                                      "--exclude",
                                      "--expect",
                                      "--for",
                                      "--forget",
                                      "--gate",
                                      "--gpu",
                                      "--image-cuda",
                                      "--kernel",
                                      "--listen",
                                      "--lock-clocks",
                                      "--module",
                                      "--name",
                                      "--network",
                                      "--node",
                                      "--nodes",
                                      "--package",
                                      "--qmp",
                                      "--remote",
                                      "--sha256",
                                      "--shape",
                                      "--socket",
                                      "--system",
                                      "--tag",
                                      "--tensor",
                                      "--variant",
                                      "--version",
                                      "--waive",
                                      "vm drivers upgrade --to",
                                      "vm recover --accept",
                                      "bench run --idea"};
  unsigned complete = 0;
  each_command(all_commands(), "", [&](const std::string& command, CommandSpec& spec) {
    for (const Option& option : spec.options) {
      SCOPED_TRACE(command + " " + option.name);
      const bool text = !std::holds_alternative<bool*>(option.value) && !option.range &&
                        !option.seconds && value_name(option) != "N";
      if (is_positional(option) || option.hidden || !text || option.files != Files::none) continue;
      std::vector<std::string> values = option.one_of;
      values.insert(values.end(), option.such_as.begin(), option.such_as.end());
      EXPECT_NE(values.empty(),
                !free.contains(option.name) && !free.contains(command + " " + option.name));
      if (values.empty()) continue;
      ++complete;
      std::vector<std::string> words;
      for (const std::string_view word : split(command, " ")) words.emplace_back(word);
      words.insert(words.end(), {option.name, ""});
      EXPECT_EQ(completions(all_commands(), words), values);
      words.pop_back();
      words.back() += "=" + values.back();
      EXPECT_EQ(completions(all_commands(), words).back(), words.back());
    }
  });
  EXPECT_GE(complete, 40u);
}

TEST_F(CommandTable, NoOutputReplacesWhatTheCommandReads) {
  int tried = 0;
  each_command(all_commands(), "", [&](const std::string& command, CommandSpec& declared) {
    for (std::size_t in = 0; in < declared.options.size(); ++in)
      for (std::size_t out = 0; out < declared.options.size(); ++out) {
        if (declared.options[in].files != Files::read || !means_its_value(declared.options[in]))
          continue;
        const Files kind = declared.options[out].files;
        if (kind == Files::none || kind == Files::read || !means_its_value(declared.options[out]))
          continue;
        const auto with = [&](const std::string& input, const std::string& output) {
          CommandSpec spec;  // options keep their values
          const auto find = [&](std::span<const CommandEntry> commands, auto&& self,
                                const std::string& parent) -> void {
            for (const CommandEntry& entry : commands) {
              CommandSpec here;
              entry.declare(here);
              if (parent + entry.name == command) spec = here;
              self(here.subcommands, self, parent + entry.name + " ");
            }
          };
          find(all_commands(), find, "");
          give(spec.options[in], input);
          give(spec.options[out], output);
          return check_files(spec);
        };
        ++tried;
        const std::string what =
            command + " " + declared.options[in].name + " " + declared.options[out].name;
        for (const char* same : {"input", "hard", "soft", "within/../input"})
          EXPECT_TRUE(with(at("input"), at(same))) << what << " " << same;
        for (const char* inside : {"within/deep/file", "way/deep/file"})
          EXPECT_TRUE(with(at("within"), at(inside))) << what << " " << inside;
        EXPECT_TRUE(with(at("way"), at("within/deep/file"))) << what;
        for (const char* free : {"other", "new", "within/deep/new"}) {
          const auto bad = with(at("input"), at(free));
          EXPECT_FALSE(bad) << what << " " << free << ": " << bad->message;
        }
      }
  });
  EXPECT_GT(tried, 100);
}

// A pipe that nobody writes to, for each file that each command reads.
TEST_F(CommandTable, NoCommandWaitsForAPipeThatIsNamedAsAFile) {
  constexpr unsigned kMostSeconds = 5;
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  int tried = 0;
  each_command(all_commands(), "", [&](const std::string& command, CommandSpec& spec) {
    for (const Option& option : spec.options)
      for (const bool others_too : {false, true}) {
        if (option.files != Files::read || !means_its_value(option)) continue;
        ++tried;
        const auto child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
          for (const int stream : {0, 1, 2}) ::dup2(::open("/dev/null", O_RDWR), stream);
          ::setenv("HOME", folder_.c_str(), 1);
          fs::current_path(folder_ / "within");
          for (const Option& other : spec.options)
            if (others_too && &other != &option && other.files == Files::read &&
                is_positional(other))
              give(other, at("input"));
          give(option, at("pipe"));
          ::alarm(kMostSeconds);
          ::_exit(spec.run().value_or(2));
        }
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        const std::string what = command + " " + option.name;
        EXPECT_TRUE(WIFEXITED(status)) << what << ": signal " << WTERMSIG(status);
        // One prints what is to be written into that folder. A hook reads only what it needs, and
        // fails for a bad GPU only.
        static const std::set<std::string> kHooks = {"slurm health", "slurm prolog",
                                                     "slurm epilog"};
        if (kHooks.contains(command)) continue;
        const bool reads = what != "bench adapter --scripts";
        EXPECT_EQ(WIFEXITED(status) && WEXITSTATUS(status) == 0, !reads) << what;
      }
  });
  EXPECT_GT(tried, 100);
}

TEST_F(CommandTable, NamesOfRunsAndPackagesStandForFiles) {
  const auto refused = [&](const std::string& command, const char* name, const std::string& value,
                           const std::string& output) {
    bool bad = false;
    each_command(all_commands(), "", [&](const std::string& here, CommandSpec& spec) {
      if (here != command) return;
      for (const Option& option : spec.options)
        if (std::string_view(option.name) == name) give(option, value);
      for (const Option& option : spec.options)
        if (std::string_view(option.name) == "--json") give(option, output);
      bad = check_files(spec).has_value();
    });
    return bad;
  };
  write("within/id__tag.json");
  write("within/report.json");
  EXPECT_TRUE(refused("bench compare", "--results", at("within"), at("within/id__tag.json")));
  EXPECT_FALSE(refused("bench compare", "--results", at("within"), at("within/report.json")));
  EXPECT_TRUE(refused("bench compare", "BASE", "x," + at("input"), at("input")));
  EXPECT_TRUE(refused("pack adopt", "ARCHIVE", "cpu=" + at("input"), at("input")));
  EXPECT_TRUE(refused("pack install", "FROM", at("within/manifest.json"), at("within/deep/file")));
  std::ofstream(folder_ / "pack.toml") << "name = \"x\"\nversion = \"1.0\"\n"
                                          "folder = \"within\"\n[variants.cpu]\n";
  EXPECT_TRUE(refused("pack build", "RECIPE", at("pack.toml"), at("pack.toml")));
  EXPECT_TRUE(refused("pack build", "RECIPE", at("pack.toml"), at("within/deep/file")));
  const std::string home = std::getenv("HOME") == nullptr ? "" : std::getenv("HOME");
  setenv("HOME", folder_.c_str(), 1);
  fs::create_directories(folder_ / ".local/share/mine/gpu-libs");
  write(".local/share/mine/gpu-libs/state.json");
  for (const char* command : {"pack verify", "pack env", "pack rollback", "pack list"})
    EXPECT_TRUE(refused(command, "NAME", "mine", at(".local/share/mine/gpu-libs/state.json")))
        << command;
  EXPECT_TRUE(refused("pack list", "none", "", at(".local/share/mine/gpu-libs/state.json")));
  setenv("HOME", home.c_str(), 1);
}

TEST_F(CommandTable, TwoOutputsShareNoFileAndOnlyOneReportGoesToStandardOutput) {
  const auto check = [&](const std::string& html, const std::string& markdown) {
    std::optional<Error> bad;
    each_command(all_commands(), "", [&](const std::string& here, CommandSpec& spec) {
      if (here != "doctor") return;
      for (const Option& option : spec.options) {
        if (std::string_view(option.name) == "--html") give(option, html);
        if (std::string_view(option.name) == "--md") give(option, markdown);
      }
      bad = check_files(spec);
    });
    return bad.has_value();
  };
  EXPECT_TRUE(check(at("other"), at("other")));
  EXPECT_TRUE(check(at("new"), at("within/../new"))) << "not there yet";
  EXPECT_TRUE(check(at("input"), at("hard")));
  EXPECT_TRUE(check("-", "/dev/stdout"));
  EXPECT_FALSE(check("/dev/null", "/dev/null"));
  EXPECT_FALSE(check(at("new"), "-"));
}

}  // namespace
}  // namespace gpuready::cli
