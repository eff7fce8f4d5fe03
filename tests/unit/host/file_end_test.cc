#include "host/file_end.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"
#include "base/units.h"
#include "unit/test_folder.h"

namespace gpuready {
namespace {

TEST(FileEnd, IsTheLastWholeLines) {
  struct Row {
    std::string text;
    std::size_t most;
    std::string end;
    std::size_t unread_bytes, unread_lines;
  };
  for (const auto& [text, most, end, unread_bytes, unread_lines] :
       {Row{"", 4, "", 0, 0},
        {"a\nb\n", 4, "a\nb\n", 0, 0},
        {"a\nb\nc\n", 5, "b\nc\n", 2, 1},
        {"a\nb\nc\n", 4, "c\n", 4, 2},
        {"a\nb\nc", 4, "b\nc", 2, 1},
        {"abcd", 4, "abcd", 0, 0},
        {"abcde", 4, "", 5, 0},
        {"a\nbcdef", 4, "", 7, 1}}) {
    const auto found = end_of(text, most);
    EXPECT_EQ(found.text, end) << text << most;
    EXPECT_EQ(found.unread_bytes, unread_bytes) << text << most;
    EXPECT_EQ(found.unread_lines, unread_lines) << text << most;
  }
}

TEST(FileEnd, OfALargeFileTheRestIsCounted) {
  const TestFolder folder;
  std::string text;
  while (text.size() < 3 * MiB) text += "line " + std::to_string(text.size()) + "\n";
  folder.write("file", text);
  const auto end = read_file_end(folder.path("file"), MiB);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_LE(end->text.size(), MiB);
  EXPECT_GT(end->text.size(), MiB - 100);
  EXPECT_TRUE(text.ends_with("\n" + end->text));
  EXPECT_EQ(end->unread_bytes, text.size() - end->text.size());
  EXPECT_EQ(end->unread_lines + lines(end->text).size(), lines(text).size());
  EXPECT_EQ(read_file_end(folder.path("file"), 4 * MiB)->text, text);
  EXPECT_EQ(read_file_end(folder.path("file"), text.size())->text, text);
}

TEST(FileEnd, APipeIsReadOnlyByItsDescriptor) {
  const TestFolder folder;
  EXPECT_EQ(read_file_end(folder.path("none"), 100).error().kind, ErrorKind::not_found);
  EXPECT_EQ(read_file_end(folder.path(), 100).error().kind, ErrorKind::unsupported);
  ASSERT_EQ(::mkfifo(folder.path("fifo").c_str(), 0600), 0);
  EXPECT_EQ(read_file_end(folder.path("fifo"), 100).error().kind, ErrorKind::unsupported);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "a\nb\n", 4), 4);
  ::close(ends[1]);
  const auto end = read_file_end("/dev/fd/" + std::to_string(ends[0]), 100);
  ::close(ends[0]);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->text, "a\nb\n");
}

TEST(NamedFile, IsCreatedAndThenExtended) {
  const TestFolder folder;
  const auto path = folder.path("summary");
  EXPECT_EQ(size_of_named_file(path), 0u);
  const auto mask = ::umask(022);
  EXPECT_TRUE(append_to_named_file(path, "one\n"));
  ::umask(mask);
  EXPECT_TRUE(append_to_named_file(path, "two\n"));
  EXPECT_EQ(folder.read("summary"), "one\ntwo\n");
  EXPECT_EQ(size_of_named_file(path), 8u);
  struct stat facts{};
  ASSERT_EQ(::stat(path.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0644u);
  ASSERT_EQ(::symlink("summary", folder.path("link").c_str()), 0);
  EXPECT_TRUE(append_to_named_file(folder.path("link"), "three\n"));
  EXPECT_EQ(folder.read("summary"), "one\ntwo\nthree\n");
}

TEST(NamedFile, ErrorsSayWhatFailed) {
  const TestFolder folder;
  folder.write("file", "");
  const auto below = size_of_named_file(folder.path("file/x"));
  ASSERT_FALSE(below);
  EXPECT_TRUE(below.error().message.starts_with("cannot read " + folder.path("file/x")));
  for (const auto& [name, code] :
       {std::pair("none/x", ENOENT), {"file/x", ENOTDIR}, {"", EISDIR}}) {
    const auto written = append_to_named_file(folder.path(name), "x");
    ASSERT_FALSE(written) << name;
    EXPECT_EQ(written.error().code, code) << name;
    EXPECT_TRUE(written.error().message.starts_with("cannot write to " + folder.path(name)));
  }
  ASSERT_EQ(::mkfifo(folder.path("fifo").c_str(), 0600), 0);
  EXPECT_EQ(append_to_named_file(folder.path("fifo"), "x").error().code, ENXIO) << "no reader";
}

}  // namespace
}  // namespace gpuready
