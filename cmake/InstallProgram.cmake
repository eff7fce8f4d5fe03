# The program with what belongs to it: component `program`. scripts/release.sh packs it, and the component `library`.
install(TARGETS gpuready RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
if(TARGET gpuready-guest)  # `gpuready vm initrd` looks for it beside the program
  install(TARGETS gpuready-guest RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
endif()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/adapters DESTINATION ${CMAKE_INSTALL_DATADIR}/gpuready COMPONENT program
  FILES_MATCHING PATTERN "*.py" PATTERN __pycache__ EXCLUDE)
install(FILES ${PROJECT_SOURCE_DIR}/packaging/gpuready.service ${PROJECT_SOURCE_DIR}/packaging/gpuready.timer
  ${PROJECT_SOURCE_DIR}/packaging/gpuready-exporter.service
  DESTINATION lib/systemd/system COMPONENT program)
install(FILES ${PROJECT_SOURCE_DIR}/packaging/prometheus/gpuready.rules.yml ${PROJECT_SOURCE_DIR}/packaging/grafana/gpuready.json
  DESTINATION ${CMAKE_INSTALL_DATADIR}/gpuready COMPONENT program)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/packaging/kubernetes DESTINATION ${CMAKE_INSTALL_DATADIR}/gpuready COMPONENT program)
# systemd finds the program in its own search path.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/products/vm/systemd/ DESTINATION lib/systemd/system COMPONENT program)
install(PROGRAMS ${PROJECT_SOURCE_DIR}/src/products/vm/libvirt/qemu-hook
  DESTINATION ${CMAKE_INSTALL_DATADIR}/gpuready/libvirt COMPONENT program)
# The program itself has its manual pages and completion scripts.
list(JOIN CMAKE_CROSSCOMPILING_EMULATOR " " emulated)
install(CODE "set(pages ${emulated} [[$<TARGET_FILE:gpuready>]] __pages)
  set(share \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}\")"
  SCRIPT ${PROJECT_SOURCE_DIR}/cmake/install_pages.cmake COMPONENT program)
