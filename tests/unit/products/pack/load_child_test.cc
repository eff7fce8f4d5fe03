// The child that loads a package, with a driver that runs PTX.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "base/text.h"
#include "jobs/parent_watch.h"
#include "pack/store/load_proof.h"
#include "unit/device/in_child.h"
#include "unit/products/pack/workshop.h"

namespace gpuready::pack {
namespace {

// out[thread] = in[thread] * factor
constexpr std::string_view kScale = R"(.version 6.0
.target sm_50
.address_size 64
.visible .entry scale(
	.param .u64 scale_param_0,
	.param .u32 scale_param_1,
	.param .u64 scale_param_2
)
{
	.reg .b32 	%r<5>;
	.reg .b64 	%rd<8>;

	ld.param.u64 	%rd1, [scale_param_0];
	ld.param.u64 	%rd2, [scale_param_2];
	cvta.to.global.u64 	%rd3, %rd2;
	ld.param.u32 	%r1, [scale_param_1];
	cvta.to.global.u64 	%rd4, %rd1;
	mov.u32 	%r2, %tid.x;
	mul.wide.u32 	%rd5, %r2, 4;
	add.s64 	%rd6, %rd4, %rd5;
	ld.global.u32 	%r3, [%rd6];
	mul.lo.s32 	%r4, %r3, %r1;
	add.s64 	%rd7, %rd3, %rd5;
	st.global.u32 	[%rd7], %r4;
	ret;
}
)";

class LoadChild : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(fake_cuda_path("fake_cuda_ptx")))
      GTEST_SKIP() << "the fake driver that runs PTX is not built";
    write_text(shop_.root + "/code.ptx", kScale);
  }
  // The lines that the child writes, and whether it exits with 0.
  struct Said {
    std::vector<std::string> lines;
    bool good = false;
  };
  Said said(const std::string& request, std::vector<std::string> args,
            const std::string& fake = "") {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      ::dup2(ends[1], kChannelDescriptor);
      ::setenv("GPUREADY_LIBCUDA", fake_cuda_path("fake_cuda_ptx").c_str(), 1);
      ::setenv("FAKE_CUDA", fake.c_str(), 1);
      ::_exit(run_load_here(args));
    }
    ::close(ends[1]);
    const std::string line = request + "\n";
    EXPECT_EQ(::write(ends[0], line.data(), line.size()), static_cast<ssize_t>(line.size()));
    std::string text;
    char buffer[4096];
    for (ssize_t count; (count = ::read(ends[0], buffer, sizeof buffer)) > 0;)
      text.append(buffer, static_cast<std::size_t>(count));
    int status = 0;
    ::waitpid(child, &status, 0);
    ::close(ends[0]);
    Said all{{}, WIFEXITED(status) && WEXITSTATUS(status) == 0};
    for (const auto each : lines(text)) all.lines.emplace_back(each);
    return all;
  }
  Said loaded(const Json& request, const std::string& fake = "") {
    return said(dump_line(request), {shop_.root}, fake);
  }
  std::string failure(const Said& child) {
    EXPECT_FALSE(child.good);
    EXPECT_GE(child.lines.size(), 2u);
    if (child.lines.size() < 2) return "";
    EXPECT_EQ(child.lines.back(), R"({"done":true})");
    const auto doc = parse_json(child.lines[child.lines.size() - 2], "line");
    return doc ? get_string(*doc, "failure").value_or("") : "";
  }
  static Json piece(std::uint64_t offset, bool text = false) {
    return {{"path", "code.ptx"}, {"offset_bytes", offset}, {"text", text}};
  }
  // Of 1, 2 and 3 times 7.
  static Json probe(std::string_view kernel, std::vector<unsigned> expect, Json code) {
    Json arguments =
        Json::array({{{"words", {1, 2, 3}}}, {{"u32", 7}}, {{"expect", std::move(expect)}}});
    return {{"probe",
             {{"file", "code.ptx"},
              {"kernel", kernel},
              {"blocks", 1},
              {"threads", 3},
              {"arguments", std::move(arguments)}}},
            {"code", std::move(code)}};
  }

  Workshop shop_;
};

TEST_F(LoadChild, SaysEachStepBeforeItAndWhatIsDone) {
  const auto child =
      loaded({{"cuda", true},
              {"code", Json::array({piece(0), piece(1 << 20)})},
              {"probes", Json::array({probe("scale", {7, 14, 21},
                                            Json::array({piece(1 << 20), piece(0, true)}))})}});
  EXPECT_TRUE(child.good);
  EXPECT_EQ(child.lines,
            (std::vector<std::string>{
                R"({"step":"starting CUDA"})",
                fmt::format(R"({{"step":"{}/code.ptx, device code at byte 0"}})", shop_.root),
                R"({"modules":1})",
                R"({"step":"code.ptx, kernel scale"})",
                R"({"probes":1})",
                R"({"done":true})",
            }));
}

TEST_F(LoadChild, SaysWhatFails) {
  const auto probed = [&](std::string_view kernel, std::vector<unsigned> expect,
                          const std::string& fake = "") {
    const Json code = Json::array({piece(0)});
    return failure(loaded(
        {{"cuda", true}, {"probes", Json::array({probe(kernel, std::move(expect), code)})}}, fake));
  };
  EXPECT_EQ(probed("scale", {7, 14, 22}),
            "code.ptx, kernel scale: word 2 of its argument 3 is 0x15, and 0x16 is expected");
  EXPECT_EQ(probed("absent", {7, 14, 21}),
            "code.ptx, kernel absent: no code of that file which this GPU loads has it");
  for (const auto& [symbol, call] : {std::pair{"cuInit", "cuInit"},
                                     {"cuModuleLoadDataEx", "cuModuleLoadDataEx"},
                                     {"cuModuleGetFunction", "cuModuleGetFunction"},
                                     {"cuMemAlloc_v2", "cuMemAlloc"},
                                     {"cuLaunchKernel", "cuLaunchKernel"}})
    EXPECT_TRUE(probed("scale", {7, 14, 21}, fmt::format("fail={}:719", symbol))
                    .ends_with(fmt::format("{} gives error 719", call)))
        << symbol;
  const auto unload = failure(
      loaded({{"cuda", true}, {"code", Json::array({piece(0)})}}, "fail=cuModuleUnload:719"));
  EXPECT_EQ(unload,
            shop_.root + "/code.ptx, device code at byte 0: cuModuleUnload gives error 719");
}

TEST_F(LoadChild, ALibraryThatDoesNotOpenEndsIt) {
  const auto why = failure(loaded({{"libraries", Json::array({"code.ptx"})}}));
  EXPECT_TRUE(why.starts_with(shop_.root + "/code.ptx cannot be loaded: ")) << why;
}

TEST_F(LoadChild, NeedsAFolderAndARequest) {
  EXPECT_EQ(failure(said("{}", {})), "the package's folder is missing");
  EXPECT_NE(failure(said("{", {shop_.root})), "");
  EXPECT_TRUE(loaded(Json::object()).good);
}

}  // namespace
}  // namespace gpuready::pack
