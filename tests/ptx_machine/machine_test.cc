// The machine itself, by small programs: lanes that part and meet, barriers, what comes late, and
// what is refused.
#include "machine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace ptx {
namespace {

struct OneAllocation final : Memory {
  u64 begin = 0, end = 0;
  bool find(u64, u64& from, u64& to) const override {
    from = begin;
    to = end;
    return true;
  }
};

// Runs the statements with %rd1 = the address of `words` and %r1 = the thread; they may use %r2 to
// %r9, %rd2 to %rd9, %p1 to %p9, and 1 KiB of shared memory named `cells`.
std::string module_of(const std::string& body) {
  return R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry test(
	.param .u64 test_param_0
)
{
	.reg .pred %p<10>;
	.reg .b32 %r<10>;
	.reg .b64 %rd<10>;
	.shared .align 16 .b8 cells[1024];
	ld.param.u64 %rd1, [test_param_0];
	mov.u32 %r1, %tid.x;
)" + body +
         "\n	ret;\n}\n";
}

// The bodies as launches that overlap.
std::string run_bodies(const std::vector<std::string>& bodies, std::vector<u32>& words,
                       u32 threads = 32, u32 blocks = 1, bool cooperative = false) {
  OneAllocation memory;
  memory.begin = reinterpret_cast<u64>(words.data());
  memory.end = memory.begin + words.size() * 4;
  try {
    std::vector<Module> modules;
    for (const std::string& body : bodies) modules.push_back(parse(module_of(body)));
    std::vector<Launch> launches;
    for (const Module& module : modules) {
      Launch& launch = launches.emplace_back();
      launch.kernel = &module.kernels.at("test");
      launch.parameters = reinterpret_cast<const u8*>(&memory.begin);
      launch.threads = threads;
      launch.blocks = blocks;
      launch.multiprocessors = 4;
      launch.cooperative = cooperative;
    }
    run(launches, memory);
    return "";
  } catch (const Fault& fault) {
    return fault.what();
  }
}
std::string run_body(const std::string& body, std::vector<u32>& words, u32 threads = 32,
                     u32 blocks = 1, bool cooperative = false) {
  return run_bodies({body}, words, threads, blocks, cooperative);
}
// %r9 of each thread goes to its word.
const std::string kStore = R"(
	mul.wide.u32 %rd9, %r1, 4;
	add.s64 %rd9, %rd1, %rd9;
	st.global.u32 [%rd9], %r9;
)";

bool tells(const std::string& error, const std::string& part) {
  return error.find(part) != std::string::npos;
}

TEST(PtxMachine, LanesThatPartMeetAgain) {
  std::vector<u32> words(32);
  // Collatz: each lane goes round the loop as often as its number wants; then all are counted.
  const auto error = run_body(R"(
	mov.u32 %r9, 0;
	add.u32 %r2, %r1, 1;
again:
	setp.eq.u32 %p1, %r2, 1;
	@%p1 bra done;
	and.b32 %r3, %r2, 1;
	setp.eq.u32 %p2, %r3, 0;
	@%p2 bra even;
	mad.lo.u32 %r2, %r2, 3, 1;
	bra joined;
even:
	shr.u32 %r2, %r2, 1;
joined:
	add.u32 %r9, %r9, 1;
	bra again;
done:
	vote.sync.ballot.b32 %r4, 1, -1;
	popc.b32 %r4, %r4;
	shl.b32 %r4, %r4, 16;
	or.b32 %r9, %r9, %r4;
)" + kStore,
                              words);
  EXPECT_EQ(error, "");
  for (u32 i = 0; i < 32; ++i) {
    u32 steps = 0;
    for (u32 n = i + 1; n != 1; n = n % 2 ? 3 * n + 1 : n / 2) ++steps;
    EXPECT_EQ(words[i], steps | 32u << 16) << i;
  }
}

TEST(PtxMachine, ABarrierHoldsAllWarps) {
  std::vector<u32> words(128);
  const auto error = run_body(R"(
	mov.u64 %rd2, cells;
	mul.wide.u32 %rd3, %r1, 4;
	add.s64 %rd2, %rd2, %rd3;
	st.shared.u32 [%rd2], %r1;
	bar.sync 0;
	xor.b32 %r2, %r1, 127;
	mul.wide.u32 %rd3, %r2, 4;
	mov.u64 %rd2, cells;
	add.s64 %rd2, %rd2, %rd3;
	ld.shared.u32 %r9, [%rd2];
)" + kStore,
                              words, 128);
  EXPECT_EQ(error, "");
  for (u32 i = 0; i < 128; ++i) EXPECT_EQ(words[i], i ^ 127);
}

