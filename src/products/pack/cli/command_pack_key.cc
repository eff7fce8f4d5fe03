#include <filesystem>
#include <memory>

#include "base/clock.h"
#include "cli/deliver_report.h"
#include "cli/options.h"
#include "host/atomic_file.h"
#include "pack/cli/pack_commands.h"
#include "pack/cli/pack_options.h"
#include "pack/cli/password.h"
#include "pack/release/key_chain.h"
#include "pack/report/release_report.h"

namespace gpuready::cli {
namespace {

struct PackKeyOptions {
  Globals globals;
  std::string name = "pack";
  std::optional<std::string> password_file, signed_by, signed_by_password, package, after;
  bool no_password = false;
};

// The old keys with the new one behind them, signed by the last of them.
Result<std::string> chain_of(Host& host, const PackKeyOptions& options,
                             const pack::PublicKey& next) {
  pack::KeyChain chain{*options.package, {}};
  if (options.after)
    chain = TRY(pack::parse_key_chain(TRY(host.read_file(*options.after, pack::kMostKeyChainBytes)),
                                      *options.after));
  const auto old = TRY(read_secret_key(host, *options.signed_by, options.signed_by_password));
  if (chain.package != *options.package ||
      (!chain.keys.empty() && chain.keys.back().public_key != old.public_key().text()))
    return fail(ErrorKind::bad_input,
                *options.after + ": another package's, or its last key is not that of --signed-by");
  chain.keys.push_back(pack::sign_successor(old, *options.package, next));
  return pack::key_chain_text(chain);
}

Result<KeyFiles> make_key(const PackKeyOptions& options) {
  KeyFiles files{options.name + ".key", options.name + ".pub", {}, {}};
  if (options.signed_by) files.chain_path = options.name + ".keys.json";
  // Before a password is asked for.
  for (const auto& path : {files.secret_path, files.public_path, files.chain_path})
    if (!path.empty() && std::filesystem::exists(path))
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
  std::string chain;
  if (options.signed_by) chain = TRY(chain_of(*host, options, files.key));
  const auto secret = TRY(pack::secret_key_file(key, password));
  TRY(write_file_atomically(files.secret_path, secret,
                            {.on_existing = OnExisting::fail, .private_to_user = true}));
  TRY(write_file_atomically(files.public_path, files.key.file(),
                            {.on_existing = OnExisting::fail}));
  if (!chain.empty())
    TRY(write_file_atomically(files.chain_path, chain, {.on_existing = OnExisting::fail}));
  return files;
}

std::vector<std::string> files_of_key(const std::string& name) {
  return {name + ".key", name + ".pub", name + ".keys.json"};
}

Result<int> run_pack_key(const PackKeyOptions& options) {
  const auto start = Clock::now();
  const auto files = TRY(make_key(options));
  Envelope envelope = begin_envelope("pack key");
  return deliver_report(envelope, files, start, options.globals);
}

}  // namespace

void declare_pack_key(CommandSpec& command) {
  auto options = std::make_shared<PackKeyOptions>();
  command.run = [options] { return run_pack_key(*options); };
  command.add({
      {.name = "NAME",
       .value = &options->name,
       .help = "Writes NAME.key and NAME.pub (default: pack)",
       .files = Files::written,
       .files_of = files_of_key},
      password_option(options->password_file),
      {.name = "--no-password",
       .value = &options->no_password,
       .help = "Store the key unencrypted: whoever reads the file can sign",
       .excludes = "--password-file"},
      {.name = "--package",
       .value = &options->package,
       .help = "With --signed-by: the package whose releases the key will sign",
       .type = "NAME"},
      {.name = "--signed-by",
       .value = &options->signed_by,
       .help = "The previous key, which signs this one: installers that trust it learn the new one "
               "from NAME.keys.json",
       .type = "FILE",
       .needs = "--package",
       .files = Files::read},
      {.name = "--signed-by-password-file",
       .value = &options->signed_by_password,
       .help = "Read that key's password from the first line of FILE",
       .type = "FILE",
       .needs = "--signed-by",
       .files = Files::read},
      {.name = "--after",
       .value = &options->after,
       .help = "The keys.json of the previous release, if it has one",
       .type = "FILE",
       .needs = "--signed-by",
       .files = Files::read},
  });
  add_output(command, options->globals);
  command.footer =
      "The keys have minisign's format. Exit codes: 0 the key was created; 2 it was not.";
}

}  // namespace gpuready::cli
