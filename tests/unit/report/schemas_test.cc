// schema/*.schema.json are made here and must be current.
#include "bench/compare/fields_compare.h"
#include "bench/compare/fields_promote.h"
#include "bench/history/fields_history.h"
#include "bench/record/fields_run.h"
#include "fleet/fields_fleet.h"
#include "fleet/report/slow_fields.h"
#include "pack/report/fields.h"
#include "report/fields.h"
#include "slurm/report/fields.h"
#include "ternary/report/fields.h"
#include "unit/value/describe.h"
#include "vm/report/fields.h"

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
          VmDevices, ArgsReport, HotPlugReport, InitrdOutcome, VmDoctorReport, DriversReport,
          CompatReport, FetchReport, VmOperation, VmStatus, UpgradeReport, PolicyReport,
          KeptResults, StatusReport, fleet::Fleet, fleet::SlowFindings, SlurmHookReport,
          SlurmInstallReport, SlurmDoctorReport>;

TEST(Schemas, AreCurrent) {
  AllForms::each([]<class T>() {
    expect_current("schema/" + std::string(kForm<T>.name) + ".schema.json",
                   schema_text(schema_of<T>()) + "\n");
  });
}

}  // namespace
}  // namespace gpuready::value