TEST(PtxMachine, ABarrierThatNotAllReachIsToldAsADeadlock) {
  std::vector<u32> words(64);
  EXPECT_TRUE(tells(run_body(R"(
	setp.lt.u32 %p1, %r1, 32;
	@%p1 bar.sync 1, 64;
	@!%p1 bar.sync 2, 64;
)",
                             words, 64),
                    "every thread waits"));
  EXPECT_TRUE(tells(run_body(R"(
	setp.lt.u32 %p1, %r1, 16;
	@%p1 bra half;
	bar.sync 0;
	ret;
half:
	shfl.sync.bfly.b32 %r9, %r1, 1, 31, -1;
)",
                             words, 32),
                    "every thread waits"));
}

TEST(PtxMachine, AnAsynchronousCopyIsThereOnlyAfterItsWait) {
  const std::string start = R"(
	mov.u32 %r2, cells;
	shl.b32 %r3, %r1, 2;
	add.u32 %r2, %r2, %r3;
	st.shared.u32 [%r2], 7;
	mul.wide.u32 %rd2, %r1, 4;
	add.s64 %rd2, %rd1, %rd2;
	cp.async.ca.shared.global [%r2], [%rd2], 4;
	cp.async.commit_group;
)",
                    end = "	ld.shared.u32 %r9, [%r2];\n	add.u32 %r9, %r9, 100;\n" + kStore;
  std::vector<u32> words(32, 1);
  EXPECT_EQ(run_body(start + "cp.async.wait_group 0;\n" + end, words), "");
  EXPECT_EQ(words, std::vector<u32>(32, 101));
  words.assign(32, 1);
  EXPECT_EQ(run_body(start + "cp.async.wait_group 1;\n" + end, words), "");
  EXPECT_EQ(words, std::vector<u32>(32, 107)) << "what was there before";
}

TEST(PtxMachine, AnMbarrierCountsArrivalsAndBytes) {
  std::vector<u32> words(64);
  std::iota(words.begin(), words.end(), 0u);
  const auto error = run_body(R"(
	mov.u32 %r2, cells;
	setp.eq.u32 %p1, %r1, 0;
	@%p1 mbarrier.init.shared::cta.b64 [%r2], 1;
	bar.sync 0;
	@!%p1 bra wait;
	mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 256;
	add.u32 %r3, %r2, 16;
	cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd1], 256, [%r2];
wait:
	mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0;
	@!%p2 bra wait;
	shl.b32 %r3, %r1, 2;
	add.u32 %r3, %r3, %r2;
	ld.shared.u32 %r9, [%r3+16];
	add.u32 %r9, %r9, 1000;
)" + kStore,
                              words, 64);
  EXPECT_EQ(error, "");
  for (u32 i = 0; i < 64; ++i) EXPECT_EQ(words[i], 1000 + i);
}

TEST(PtxMachine, BlocksOfACooperativeLaunchWaitForEachOther) {
  std::vector<u32> words(32);
  const std::string body = R"(
	setp.ne.u32 %p1, %r1, 0;
	@%p1 bra end;
	atom.global.add.u32 %r2, [%rd1], 1;
spin:
	ld.volatile.global.u32 %r2, [%rd1];
	setp.lt.u32 %p2, %r2, 4;
	@%p2 bra spin;
end:
)";
  EXPECT_EQ(run_body(body, words, 32, 4, true), "");
  EXPECT_EQ(words[0], 4u);
}

TEST(PtxMachine, ALaunchThatOverlapsGoesAheadUntilItWaits) {
  const std::string at = "	mul.wide.u32 %rd2, %r1, 4;\n	add.s64 %rd2, %rd1, %rd2;\n";
  const std::string let = "	griddepcontrol.launch_dependents;\n";
  const std::string wait = "	griddepcontrol.wait;\n", write = at + "	st.global.u32 [%rd2], 5;\n";
  const std::string twice =
      at + "	ld.global.u32 %r9, [%rd2];\n	shl.b32 %r9, %r9, 1;\n" + kStore;
  const auto after = [&](const std::vector<std::string>& bodies) {
    std::vector<u32> words(32, 1);
    EXPECT_EQ(run_bodies(bodies, words, 32, 1), "");
    return words[7];
  };
  EXPECT_EQ(after({write, twice}), 10u) << "never let go";
  EXPECT_EQ(after({let + write, wait + twice}), 10u);
  EXPECT_EQ(after({let + write, twice}), 5u) << "it read and wrote before";
  EXPECT_EQ(after({let + write, let + wait + twice, let + wait + twice, wait + twice}), 40u);
  EXPECT_EQ(after({let + write, let + wait + twice, twice}), 10u) << "the third went first";
}

