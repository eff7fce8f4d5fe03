# gpuready_glibc_floor(<target>): links the target so that it starts on every glibc from GPUREADY_GLIBC_FLOOR on,
# whatever this system's is. Its libraries are linked to stand-ins that know no newer symbol (glibc/stubs.sh),
# and what is newer altogether is our own (glibc/newer.c). No sysroot, no other compiler.
set(GPUREADY_GLIBC_FLOOR "" CACHE STRING "The oldest glibc that the program starts on, such as 2.28; empty: this system's")

if(GPUREADY_GLIBC_FLOOR AND NOT GPUREADY_SANITIZE AND NOT GPUREADY_SHARED_LIBRARIES)
  set(stubs ${PROJECT_BINARY_DIR}/glibc)
  set(stubs_sources ${CMAKE_CURRENT_LIST_DIR}/glibc/stubs.sh ${CMAKE_CURRENT_LIST_DIR}/glibc/stubs.awk)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${stubs_sources})
  execute_process(COMMAND ${CMAKE_CURRENT_LIST_DIR}/glibc/stubs.sh "${CMAKE_CXX_COMPILER}"
    ${GPUREADY_GLIBC_FLOOR} ${stubs} ${GPUREADY_AWK} RESULT_VARIABLE failed)
  if(failed)
    message(STATUS "The program will need this system's C library or a newer one")
  else()
    add_library(gpuready_glibc_newer OBJECT ${CMAKE_CURRENT_LIST_DIR}/glibc/newer.c)
    add_library(gpuready_glibc_start OBJECT ${CMAKE_CURRENT_LIST_DIR}/glibc/start.c)
    foreach(part newer start)
      target_compile_definitions(gpuready_glibc_${part} PRIVATE _GNU_SOURCE)
      target_compile_options(gpuready_glibc_${part} PRIVATE -O2 -Wall -Wextra ${errors} -fvisibility=hidden
        -ffunction-sections -fdata-sections)
    endforeach()
  endif()
endif()

function(gpuready_glibc_floor target)
  if(NOT TARGET gpuready_glibc_newer)
    return()
  endif()
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:gpuready_glibc_newer>)
  target_link_options(${target} PRIVATE -L${stubs})
  get_target_property(type ${target} TYPE)
  if(type STREQUAL EXECUTABLE)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:gpuready_glibc_start>)
    target_link_options(${target} PRIVATE -Wl,--wrap=__libc_start_main)
  endif()
endfunction()
