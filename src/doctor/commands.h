// Commands of cures: by distribution, by container runtime, and filled in from the machine.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "doctor/cause.h"

namespace gpuready::doctor {

// Which package manager a machine has, from ID and ID_LIKE of os-release; from its name, too, where
// Red Hat's family has none but yum.
enum class Family { unknown, debian, ubuntu, fedora, suse, arch, yum, gentoo, alpine };
Family family_of(const Machine& machine);

// "Rebuild the driver's modules for the running kernel with akmods", by what NVIDIA's modules come
// from; nothing for DKMS and where it is not known.
std::optional<std::string> rebuild_cure(const Machine& machine);

// A word that no shell takes for more than a word: [A-Za-z0-9._+~:-], not empty, no leading dash.
bool safe_word(std::string_view text);

// Fills the template's placeholders and gives the finding its command. Without one of the values
// there is no command; with a value that is not a safe_word() there is none either, and the cure
// says so.
void add_command(Finding& finding, std::string text, const Match& match, const Machine& machine);

// What the finding's cure costs, where it is done and what it needs, if it has a cure: `stated`, or
// more where its command or, for a change of settings, its text has more.
void add_terms(Finding& finding, CureTerms stated);

// What a container cannot do itself is done on its host, and what a user's job cannot do by the
// cluster's administrators. A command is shown only where it can be run.
void fit_place(Finding& finding, const Machine& machine);

// Whether a command or a cure stops a GPU's driver, resets the GPU, or ends what draws with it: a
// display that the GPU drives goes dark, perhaps for good.
bool takes_picture(std::string_view advice);
// Where one of the finding's GPUs may drive a display: puts a restart of the machine before such
// advice, and says what it does to the picture.
void spare_display(Finding& finding, const Machine& machine);

// Where a GPU of the machine is a vGPU, puts a restart of its guest in place of a reset.
void spare_vgpu(Finding& finding, const Machine& machine);

// What a container (or a batch job) must be given, by its runtime: sets the match's cure, and its
// command where the runtime is started by one.
enum class Ask {
  nvidia_gpus,       // the GPUs at all
  tegra_gpu,         // a Jetson's own
  nvidia_compute,    // the driver's CUDA libraries
  nvidia_libraries,  // those of the module's version
  nvidia_again,      // access that was lost
  amd_devices,       // /dev/kfd and /dev/dri
  intel_devices,     // /dev/dri
  node_group,        // the group of nodes that it has; {gid}
  new_nodes,         // nodes with today's numbers
};
void cure_in_container(Match& match, const Machine& machine, Ask ask);

}  // namespace gpuready::doctor