TEST(PtxMachine, WhatReachesBeyondMemoryIsRefusedWithItsLine) {
  std::vector<u32> words(32);
  const auto beyond = run_body("	st.global.u32 [%rd1+128], %r1;", words);
  EXPECT_TRUE(tells(beyond, "is in no allocation")) << beyond;
  EXPECT_TRUE(tells(beyond, "test, line 15, block 0, warp 0")) << beyond;
  const auto odd = run_body("	ld.global.u32 %r9, [%rd1+2];", words);
  EXPECT_TRUE(tells(odd, "not aligned to 4")) << odd;
  const auto shared =
      run_body("	mov.u32 %r2, cells;\n	ld.shared.u32 %r9, [%r2+1024];", words);
  EXPECT_TRUE(tells(shared, "shared address 0x400")) << shared;
}

TEST(PtxMachine, WhatItDoesNotKnowIsRefusedByName) {
  std::vector<u32> words(32);
  const auto unknown = run_body("	frobnicate.b32 %r9, %r1;", words);
  EXPECT_TRUE(tells(unknown, "frobnicate.b32")) << unknown;
  EXPECT_TRUE(tells(run_body("	add.u32 %r9, %r1, %undeclared;", words), "%undeclared"));
  EXPECT_TRUE(tells(run_body("	add.u64 %rd9, %r1, 1;", words), "has 4 bytes, not 8"));
  EXPECT_TRUE(tells(run_body("	bra nowhere;", words), "unknown label nowhere"));
}

TEST(PtxMachine, IntegersFollowTheInstructionSet) {
  std::vector<u32> words(32);
  const auto value = [&](const std::string& body) {
    EXPECT_EQ(run_body(body + kStore, words), "") << body;
    return words[3];
  };
  EXPECT_EQ(value("mul.hi.u32 %r9, -1, -1;"), 0xfffffffeu);
  EXPECT_EQ(value("mul.hi.s32 %r9, -1, -1;"), 0u);
  EXPECT_EQ(value("shr.s32 %r9, -8, 40;"), 0xffffffffu);
  EXPECT_EQ(value("shl.b32 %r9, 1, 32;"), 0u);
  EXPECT_EQ(value("bfe.s32 %r9, 0xf0, 4, 4;"), 0xffffffffu);
  EXPECT_EQ(value("bfe.u32 %r9, 0xf0, 4, 4;"), 15u);
  EXPECT_EQ(value("prmt.b32 %r9, 0x33221100, 0x77665544, 0x7531;"), 0x77553311u);
  EXPECT_EQ(value("shf.l.wrap.b32 %r9, 0x80000000, 1, 33;"), 3u);
  EXPECT_EQ(value("dp4a.u32.s32 %r9, 0xff02ff01, 0x01fe0103, 10;"), 10u + 3 + 255 - 4 + 255);
  EXPECT_EQ(value("div.s32 %r9, -7, 2;"), static_cast<u32>(-3));
  EXPECT_EQ(value("rem.s32 %r9, -7, 2;"), static_cast<u32>(-1));
  EXPECT_EQ(value("redux.sync.add.u32 %r9, %r1, -1;"), 31u * 16);
  EXPECT_EQ(value("shfl.sync.down.b32 %r9, %r1, 2, 31, -1;"), 5u);
}

}  // namespace
TEST(PtxMachine, ParametersLieWhereTheirAlignmentPutsThem) {
  const Module module = parse(R"(
.version 6.0
.target sm_50
.address_size 64
.visible .entry test(
	.param .u32 test_param_0,
	.param .u64 test_param_1,
	.param .u32 test_param_2
)
{
	.reg .b32 %r<4>;
	.reg .b64 %rd<2>;
	ld.param.u32 %r1, [test_param_0];
	ld.param.u64 %rd1, [test_param_1];
	ld.param.u32 %r2, [test_param_2];
	add.u32 %r3, %r1, %r2;
	st.global.u32 [%rd1], %r3;
	ret;
}
)");
  std::vector<u32> words(1);
  OneAllocation memory;
  memory.begin = reinterpret_cast<u64>(words.data());
  memory.end = memory.begin + 4;
  const u64 parameters[] = {30, memory.begin, 12};
  Launch launch;
  launch.kernel = &module.kernels.at("test");
  EXPECT_EQ(launch.kernel->parameter_bytes, 20u);
  launch.parameters = reinterpret_cast<const u8*>(parameters);
  launch.threads = launch.blocks = launch.multiprocessors = 1;
  run({&launch, 1}, memory);
  EXPECT_EQ(words[0], 42u);
}

}  // namespace ptx
