// What is installed of one package, in one folder:
//
//   objects/<sha256>[x]          each file once, by its content; x: executable. Its time of
//                                modification follows from its content: whoever writes to it
//                                changes that. Also how large files are cut (cuts.h)
//   partial/<sha256>-<piece>     pieces of large files that are not fetched yet
//   generations/<number>/...     one installed version: hard links to objects, symbolic links
//   generations/<number>/.gpuready/{manifest.json,manifest.json.minisig,installed.json,
//                                   gpu-package-info.json}
//   current -> generations/<number>
//   state.json                   the trusted key, and the highest version that was ever seen
//   lock                         held by whoever changes any of this
//
// `current` changes by one rename, after all that it leads to was written and synced. So whatever
// fails, and whenever the process dies, it leads to a whole version: the old one or the new one.
//
// A store is changed only where its folders and state.json are not links, belong to root or the
// effective user, and no one else may write to them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/atomic_file.h"
#include "host/host.h"
#include "host/storage.h"
#include "pack/release/manifest.h"

namespace gpuready::pack {

// What the load test found of one library on one GPU, or on the CPU.
struct LoadResult {
  std::string device;                        // UUID of the GPU, or "cpu"
  std::string name;                          // of the GPU
  std::uint64_t libraries = 0, modules = 0;  // that loaded
  std::optional<std::string> failure;        // the first one, and why
  std::uint64_t probes = 0;                  // kernels that were launched and wrote what they must
};

struct Installed {
  std::uint64_t number = 0;
  std::string name, version, variant, installed_utc, from;
  std::optional<std::uint64_t> previous;  // generation that was current before
  std::vector<std::string> gpus;          // of the machine then: "9.0 NVIDIA H200"
  std::optional<std::string> machine;     // its driver and GPUs, by machine_mark()
  std::vector<LoadResult> loads;
  std::optional<std::string> model = {};  // that was chosen, and loaded where it names a program
};

struct StoreState {
  std::string name;
  std::optional<std::string> key;                              // base64 of minisign's public key
  std::optional<std::string> highest_version, highest_sha256;  // of the manifest's text
};

// For whom the lock of a store is waited for.
struct LockWait {
  std::chrono::milliseconds limit{0};
  const std::atomic<bool>* cancel = nullptr;
  std::function<void()> begins = {};  // called once, where there is a wait
};
inline constexpr std::chrono::minutes kUsualLockWait{5};

// Readable by all and writable by the owner alone, whatever the umask is: programs of any user read
// what is installed, and whoever could write there would choose what they load.
inline constexpr WriteOptions kStoreFile{.mode = 0644, .follow_link = false};

// A file that gpuready wrote into a store and that is missing or not readable as such any more: an
// error of this kind is not a mistake of the caller's.
bool is_damage(const Error& error);
Error as_damage(Error error);

struct StoreOutcome {
  std::uint64_t files = 0, bytes = 0;
};

// Paths in a generation.
struct VariantNames {
  std::set<std::string> files, folders;
};

class Store {
 public:
  Store(Host& host, Storage& storage, std::string root)
      : host_(host), storage_(storage), root_(std::move(root)) {}

  const std::string& root() const { return root_; }
  std::string current_path() const { return root_ + "/current"; }
  std::string generation_path(std::uint64_t number) const;
  std::string object_path(const PackedFile& file) const;

  // Makes the folders, all above too. `busy` where somebody else changes this store for longer than
  // is waited.
  Result<std::unique_ptr<Storage::Lock>> open(const LockWait& wait = {});
  bool exists() const;               // a version is, or was, installed
  bool remembers() const;            // key and version of a package, though it may be uninstalled
  Result<StoreState> state() const;  // an empty one where there is none
  Result<void> write_state(const StoreState& state);

  Result<std::optional<std::uint64_t>> current() const;
  Result<std::vector<Installed>> installed() const;  // whole ones, by number
  Result<Installed> installed(std::uint64_t number) const;
  Result<std::string> manifest_of(std::uint64_t number) const;  // its text
  Result<Manifest> parsed_manifest(std::uint64_t number) const;

  bool has(const PackedFile& file) const;              // by name and hash
  bool looks_unchanged(const PackedFile& file) const;  // by name, size and time
  Result<AtomicFile> new_object(const PackedFile& file);

  // A large file that is fetched in pieces, which stay until it is an object: a process that is
  // killed leaves them to the next.
  std::string piece_path(const PackedFile& file, const std::string& piece) const;
  struct Piece {
    std::unique_ptr<Storage::File> rest;  // what is missing is written there
    std::uint64_t kept_bytes = 0;         // of an earlier process
  };
  Result<Piece> continue_piece(const PackedFile& file, const std::string& piece,
                               std::uint64_t bytes);
  Result<void> remove_piece(const PackedFile& file, const std::string& piece);

  // The variant's files, all of which are objects, in a new generation. Nothing leads to it yet.
  Result<std::uint64_t> stage(const Variant& variant);
  // Writes what belongs to it beside the files. From then on it counts as installed. `info`: what
  // programs learn while it is current.
  Result<void> complete(const Installed& installed, const std::string& manifest,
                        const std::string& signature, const std::string& info);
  Result<std::string> info_of(std::uint64_t number) const;
  Result<void> write_info(std::uint64_t number, const std::string& info);
  Result<void> activate(std::uint64_t number);
  Result<void> remove_generation(std::uint64_t number);
  // Generations that no kill left half made: all others are removed.
  Result<void> remove_incomplete();
  // Objects that no generation holds, and temporary files of killed installers.
  Result<StoreOutcome> remove_unused_objects();
  Result<void> remove_versions();  // all; state.json stays
  Result<void> remove_all();       // what it remembers, too

  // Whether each file and link of a generation is there and unchanged. A file that still has the
  // size and the time that it was installed with is not hashed, unless `hash_all`.
  bool is_whole(std::uint64_t number, const Variant& variant, bool hash_all = false) const;
  struct Damage {
    const PackedFile* file;
    std::string problem;  // its path, and what is wrong with it
  };
  // Everything hashed: what is not as it was signed.
  std::vector<Damage> damaged(std::uint64_t number, const Variant& variant) const;
  // Names in a generation that the variant does not hold: whoever put them there chooses what
  // programs load. A folder of them is named once; a link in place of a folder counts, too.
  Result<std::vector<std::string>> added(std::uint64_t number, const Variant& variant) const;
  // Names beside ours: what an installer of another kind left, or its owner put there.
  std::vector<std::string> foreign() const;
  // So that no later version shares it, and the next installation fetches it.
  Result<void> forget_object(const PackedFile& file);

 private:
  Result<void> check_ours() const;
  Result<void> check_owner() const;
  Result<void> look_for_added(const std::string& folder, const std::string& inside,
                              const VariantNames& names, std::vector<std::string>& found) const;
  std::string own_path(std::uint64_t number) const;    // "<generation>/.gpuready/"
  Result<std::vector<std::uint64_t>> numbers() const;  // of all folders, whole or not
  Result<void> place(const PackedFile& file, const std::string& folder);

  Host& host_;
  Storage& storage_;
  std::string root_;
};

}  // namespace gpuready::pack
