// The fields of the documents of `slurm`.
#pragma once

#include "slurm/report/hook_report.h"
#include "slurm/report/setup_report.h"
#include "value/document.h"
#include "value/fields.h"

namespace gpuready {
namespace slurm {

FIELDS_OF(Cause) {
  visit.about("drain_cause", "Why no job should run here.");
  FIELD(id, "Of the finding; test, absent, policy, gpu, leftover or no-answer.", kAlways);
  FIELD(text, "What is wrong, in words.", {.always = true, .printable = true});
  FIELD(action, "What to do.");
  FIELD(needs_test,
        "The level of tests that must pass before it counts as gone. Absent: it is gone when it "
        "is not seen any more.");
}
FIELDS_OF(Node) {
  visit.about("slurm_node", "What Slurm said of the node.");
  FIELD(name, "As slurm.conf names it.", {.always = true, .printable = true});
  FIELD(states, "Words of its state.", {.always = true, .printable = true});
  FIELD(reason, "Why it is in this state.", {.printable = true});
}
FIELDS_OF(Decision) {
  FIELD(act, "nothing; drain: no further job starts; resume: jobs start again.");
  FIELD(reason, "That a drain sets.");
  FIELD(why, "Of the decision, in words.", kAlways);
}
FIELDS_OF(SetupFile) {
  visit.about("setup_file", "A file.");
  FIELD(path, "Where.", {.always = true, .printable = true});
  FIELD(content, "Its content.", kAlways);
}
FIELDS_OF(Taken) {
  visit.about("taken_hook", "A hook that slurm.conf gives to another program.");
  FIELD(setting, "Of slurm.conf.", kAlways);
  FIELD(program, "Its value.", {.always = true, .printable = true});
  FIELD(place, "File and line.", {.always = true, .printable = true});
  FIELD(how, "How both can run.", {.always = true, .printable = true});
}

}  // namespace slurm

inline constexpr std::string_view kSlurmHooks[] = {"health", "prolog", "epilog"};

FIELDS_OF(SlurmHookReport) {
  FIELD(hook, "Which.", {.always = true, .texts = kSlurmHooks});
  FIELD(node, "As slurm.conf names it.", {.always = true, .printable = true});
  FIELD(job, "The job's number. Absent: it is about the node.", {.printable = true});
  FIELD(gpus, "Indices of the job's GPUs, as in reports.");
  FIELD(unknown, "Why it is not known that nothing is wrong.", {.printable = true});
  FIELD(causes, "What is wrong.", kAlways);
  FIELD(was, "What Slurm said of the node before. Absent: it was not asked.");
  visit.merged(&T::decision);
  visit("rehearsal", &T::rehearsed, "The causes are those of a recording.");
  FIELD(done, "false: the decision was only shown.");
  FIELD(slurm_error, "Why Slurm did not answer, or did not do it.", {.printable = true});
  visit.hidden(&T::strict);
}
DOCUMENT_OF(SlurmHookReport, "slurm-hook", "A hook of Slurm",
            "What `gpuready slurm health`, `prolog` and `epilog` found and did. A field that no "
            "source reported is absent: never null or 0.",
            "0: go on; 1: something is wrong with the node's or the job's GPUs (of epilog: and "
            "Slurm could not drain the node); 4, of health only: not known, or Slurm did not "
            "answer.");

FIELDS_OF(SlurmInstallReport) {
  FIELD(conf, "slurm.conf.", {.always = true, .printable = true});
  FIELD(files, "Scripts.", kAlways);
  FIELD(lines, "Lines that are added to slurm.conf.", kAlways);
  FIELD(taken, "Hooks of other programs, which stay.", kAlways);
  FIELD(hints, "What else to do.", kAlways);
  FIELD(written, "false: it was only shown.");
}
DOCUMENT_OF(SlurmInstallReport, "slurm-install", "Hooks for Slurm",
            "What `gpuready slurm install` writes.",
            "0: all hooks are gpuready's; 1: another program has one.");

FIELDS_OF(SlurmDoctorReport) {
  FIELD(node, "As slurm.conf names it.", {.always = true, .printable = true});
  FIELD(files, "That were read.", {.always = true, .printable = true});
  FIELD(findings, "Causes, gravest first; what follows from one is folded under it.", kAlways);
  FIELD(unseen, "What could not be looked at, and why.", {.always = true, .printable = true});
  visit.hidden(&T::bus_unread, &T::gpus);
}
DOCUMENT_OF(SlurmDoctorReport, "slurm-doctor", "What of Slurm's configuration does not fit",
            "What `gpuready slurm doctor` found.",
            "0: nothing is wrong; 1: an error was found; 4: a file cannot be read, or the GPUs "
            "cannot be seen.");

}  // namespace gpuready
