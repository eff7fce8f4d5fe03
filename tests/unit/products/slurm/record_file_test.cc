#include "slurm/record_file.h"

#include <gtest/gtest.h>

#include "unit/products/slurm/fake_slurm.h"

namespace gpuready::slurm {
namespace {

TEST(SlurmRecordFile, HasAPathOfOneNameWhateverTheNodeIsCalled) {
  const struct {
    const char *node, *path;
  } rows[] = {{"n1", "/var/lib/gpuready/slurm-n1.json"},
              {"gpu-07.Site_A", "/var/lib/gpuready/slurm-gpu-07-Site-A.json"},
              {"../../etc/x", "/var/lib/gpuready/slurm-------etc-x.json"},
              {"", "/var/lib/gpuready/slurm-.json"}};
  for (const auto& row : rows) EXPECT_EQ(record_path("/var/lib/gpuready", row.node), row.path);
}

TEST(SlurmRecordFile, IsReadBackAsItWasWritten) {
  const Record record{.node = "n1",
                      .reasons = {"gpuready: a (reboot)", "gpuready: b (reboot)"},
                      .causes = {"xid-48", "xid-79"},
                      .pids = {41, 77},
                      .needs_test = Level::standard,
                      .drained_unix_seconds = 1000,
                      .boot_id = "b",
                      .resumed_on_sight = 2};
  FakeSlurm fake;
  ASSERT_TRUE(write_file_atomically(FakeSlurm::kRecord, record_text(record), {}, fake.disk));
  const auto read = read_record(fake, FakeSlurm::kRecord);
  ASSERT_TRUE(read);
  ASSERT_TRUE(*read);
  EXPECT_EQ((*read)->node, record.node);
  EXPECT_EQ((*read)->reasons, record.reasons);
  EXPECT_EQ((*read)->causes, record.causes);
  EXPECT_EQ((*read)->pids, record.pids);
  EXPECT_EQ((*read)->needs_test, record.needs_test);
  EXPECT_EQ((*read)->drained_unix_seconds, record.drained_unix_seconds);
  EXPECT_EQ((*read)->boot_id, record.boot_id);
  EXPECT_EQ((*read)->resumed_on_sight, record.resumed_on_sight);
}

TEST(SlurmRecordFile, AMissingOneIsNoneAndAnythingElseIsAnError) {
  const auto none = read_record(*scripted(), "/kept/r.json");
  ASSERT_TRUE(none);
  EXPECT_EQ(*none, std::nullopt);
  Recording recording;
  recording.files["/kept/r.json"] =
      RecordedFailure{ErrorKind::no_permission, "another user can write it", 0};
  const auto refused = read_record(*scripted(recording), "/kept/r.json");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "another user can write it");
  recording.files["/kept/r.json"] = R"({"format": "gpuready.status"})";
  const auto other = read_record(*scripted(recording), "/kept/r.json");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().kind, ErrorKind::bad_input);
  EXPECT_EQ(other.error().message,
            "/kept/r.json is not what gpuready slurm kept of a node; delete it");
}

}  // namespace
}  // namespace gpuready::slurm
