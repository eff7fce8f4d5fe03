#include "report/ternary/verify_report.h"

namespace gpuready {
namespace {

using namespace ternary;

constexpr CheckStatus kStatuses[] = {CheckStatus::passed, CheckStatus::failed,
                                     CheckStatus::not_tested, CheckStatus::not_supported,
                                     CheckStatus::timed_out};

std::optional<CheckStatus> status_of(const Json& doc) {
  const auto text = get_string(doc, "status");
  for (const CheckStatus status : kStatuses)
    if (text == to_string(status)) return status;
  return std::nullopt;
}

Json subject_json(const SubjectResult& subject) {
  Json doc = {{"name", subject.name}};
  put(doc, "device", subject.device);
  doc["status"] = std::string(to_string(subject.status));
  put(doc, "reason", subject.reason);
  doc["asked"] = subject.asked;
  doc["kernels"] = subject.kernels;
  return doc;
}

Json check_json(const CheckResult& check) {
  Json doc = {{"subject", check.subject},
              {"check", check.check},
              {"status", std::string(to_string(check.status))}};
  put(doc, "reason", check.reason);
  doc["cases"] = check.cases;
  doc["wrong"] = check.wrong;
  doc["elements"] = check.elements;
  if (check.nmse) put(doc, "nmse", number(*check.nmse));
  put(doc, "duration_ms", number(check.duration_ms));
  return doc;
}

Json tensor_json(const TensorResult& tensor) {
  Json doc = {{"name", tensor.name}};
  put(doc, "format", tensor.format);
  doc["rows"] = tensor.shape.rows;
  doc["cols"] = tensor.shape.cols;
  doc["status"] = std::string(to_string(tensor.status));
  put(doc, "reason", tensor.reason);
  return doc;
}

}  // namespace

Json to_json(const VerifyReport& report, const Envelope& envelope) {
  Json doc = begin_document("gpuready.ternary-verify", envelope);
  doc["seed"] = report.seed;
  doc["thorough"] = report.thorough;
  doc["problems"] = report.problems;
  doc["nmse_limit"] = kMostNmse;
  put(doc, "file", report.file);
  for (const std::string& problem : report.file_problems) doc["file_problems"].push_back(problem);
  doc["subjects"] = Json::array();
  for (const SubjectResult& subject : report.subjects)
    doc["subjects"].push_back(subject_json(subject));
  doc["checks"] = Json::array();
  for (const CheckResult& check : report.checks) doc["checks"].push_back(check_json(check));
  if (!report.file.empty()) {
    doc["tensors"] = Json::array();
    for (const TensorResult& tensor : report.tensors) doc["tensors"].push_back(tensor_json(tensor));
  }
  return doc;
}

std::optional<VerifyReport> read_verify_report(const Json& document) {
  if (get_string(document, "schema") != "gpuready.ternary-verify" ||
      get_int(document, "schema_version") != 1)
    return std::nullopt;
  VerifyReport report;
  report.seed = get_uint(document, "seed").value_or(0);
  report.problems = get_uint(document, "problems").value_or(0);
  report.thorough = get_bool(document, "thorough").value_or(false);
  report.duration_ms = get_double(document, "duration_ms").value_or(0);
  report.file = get_string(document, "file").value_or("");
  if (const Json& problems = member(document, "file_problems"); problems.is_array())
    for (const Json& problem : problems)
      if (problem.is_string()) report.file_problems.push_back(problem.get<std::string>());
  for (const Json& doc : member(document, "subjects")) {
    SubjectResult subject;
    const auto name = get_string(doc, "name");
    const auto status = status_of(doc);
    if (!name || !status) return std::nullopt;
    subject.name = *name;
    subject.status = *status;
    subject.device = get_string(doc, "device").value_or("");
    subject.reason = get_string(doc, "reason").value_or("");
    subject.asked = get_bool(doc, "asked").value_or(false);
    for (const Json& kernel : member(doc, "kernels"))
      if (kernel.is_string()) subject.kernels.push_back(kernel.get<std::string>());
    report.subjects.push_back(std::move(subject));
  }
  for (const Json& doc : member(document, "checks")) {
    CheckResult check;
    const auto status = status_of(doc);
    if (!status) return std::nullopt;
    check.status = *status;
    check.subject = get_string(doc, "subject").value_or("");
    check.check = get_string(doc, "check").value_or("");
    check.reason = get_string(doc, "reason").value_or("");
    check.cases = get_uint(doc, "cases").value_or(0);
    check.wrong = get_uint(doc, "wrong").value_or(0);
    check.elements = get_uint(doc, "elements").value_or(0);
    check.nmse = get_double(doc, "nmse");
    check.duration_ms = get_double(doc, "duration_ms").value_or(0);
    report.checks.push_back(std::move(check));
  }
  for (const Json& doc : member(document, "tensors")) {
    TensorResult tensor;
    const auto status = status_of(doc);
    if (!status) return std::nullopt;
    tensor.name = get_string(doc, "name").value_or("");
    tensor.format = get_string(doc, "format").value_or("");
    tensor.shape = {get_int(doc, "rows").value_or(0), get_int(doc, "cols").value_or(0)};
    tensor.status = *status;
    tensor.reason = get_string(doc, "reason").value_or("");
    report.tensors.push_back(std::move(tensor));
  }
  return report;
}

}  // namespace gpuready
