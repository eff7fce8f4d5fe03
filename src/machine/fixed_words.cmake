# Collects the words that the readers of a machine and the rules have in their patterns, and embeds them:
# what a redacted recording may show (redaction.cc).
set(fixed_words ${CMAKE_CURRENT_BINARY_DIR}/embed/fixed_words)
file(GLOB_RECURSE rule_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.cc ${CMAKE_CURRENT_LIST_DIR}/../doctor/*.cc
  ${CMAKE_CURRENT_LIST_DIR}/../doctor/*.h
  ${CMAKE_CURRENT_LIST_DIR}/../products/vm/diagnose/*.cc)
list(APPEND rule_sources ${CMAKE_CURRENT_LIST_DIR}/../host/kernel_log.cc ${CMAKE_CURRENT_LIST_DIR}/../products/vm/host_facts.cc)
add_custom_command(OUTPUT ${fixed_words}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_CURRENT_BINARY_DIR}/embed
  COMMAND ${GPUREADY_AWK} -f ${CMAKE_CURRENT_LIST_DIR}/fixed_words.awk ${rule_sources} > ${fixed_words}
  DEPENDS ${rule_sources} ${CMAKE_CURRENT_LIST_DIR}/fixed_words.awk
  COMMENT "Collecting the fixed words of the rules" VERBATIM)
gpuready_embed(gpuready_machine gpuready_fixed_words ${fixed_words})
