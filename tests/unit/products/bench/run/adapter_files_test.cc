// Whatever fails while adapters are written, a file that stands there is whole, and the next run
// writes what lacks.
#include "bench/run/adapter_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "bench/run/adapters.h"
#include "doubles/failing_storage.h"

namespace gpuready::bench {
namespace {

class Folder {
 public:
  Folder() { EXPECT_NE(::mkdtemp(path.data()), nullptr); }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string path = std::string(GPUREADY_BINARY_DIR) + "/adaptersXXXXXX";
};

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// True when all are there.
bool expect_whole_files(const std::string& folder) {
  std::size_t found = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    const std::string name = entry.path().filename();
    if (name.starts_with(".gpuready-")) continue;
    for (const AdapterFile& file : adapter_files())
      if (name == file.name) {
        EXPECT_EQ(content(entry.path()), file.text) << name;
        ++found;
      }
  }
  return found == adapter_files().size();
}

TEST(AdapterFiles, AreWholeWhateverFails) {
  const auto host = make_live_host();
  std::size_t calls = 0;
  {
    Folder folder;
    FailingStorage storage(live_storage(), {}, {});
    ASSERT_TRUE(place_adapters(folder.path + "/results", *host, storage));
    EXPECT_TRUE(expect_whole_files(folder.path));
    calls = storage.calls();
  }
  using Kind = StorageFault::Kind;
  for (const StorageFault fault :
       {StorageFault{0, Kind::once, ENOSPC}, {0, Kind::from_then_on, EROFS}, {0, Kind::killed, 0}})
    for (std::size_t at = 1; at <= calls; at += 3) {
      Folder folder;
      FailingStorage storage(live_storage(), {at, fault.kind, fault.error_number}, {});
      const auto placed = place_adapters(folder.path + "/results", *host, storage);
      if (placed) {
        EXPECT_TRUE(expect_whole_files(folder.path)) << at;
      } else {
        expect_whole_files(folder.path);
      }
      ASSERT_TRUE(place_adapters(folder.path + "/results", *host));
      EXPECT_TRUE(expect_whole_files(folder.path)) << at;
    }
}

TEST(AdapterFiles, AChangedFileIsWrittenAnew) {
  const auto host = make_live_host();
  Folder folder;
  const auto place = place_adapters(folder.path, *host);
  ASSERT_TRUE(place);
  std::ofstream(*place + "/torch_eager.py") << "print('cheat')";
  EXPECT_EQ(place_adapters(folder.path, *host).value_or(""), *place);
  EXPECT_TRUE(expect_whole_files(folder.path));
}

// Whoever could put a json.py beside the scripts would choose what they import.
TEST(AdapterFiles, StandWhereNobodyElseCanWrite) {
  const auto host = make_live_host();
  Folder folder;
  const std::string results = folder.path + "/results", cache = folder.path + "/cache";
  std::filesystem::create_directories(results);
  ::chmod(results.c_str(), 0777);
  ::setenv("XDG_CACHE_HOME", cache.c_str(), 1);
  const auto place = place_adapters(results, *host);
  ::unsetenv("XDG_CACHE_HOME");
  ASSERT_TRUE(place) << place.error().message;
  EXPECT_TRUE(place->starts_with(cache + "/gpuready/adapters-")) << *place;
  EXPECT_TRUE(std::filesystem::is_empty(results));
  EXPECT_EQ(std::filesystem::status(*place).permissions(), std::filesystem::perms::owner_all);
  EXPECT_TRUE(expect_whole_files(cache));

  // A folder of the very name, which another user has made before us.
  ::chmod(results.c_str(), 0755);
  const std::string planted = results + place->substr(place->rfind('/'));
  std::filesystem::create_directories(planted);
  ::chmod(planted.c_str(), 0777);
  std::ofstream(planted + "/json.py") << "raise SystemExit(9)";
  ::setenv("XDG_CACHE_HOME", cache.c_str(), 1);
  EXPECT_EQ(place_adapters(results, *host).value_or(""), *place);
  ::unsetenv("XDG_CACHE_HOME");
}

TEST(AdapterFiles, OfAGivenFolderAreScriptsAndItsPathIsAbsolute) {
  const auto host = make_live_host();
  Folder folder;
  const auto link = folder.path + "/link";
  std::filesystem::create_directory_symlink(folder.path, link);
  for (const std::string& path : {folder.path, folder.path + "/nowhere"}) {
    const auto missing = adapters_in(path, *host);
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().kind, ErrorKind::not_found);
    EXPECT_EQ(missing.error().message,
              path +
                  ": the adapters' scripts (torch_eager.py and others) are missing; omit "
                  "--scripts to use this program's");
  }
  std::ofstream(folder.path + "/torch_eager.py") << "x";
  EXPECT_EQ(adapters_in(link, *host), std::filesystem::canonical(folder.path).string());
}

}  // namespace
}  // namespace gpuready::bench
