// schema/*.schema.json are made here and must be current.
#include "bench/fields_compare.h"
#include "bench/fields_history.h"
#include "bench/fields_promote.h"
#include "bench/fields_run.h"
#include "report/fields.h"
#include "report/pack/fields.h"
#include "report/ternary/fields.h"
#include "report/vm/fields.h"
#include "unit/value/describe.h"

namespace gpuready::value {
namespace {

template <class... T>
struct Forms {
  template <class Visit>
  static void each(Visit visit) {
    (visit.template operator()<T>(), ...);
  }
};
using AllForms =
    Forms<Report, SelfTestReport, bench::RunRecord, bench::Comparison, bench::Promotion,
          bench::History, pack::LoadReport, pack::Manifest, pack::Inspection, Explanation,
          SelectReport, InstallReport, std::vector<PackageState>, EnvReport, KeyFiles, BuildReport,
          PublishReport, ternary::VerifyReport, TernaryTimes, ConvertOutcome, InspectReport,
          VmDevices, ArgsReport, InitrdOutcome, VmDoctorReport, DriversReport, CompatReport,
          FetchReport, VmOperation, VmStatus, UpgradeReport, PolicyReport>;

TEST(Schemas, AreCurrent) {
  AllForms::each([]<class T>() {
    expect_current("schema/" + std::string(kForm<T>.name) + ".schema.json",
                   schema_text(schema_of<T>()) + "\n");
  });
}

}  // namespace
}  // namespace gpuready::value
