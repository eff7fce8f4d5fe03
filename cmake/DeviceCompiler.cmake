# The compiler of device code: any clang from 15 on. An older one lacks some targets; images for these are left
# out, and the program says so (--version).
find_program(GPUREADY_CLANG_CUDA
  NAMES clang++-19 clang++-20 clang++-21 clang++-18 clang++-17 clang++-16 clang++-15 clang++ REQUIRED)

# gpuready_device_compiles(<result> <what> <expected> <argument>...): whether the compiler makes of a kernel with
# one square root assembly that has each of <expected>'s texts. Asked once in a build folder.
function(gpuready_device_compiles result what expected)
  string(MAKE_C_IDENTIFIER "GPUREADY_COMPILES_${what}_${GPUREADY_CLANG_CUDA}" known)
  if(NOT DEFINED ${known})
    set(source ${PROJECT_BINARY_DIR}/device_compiles.cu)
    file(WRITE ${source}
      "extern \"C\" __attribute__((global)) void kernel(float* x) { *x = __builtin_sqrtf(*x); }\n")
    execute_process(COMMAND ${GPUREADY_CLANG_CUDA} ${ARGN} -S -o - ${source}
      OUTPUT_VARIABLE assembly ERROR_QUIET RESULT_VARIABLE failed)
    set(found TRUE)
    foreach(text ${expected})
      string(FIND "${assembly}" "${text}" at)
      if(failed OR at EQUAL -1)
        set(found FALSE)
      endif()
    endforeach()
    set(${known} ${found} CACHE INTERNAL "")
  endif()
  set(${result} ${${known}} PARENT_SCOPE)
endfunction()

function(gpuready_left_out what)
  message(STATUS "${GPUREADY_CLANG_CUDA} cannot make the code for ${what}: it is left out")
  set_property(GLOBAL APPEND PROPERTY GPUREADY_LEFT_OUT ${what})
endfunction()
