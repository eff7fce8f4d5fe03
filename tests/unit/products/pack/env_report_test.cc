#include "pack/report/env_report.h"

#include <gtest/gtest.h>

namespace gpuready {
namespace {

std::string shown(const EnvReport& report) {
  Envelope envelope;
  conclude(report, envelope);
  EXPECT_EQ(envelope.conclusion.has_value(), report.checks != EnvCheck::none);
  EXPECT_EQ(envelope.exit, report.right ? Exit::ok : Exit::unhealthy);
  return render_terminal(report, envelope, {.columns = 200});
}

// A shell evaluates it: a name on two lines would run its second.
TEST(EnvReport, WithoutACheckItIsWhatAShellRuns) {
  EXPECT_EQ(shown({}), "");
  EXPECT_EQ(shown({.folders = {"/s/1/lib"}}),
            "export LD_LIBRARY_PATH='/s/1/lib'${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}\n");
  EXPECT_EQ(shown({.folders = {"/s/my libs/lib", "/s/1/lib64"},
                   .shadowed = {{"libcudart.so.12", "/usr/lib/libcudart.so.12"},
                                {"liba.so", "/usr/lib/liba.so\nexport PATH="}}}),
            "# libcudart.so.12 replaces /usr/lib/libcudart.so.12\n"
            "# liba.so replaces /usr/lib/liba.so export PATH=\n"
            "export LD_LIBRARY_PATH='/s/my libs/lib:/s/1/lib64'"
            "${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}\n");
  // No variable: an empty part of it would be the folder that a program is started in.
  EXPECT_EQ(shown({.shadowed = {{"liba.so", "/usr/lib/liba.so"}}}),
            "# liba.so replaces /usr/lib/liba.so\n");
}

TEST(EnvReport, ACheckSaysWhatChangedAndWhatIsRightNow) {
  EnvReport report{.checks = EnvCheck::this_machine, .variant = "modern"};
  EXPECT_EQ(shown(report), "[ok] The GPUs and the driver are those that it was installed for.\n");
  report.change = "it was installed for A, and B is here now";
  report.again = "gpuready pack install release";
  EXPECT_EQ(shown(report),
            "[ok] The machine changed (it was installed for A, and B is here now), and the variant "
            "is still the right one.\n");
  report.right = false;
  EXPECT_EQ(shown(report),
            "[x] The machine changed (it was installed for A, and B is here now): the variant "
            "modern is right now.\n"
            "  gpuready pack install release\n");
  report.variant.reset();
  EXPECT_EQ(shown(report),
            "[x] The machine changed (it was installed for A, and B is here now): no variant fits "
            "now.\n"
            "  gpuready pack install release\n");
}

TEST(EnvReport, OfAnotherMachineItSaysOnlyWhichVariantItNeeds) {
  EnvReport report{.checks = EnvCheck::another_machine, .variant = "modern"};
  EXPECT_EQ(shown(report), "[ok] The variant modern is right for that machine, too.\n");
  report.right = false;
  EXPECT_EQ(shown(report), "[x] That machine needs the variant modern.\n");
  report.variant.reset();
  EXPECT_EQ(shown(report), "[x] No variant fits that machine.\n");
}

}  // namespace
}  // namespace gpuready
