#include <filesystem>
#include <memory>

#include "base/clock.h"
#include "cli/deliver_report.h"
#include "cli/options.h"
#include "cli/pack_commands.h"
#include "cli/pack_options.h"
#include "cli/password.h"
#include "host/atomic_file.h"
#include "report/pack/release_report.h"

namespace gpuready::cli {
namespace {

struct Options {
  Globals globals;
  std::string name = "pack";
  std::optional<std::string> password_file;
  bool no_password = false;
};

Result<KeyFiles> make_key(const Options& options) {
  KeyFiles files{options.name + ".key", options.name + ".pub", {}};
  // Before a password is asked for.
  for (const auto& path : {files.secret_path, files.public_path})
    if (std::filesystem::exists(path))
      return fail(ErrorKind::bad_input, path + " exists: a key is never written over");
  const auto host = make_live_host();
  std::string password;
  if (!options.no_password) {
    password = TRY(read_password(*host, options.password_file, "Password of the new key", true));
    if (password.empty())
      return fail(ErrorKind::bad_input,
                  "the password is empty (--no-password makes a key without one)");
  }
  const auto key = TRY(pack::make_secret_key());
  files.key = key.public_key();
  const auto secret = TRY(pack::secret_key_file(key, password));
  TRY(write_file_atomically(files.secret_path, secret,
                            {.on_existing = OnExisting::fail, .private_to_user = true}));
  TRY(write_file_atomically(files.public_path, files.key.file(),
                            {.on_existing = OnExisting::fail}));
  return files;
}

int run(const Options& options) {
  const auto start = Clock::now();
  if (const auto bad = bad_output(options.globals)) return complain(*bad);
  const auto files = make_key(options);
  if (!files) return complain(files.error());
  Envelope envelope = begin_envelope("pack key");
  return deliver_report(envelope, *files, start, options.globals);
}

}  // namespace

void declare_pack_key(CommandSpec& command) {
  auto options = std::make_shared<Options>();
  command.run = [options] { return run(*options); };
  command.add({
      {.name = "NAME",
       .value = &options->name,
       .help = "Writes NAME.key and NAME.pub (default: pack)"},
      password_option(options->password_file),
      {.name = "--no-password",
       .value = &options->no_password,
       .help = "Encrypt nothing: whoever reads the file can sign",
       .excludes = "--password-file"},
  });
  add_output(command, options->globals);
  command.footer =
      "Keys are those of minisign, which can read and use them. Exit codes: 0 the key was made; 2 "
      "it\n"
      "was not.";
}

}  // namespace gpuready::cli
