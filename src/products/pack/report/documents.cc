// The documents of `pack`.
#include "pack/report/fields.h"

namespace gpuready {
namespace {

std::vector<AnswerOfGpu> answers_of(const pack::FileCode& code,
                                    const std::vector<pack::TargetGpu>& gpus) {
  std::vector<AnswerOfGpu> answers;
  for (const auto& gpu : gpus) answers.push_back({explain(code, gpu, {}), gpu.name()});
  return answers;
}

}  // namespace

std::vector<InspectedFile> inspected_files(const pack::Inspection& inspection) {
  std::vector<InspectedFile> files;
  const auto gpus = pack::interesting_gpus(inspection.files);
  const auto codes = code_of(inspection);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const auto& file = inspection.files[i];
    files.push_back(
        {&file, file.has_code() ? answers_of(codes[i], gpus) : std::vector<AnswerOfGpu>()});
  }
  return files;
}

std::vector<ExplainedFile> explained_files(const Explanation& explanation) {
  std::vector<ExplainedFile> files;
  for (std::size_t i = 0; i < explanation.files.size(); ++i) {
    auto& file = files.emplace_back(explanation.files[i]);
    for (std::size_t k = 0; k < explanation.gpus.size(); ++k)
      file.runs_on.push_back({explanation.answers[i][k], explanation.gpus[k].gpu.name()});
  }
  return files;
}

template Json to_json(const pack::Inspection&, const Envelope&);
template Json to_json(const Explanation&, const Envelope&);
template Json to_json(const SelectReport&, const Envelope&);
template Json to_json(const InstallReport&, const Envelope&);
template Json to_json(const std::vector<PackageState>&, const Envelope&);
template Json to_json(const EnvReport&, const Envelope&);
template Json to_json(const KeyFiles&, const Envelope&);
template Json to_json(const BuildReport&, const Envelope&);
template Json to_json(const PublishReport&, const Envelope&);

}  // namespace gpuready
