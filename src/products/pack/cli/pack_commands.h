// The subcommands of `gpuready pack`; command_pack.cc has the list.
#pragma once

#include "cli/command_line.h"

namespace gpuready::cli {

void declare_pack_inspect(CommandSpec& command);
void declare_pack_explain(CommandSpec& command);
void declare_pack_key(CommandSpec& command);
void declare_pack_init(CommandSpec& command);
void declare_pack_build(CommandSpec& command);
void declare_pack_publish(CommandSpec& command);
void declare_pack_adopt(CommandSpec& command);
void declare_pack_select(CommandSpec& command);
void declare_pack_install(CommandSpec& command);
void declare_pack_list(CommandSpec& command);
void declare_pack_verify(CommandSpec& command);
void declare_pack_rollback(CommandSpec& command);
void declare_pack_gc(CommandSpec& command);
void declare_pack_uninstall(CommandSpec& command);
void declare_pack_env(CommandSpec& command);

}  // namespace gpuready::cli
