// Walks every call that a writer makes: lets it fail in each way, and looks at what it left. One
// writer is one function; `walk_storage` runs it on this machine's files and in memory, on
// filesystems that have all that Linux offers and on poorer ones, over an old file and over none.
#pragma once

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "doubles/failing_storage.h"
#include "doubles/memory_storage.h"

namespace gpuready {

// A folder that holds one target, which a writer replaces.
class WalkedPlace {
 public:
  virtual ~WalkedPlace() = default;
  virtual Storage& storage() = 0;
  virtual std::string target() const = 0;
  virtual void reset(const std::optional<std::string>& old) = 0;  // nothing else remains
  virtual std::optional<std::string> content() const = 0;
  virtual std::vector<std::string> names() const = 0;  // of all files in the folder, without it
};

class LivePlace final : public WalkedPlace {
 public:
  LivePlace() { EXPECT_NE(::mkdtemp(template_.data()), nullptr); }
  ~LivePlace() override { std::filesystem::remove_all(template_); }
  Storage& storage() override { return live_storage(); }
  std::string target() const override { return template_ + "/target"; }
  void reset(const std::optional<std::string>& old) override {
    for (const auto& name : names()) std::filesystem::remove(template_ + "/" + name);
    if (old) std::ofstream(target(), std::ios::binary) << *old;
  }
  std::optional<std::string> content() const override {
    std::ifstream file(target(), std::ios::binary);
    if (!file) return std::nullopt;
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(template_))
      found.push_back(entry.path().filename());
    return found;
  }

 private:
  std::string template_ = std::string(GPUREADY_BINARY_DIR) + "/storageXXXXXX";
};

class MemoryPlace final : public WalkedPlace {
 public:
  MemoryStorage& storage() override { return *storage_; }
  std::string target() const override { return "/folder/target"; }
  void reset(const std::optional<std::string>& old) override {
    storage_.emplace();
    ASSERT_TRUE(storage_->make_folder("/folder", 0755));
    ASSERT_TRUE(storage_->sync_folder("/"));
    if (!old) return;
    const auto file = storage_->create(target(), 0644);
    ASSERT_TRUE(file && (*file)->write(*old) && (*file)->sync());
    ASSERT_TRUE(storage_->sync_folder("/folder"));
  }
  std::optional<std::string> content() const override { return storage_->content(target()); }
  std::vector<std::string> names() const override {
    auto found = storage_->names("/folder");
    for (auto& name : found) name.erase(0, std::string("/folder/").size());
    return found;
  }

 private:
  std::optional<MemoryStorage> storage_;
};

// What filesystems lack: NFS has no files without names and no rename that refuses to replace, FAT
// no links either.
inline const std::set<StorageCall> kPoorFilesystems[] = {
    {},
    {StorageCall::create_unnamed},
    {StorageCall::create_unnamed, StorageCall::rename_no_replace},
    {StorageCall::create_unnamed, StorageCall::rename_no_replace, StorageCall::link}};

using StorageWriter = std::function<Result<void>(Storage&, const std::string& path)>;

struct StorageWalk {
  WalkedPlace& place;
  const StorageWriter& write;
  std::optional<std::string> old;
  std::set<StorageCall> unsupported;
  std::string wanted{};  // what a write without a fault gives

  std::vector<std::string> temporaries() const {
    auto names = place.names();
    std::erase(names, "target");
    return names;
  }

  // The number of calls that a write makes when none fails.
  std::size_t without_fault() {
    place.reset(old);
    FailingStorage storage(place.storage(), {}, unsupported);
    const auto written = write(storage, place.target());
    EXPECT_TRUE(written) << written.error().message;
    EXPECT_EQ(temporaries().size(), 0u);
    EXPECT_TRUE(place.content());
    wanted = place.content().value_or("");
    expect_durable(true);
    return storage.calls();
  }

  // True when a temporary file remained.
  bool with(StorageFault fault) {
    place.reset(old);
    FailingStorage storage(place.storage(), fault, unsupported);
    const auto written = write(storage, place.target());
    const auto now = place.content();
    EXPECT_TRUE(now == wanted || now == old) << now.value_or("nothing");
    if (written) {
      EXPECT_EQ(now, wanted);
    }
    if (fault.kind == StorageFault::Kind::killed) {
      EXPECT_FALSE(written);
    }
    const auto remains = temporaries();
    for (const auto& name : remains)
      EXPECT_TRUE(std::regex_match(name, std::regex(R"(\.gpuready-\d+-\d+\.tmp)"))) << name;
    if (fault.kind == StorageFault::Kind::once) {
      EXPECT_EQ(remains.size(), 0u);
    }
    EXPECT_LE(remains.size(), 1u);
    expect_durable(written.has_value());
    return !remains.empty();
  }

  // Whatever a disk forgets, what it holds is whole; and the new file once its writer said so.
  void expect_durable(bool written) {
    auto* memory = dynamic_cast<MemoryStorage*>(&place.storage());
    if (memory == nullptr) return;
    for (const auto names : {MemoryStorage::Names::all, MemoryStorage::Names::synced}) {
      MemoryStorage disk = *memory;
      disk.lose_power(names);
      const auto kept = disk.content(place.target());
      EXPECT_TRUE(kept == wanted || (!written && kept == old)) << kept.value_or("nothing");
    }
  }

  void run() {
    using Kind = StorageFault::Kind;
    const std::size_t calls = without_fault();
    const bool unnamed = !unsupported.contains(StorageCall::create_unnamed);
    for (const StorageFault fault : {StorageFault{0, Kind::once, ENOSPC},
                                     {0, Kind::once, EIO},
                                     {0, Kind::once, EROFS},
                                     {0, Kind::from_then_on, EROFS},
                                     {0, Kind::killed, 0}}) {
      std::size_t left_temporary = 0;
      for (std::size_t at = 1; at <= calls; ++at) {
        SCOPED_TRACE("call " + std::to_string(at) + " fails with error " +
                     std::to_string(fault.error_number));
        left_temporary += with({at, fault.kind, fault.error_number}) ? 1 : 0;
      }
      // A file without a name needs one for the moment of replacing another.
      if (unnamed) {
        EXPECT_LE(left_temporary, old ? 1u : 0u);
      }
    }
  }
};

inline void walk_storage(const StorageWriter& write) {
  LivePlace live;
  MemoryPlace memory;
  for (WalkedPlace* place : std::initializer_list<WalkedPlace*>{&live, &memory})
    for (const auto& unsupported : kPoorFilesystems)
      for (const std::optional<std::string>& old :
           {std::optional<std::string>(), std::optional<std::string>("the old file")}) {
        SCOPED_TRACE(std::string(place == &live ? "live" : "in memory") + ", " +
                     std::to_string(unsupported.size()) + " calls unsupported, " +
                     (old ? "over an old file" : "a new file"));
        StorageWalk{*place, write, old, unsupported}.run();
      }
}

}  // namespace gpuready
