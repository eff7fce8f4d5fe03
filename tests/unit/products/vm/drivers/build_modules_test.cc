#include "vm/drivers/build_modules.h"

#include <unistd.h>

#include "base/text.h"
#include "unit/products/vm/driver_folder.h"

namespace gpuready::vm {
namespace {

// As a distribution's package of headers has it, with this Makefile.
void write_headers(const TestFolder& folder, const std::string& at,
                   const std::string& makefile = "all:\n") {
  folder.write(at + "/Makefile", makefile);
  folder.write(at + "/include/config/auto.conf",
               "CONFIG_X86=y\nCONFIG_CC_VERSION_TEXT=\"gcc-12 (Debian) 12.2.0\"\n"
               "CONFIG_MODULE_SIG=y\nCONFIG_MODULE_SIG_HASH=\"sha512\"\n");
  folder.write(at + "/include/generated/utsrelease.h", "#define UTS_RELEASE \"6.1.0-test\"\n");
}

Result<KernelHeaders> headers_in(const TestFolder& folder, const std::string& at) {
  return find_kernel_headers(*test_host(), folder.path(at));
}

TEST(KernelHeaders, SayTheirKernelAndHowItWasBuilt) {
  TestFolder folder;
  write_headers(folder, "headers");
  const auto headers = headers_in(folder, "headers");
  ASSERT_TRUE(headers) << headers.error().message;
  EXPECT_EQ(headers->folder, folder.path("headers"));
  EXPECT_EQ(headers->source, folder.path("headers"));
  EXPECT_EQ(headers->kernel_release, "6.1.0-test");
  EXPECT_EQ(headers->compiler, "gcc-12 (Debian) 12.2.0");
  EXPECT_EQ(headers->signature_hash, "sha512");
  EXPECT_FALSE(headers->signed_modules_only);
}

// Debian's Makefile includes that of the common headers. Any other file may be included, too.
TEST(KernelHeaders, AreWithTheSourceWhoseMakefileTheyInclude) {
  TestFolder folder;
  write_headers(folder, "single", "include /usr/src/Kbuild.include\ninclude scripts/x/Makefile\n");
  EXPECT_EQ(headers_in(folder, "single").value_or(KernelHeaders{}).source, folder.path("single"));

  const auto include =
      "include /usr/share/Kbuild.include\ninclude " + folder.path("common") + "/Makefile\n";
  write_headers(folder, "own", include);
  const auto missing = headers_in(folder, "own");
  ASSERT_FALSE(missing);
  EXPECT_TRUE(contains(missing.error().message,
                       "belongs to " + folder.path("common") + ", which is not here"))
      << missing.error().message;
  folder.write("common/Makefile", "");
  EXPECT_EQ(headers_in(folder, "own").value_or(KernelHeaders{}).source, folder.path("common"));

  // Unpacked elsewhere, the two stand side by side.
  write_headers(folder, "moved/own", "include /nowhere/usr/src/common/Makefile\n");
  folder.write("moved/common/Makefile", "");
  EXPECT_EQ(headers_in(folder, "moved/own").value_or(KernelHeaders{}).source,
            folder.path("moved/common"));
}

TEST(KernelHeaders, OfOneKernelAreFoundWherePackagesWereUnpacked) {
  TestFolder folder;
  folder.write("packages/usr/src/linux-kbuild/Makefile", "");
  const auto error = [&] {
    const auto headers = headers_in(folder, "packages");
    return headers ? headers->folder : headers.error().message;
  };
  EXPECT_TRUE(contains(error(), "not the headers of a kernel: include/config/auto.conf is missing"))
      << error();
  write_headers(folder, "packages/usr/src/one");
  EXPECT_EQ(error(), folder.path("packages/usr/src/one"));
  write_headers(folder, "packages/usr/src/two");
  EXPECT_TRUE(contains(error(), "the headers of several kernels")) << error();
}

// What the build of a source with this Makefile says.
std::string error_of(const std::string& makefile) {
  TestFolder folder;
  folder.write("source/Makefile", makefile);
  const BuildRequest request{.folder = folder.path("source"),
                             .source = "source",
                             .driver_version = kVersion,
                             .headers = {.folder = folder.path(),
                                         .source = folder.path(),
                                         .kernel_release = "6.1.0-test",
                                         .compiler = "",
                                         .signature_hash = ""},
                             .signing = std::nullopt};
  const auto made = build_modules(*test_host(), request);
  return made ? "" : made.error().message;
}

TEST(BuildModules, ThatFailSayWhatFailed) {
  if (::access("/usr/bin/make", X_OK) != 0) GTEST_SKIP() << "needs make";
  const std::string what = "cannot build source for 6.1.0-test: ";
  const std::string cause = "nv.c:7:1: error: unknown type name 'x'";
  const auto starts = [&](const std::string& makefile, const std::string& told) {
    const auto error = error_of(makefile);
    EXPECT_TRUE(error.starts_with(what + told)) << error;
  };
  // The compiler's first error stands before make's own word of it, wherever they are printed.
  starts(
      "modules:\n\t@echo CC nv.o; echo \"" + cause + "\" >&2; echo 'b.c: error: y' >&2; exit 2\n",
      cause + ";");
  starts("modules:\n\t@echo \"" + cause + "\"; exit 2\n", cause + ";");
  // Else what make said, and not the first line of what it ran.
  starts("modules:\n\t@echo CC nv.o >&2; exit 3\n", "make: *** [");
  starts("other:\n", "make: *** No rule to make target 'modules'");
  EXPECT_TRUE(contains(error_of("modules:\n\t@true\n"), "make ended well and made no module"));
}

}  // namespace
}  // namespace gpuready::vm
