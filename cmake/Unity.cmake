# gpuready_unity(<target>): compiles the target's sources in batches, which takes less than half the time:
# headers are most of each source. unity.awk puts together only what cannot collide, so a new source or
# name never breaks a build; it is asked again when a source changes. Developers' builds (preset debug)
# compile each source alone, so each is known to stand alone.
option(GPUREADY_UNITY "Compile the sources in batches" OFF)
set(GPUREADY_UNITY_BATCH 12)  # more saves little, and an edit costs its whole batch

if(GPUREADY_UNITY)
  file(GLOB_RECURSE headers ${PROJECT_SOURCE_DIR}/src/*.h ${PROJECT_SOURCE_DIR}/include/*.h ${PROJECT_SOURCE_DIR}/tests/*.h)
  set(public_names ${PROJECT_BINARY_DIR}/public_names.txt)
  execute_process(COMMAND ${GPUREADY_AWK} -v headers=1 -f ${PROJECT_SOURCE_DIR}/cmake/unity.awk ${headers}
    OUTPUT_FILE ${public_names} COMMAND_ERROR_IS_FATAL ANY)
endif()

function(gpuready_unity target)
  if(NOT GPUREADY_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cc$")
  list(FILTER sources EXCLUDE REGEX "/c_api[a-z_]*\\.cc$")  # SharedLibrary.cmake takes these by themselves
  # Recordings need libarchive; programs that link the installed archives do without it.
  list(FILTER sources EXCLUDE REGEX "/(recording_archive|recording_script|tar_writer)\\.cc$")
  list(TRANSFORM sources REPLACE "^([^/])" "${CMAKE_CURRENT_SOURCE_DIR}/\\1")
  list(SORT sources)
  execute_process(COMMAND ${GPUREADY_AWK} -v size=${GPUREADY_UNITY_BATCH} -v public=${public_names}
    -f ${PROJECT_SOURCE_DIR}/cmake/unity.awk ${sources}
    OUTPUT_VARIABLE batches COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n]+" batches "${batches}")
  foreach(line ${batches})
    string(REGEX MATCH "^([0-9]+) (.*)$" line "${line}")
    set_source_files_properties(${CMAKE_MATCH_2} PROPERTIES UNITY_GROUP ${CMAKE_MATCH_1})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)  # it takes an included source for a header
    set_target_properties(${target} PROPERTIES UNITY_BUILD_CODE_BEFORE_INCLUDE
      "#pragma GCC diagnostic ignored \"-Wsubobject-linkage\"")
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
    ${sources} ${headers} ${PROJECT_SOURCE_DIR}/cmake/unity.awk)
endfunction()
