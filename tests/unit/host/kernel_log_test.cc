// What the kernel logs, and how a program gets it.
#include "host/kernel_log.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <functional>
#include <map>
#include <random>

#include "base/text.h"

namespace gpuready {
namespace {

// syslog_print_all() of the kernel: the last records that fit whole.
struct SyslogBuffer {
  std::vector<std::string> records;
  std::function<void(SyslogBuffer&)> before_a_read = [](SyslogBuffer&) {};
  std::size_t reads = 0;

  explicit SyslogBuffer(std::vector<std::string> all) : records(std::move(all)) {}
  std::string last(std::size_t room) const {
    std::string text;
    for (std::size_t i = records.size(); i > 0 && text.size() + records[i - 1].size() <= room; --i)
      text.insert(0, records[i - 1]);
    return text;
  }
  int read(std::size_t room, std::string& into) {
    before_a_read(*this);
    ++reads;
    into = last(room);
    return static_cast<int>(into.size());
  }
  std::string log() {
    const auto text = last(SIZE_MAX);
    return kernel_log_from_syslog(text, [&](std::size_t offset) {
      const auto next = next_record(
          text, offset, [&](std::size_t room, std::string& into) { return read(room, into); });
      EXPECT_TRUE(next) << offset;
      return next.value_or(text.size());
    });
  }
};

TEST(KernelLog, RendersKmsgRecords) {
  std::string log;
  append_kmsg_record("6,339,5140900,-;NVRM: loading\n SUBSYSTEM=pci\n DEVICE=+pci:x\n", log);
  append_kmsg_record("4,340,5,-,caller=T1;a;b \\xc3\\xa9 \\x5cx41\n", log);
  append_kmsg_record("6,341,7000001,-;one: two\\x0a  one: three\\x0afour\n", log);
  EXPECT_EQ(
      log,
      "5.140900 NVRM: loading\n0.000005 a;b \xc3\xa9 \\x41\n7.000001 one: two\n7.000001   one: "
      "three four\n");
}

std::string kmsg(std::initializer_list<std::string_view> records) {
  std::string log;
  for (const auto record : records) append_kmsg_record(record, log);
  return log;
}

// A user's programs reach /dev/kmsg through services, and with any facility but the kernel's.
TEST(KernelLog, LeavesOutWhatProgramsWrote) {
  const std::string text = ";NVRM: Xid (PCI:0000:17:00): 62, pid=1\n";
  for (const int facility : {1, 3, 10, 16, 23})
    for (int level = 0; level < 8; ++level)
      EXPECT_EQ(kmsg({std::to_string(facility * 8 + level) + ",1,5,-" + text}), "") << facility;
  EXPECT_EQ(kmsg({"3,1,5,-" + text}), "0.000005 NVRM: Xid (PCI:0000:17:00): 62, pid=1\n");
  EXPECT_EQ(
      SyslogBuffer({"<12>[    2.5] NVRM: x\n", "<30>[    2.6] y\n", "<7>[    2.7] z\n"}).log(),
      "2.7 z\n");
}

TEST(KernelLog, ADeviceIsNamedByTheRecordItself) {
  const std::string head = "3,1,5,-;xe 0000:03:00.0: page allocation failure\n";
  EXPECT_EQ(kmsg({head}), "") << "a process may be named so";
  EXPECT_EQ(kmsg({head + " SUBSYSTEM=pci\n DEVICE=+pci:0000:04:00.0\n"}), "");
  EXPECT_EQ(kmsg({head + " SUBSYSTEM=pci\n DEVICE=+pci:0000:03:00.0\n"}),
            "0.000005 xe 0000:03:00.0: page allocation failure\n");
  // NVIDIA's driver names the GPU in its text, and no device.
  EXPECT_EQ(kmsg({"3,1,5,-;NVRM: GPU 0000:17:00.0: RmInitAdapter failed! (0x62:0x55:2477)\n"}),
            "0.000005 NVRM: GPU 0000:17:00.0: RmInitAdapter failed! (0x62:0x55:2477)\n");
  EXPECT_EQ(kmsg({"3,1,5,-;xe 0000:03:00.0: a\\x0a DEVICE=+pci:0000:03:00.0\n"}), "")
      << "text is no dictionary";
}

// Only lines of one record have one time.
TEST(KernelLog, RecordsOfOneMicrosecondStayApart) {
  EXPECT_EQ(kmsg({"6,1,7000001,-;a: b\\x0aa: c\n", "6,2,7000001,-;three\n", "6,3,7000001,-;four\n",
                  "6,4,7000002,-;five\n"}),
            "7.000001 a: b\n7.000001 a: c\n7.000001001 three\n7.000001002 four\n7.000002 five\n");
  EXPECT_EQ(kmsg({"6,1,7,c;begun\n", "6,2,9,+; and ended\n"}),
            "0.000007 begun\n0.000007  and ended\n")
      << "kernels before 4.10";
}

TEST(KernelLog, LeavesOutWhatIsNoRecord) {
  std::string log;
  for (const char* record : {"", ";", "6,1;text", "6,1,x,-;text", "no semicolon", "6,1,99,-;"})
    append_kmsg_record(record, log);
  EXPECT_EQ(log, "");
}

// A name of a process, a mount option: what follows its line break is no line.
TEST(KernelLog, ALineBreakThatAUserChoseIsABlank) {
  EXPECT_EQ(
      kmsg({"3,1,5,-;tmpfs: Unknown parameter 'x\\x0aNVRM: Xid (PCI:0000:17:00): 62, a\\x0a'\n"}),
      "0.000005 tmpfs: Unknown parameter 'x NVRM: Xid (PCI:0000:17:00): 62, a '\n");
  EXPECT_EQ(kmsg({"3,1,5,-;NVRM: Xid (PCI:0000:17:00): 62, pid=7, name=a\\x0ab, 2027(21a8)\n"}),
            "0.000005 NVRM: Xid (PCI:0000:17:00): 62, pid=7, name=a b, 2027(21a8)\n");
  EXPECT_EQ(kmsg({"3,1,5,-;no writer\\x0ano writer\n", "3,1,6,-;\\x0aNVRM: x\n"}),
            "0.000005 no writer no writer\n0.000006  NVRM: x\n");
  EXPECT_EQ(SyslogBuffer({"<3>[    1.5] tmpfs: 'x\n<3>[    1.5] NVRM: y\n"}).log(),
            "1.5 tmpfs: 'x NVRM: y\n");
}

TEST(KernelLog, RendersSyslogText) {
  EXPECT_EQ(
      SyslogBuffer({"<6>[   12.345678] NVRM: x\n", "<4>no time\n", "<6>[abc] y\n", "[13.5] z\n"})
          .log(),
      "12.345678 NVRM: x\n13.5 z\n");
  EXPECT_EQ(SyslogBuffer({"<6>[    2.5][  T291] nvidia: x\n", "<6>[    2.6][    C1] y\n",
                          "<6>[    3.5] [Hardware Error]: z\n", "<6>[    3.6] [Tea] w\n"})
                .log(),
            "2.5 nvidia: x\n2.6 y\n3.5 [Hardware Error]: z\n3.6 [Tea] w\n");
  EXPECT_EQ(SyslogBuffer({"<4>[    3.5] NVRM: a\n<4>[    3.5] NVRM: b\n<4>[    3.5] c\n"}).log(),
            "3.5 NVRM: a\n3.5 NVRM: b c\n");
}

// Another level, task or facility is another record; where all are the same the kernel is asked.
TEST(KernelLog, RecordsOfOneMicrosecondStayApartInSyslogToo) {
  SyslogBuffer other_heads({"<3>[    1.5] tmpfs: 'x'\n", "<4>[    1.5] NVRM: y\n",
                            "<14>[    1.5] NVRM: z\n", "<4>[    1.5][  T9] NVRM: w\n"});
  EXPECT_EQ(other_heads.log(), "1.5 tmpfs: 'x'\n1.5001 NVRM: y\n1.5002 NVRM: w\n");
  EXPECT_EQ(other_heads.reads, 0u);
  SyslogBuffer same_heads({"<3>[    1.5] tmpfs: 'x'\n",
                           "<3>[    1.5] NVRM: y\n<3>[    1.5] NVRM: z\n",
                           "<3>[    1.5] tmpfs: 'x\n<3>[    1.5] NVRM: w'\n"});
  const std::string wanted =
      "1.5 tmpfs: 'x'\n1.5001 NVRM: y\n1.5001 NVRM: z\n1.5002 tmpfs: 'x NVRM: w'\n";
  EXPECT_EQ(same_heads.log(), wanted);
  // Others write meanwhile.
  auto busy = same_heads;
  busy.before_a_read = [](SyslogBuffer& buffer) {
    if (buffer.reads % 5 == 0)
      buffer.records.push_back("<3>[    9." + std::to_string(buffer.reads) + "] more\n");
  };
  EXPECT_EQ(busy.log(), wanted);
}

TEST(KernelLog, EveryRecordOfSyslogIsFoundInAnyBuffer) {
  std::mt19937_64 engine(7);
  const auto below = [&](std::size_t limit) { return static_cast<std::size_t>(engine() % limit); };
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> records;
    std::string wanted;
    std::map<std::string, int> used;
    for (std::size_t i = 0; i < 12; ++i) {
      const auto time = std::to_string(1 + i / 4) + ".500000";
      std::string record, text;
      for (std::size_t line = 0, all = 1 + below(3); line < all; ++line) {
        const std::string piece = "x" + std::to_string(below(3));
        record += "<6>[    " + time + "] " + piece + "\n";
        text += (line > 0 ? " " : "") + piece;
      }
      const auto same = used[time]++;
      wanted += time + (same > 0 ? fmt::format("{:03}", same) : "") + " " + text + "\n";
      records.push_back(record);
    }
    SyslogBuffer buffer(records);
    buffer.before_a_read = [&](SyslogBuffer& now) {
      for (auto more = below(3); more > 0 && now.reads % 3 == 0; --more)
        now.records.push_back("<6>[    " + std::to_string(100 + now.reads) + ".0] later\n");
    };
    ASSERT_EQ(buffer.log(), wanted);
  }
}

TEST(KernelLog, ALogThatChangesFasterThanItIsReadIsNotKnown) {
  SyslogBuffer buffer({"<3>[    1.5] a\n", "<3>[    1.5] b\n"});
  buffer.before_a_read = [](SyslogBuffer& now) {
    now.records.push_back("<3>[    9." + std::string(now.reads, '5') + "] more\n");
  };
  const auto text = buffer.last(SIZE_MAX);
  EXPECT_FALSE(next_record(text, text.size() / 2, [&](std::size_t room, std::string& into) {
    return buffer.read(room, into);
  }));
}

}  // namespace
}  // namespace gpuready
