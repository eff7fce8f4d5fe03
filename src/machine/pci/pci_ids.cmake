# Cuts pci.ids (Debian package pci.ids) to the vendors of display controllers, without subsystems,
# adds GPUs that are newer than it, and embeds it.
set(newer_gpus ${CMAKE_CURRENT_LIST_DIR}/newer_gpus.txt)
find_file(GPUREADY_PCI_IDS pci.ids PATHS /usr/share/misc /usr/share/hwdata NO_DEFAULT_PATH REQUIRED)
set(pci_ids ${CMAKE_CURRENT_BINARY_DIR}/embed/pci.ids)
add_custom_command(OUTPUT ${pci_ids}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_CURRENT_BINARY_DIR}/embed
  COMMAND ${GPUREADY_AWK} -f ${CMAKE_CURRENT_LIST_DIR}/pci_ids.awk ${newer_gpus} ${GPUREADY_PCI_IDS} > ${pci_ids}
  DEPENDS ${GPUREADY_PCI_IDS} ${newer_gpus} ${CMAKE_CURRENT_LIST_DIR}/pci_ids.awk
  COMMENT "Cutting pci.ids to the vendors of GPUs" VERBATIM)
gpuready_embed(gpuready_machine gpuready_pci_ids ${pci_ids})
