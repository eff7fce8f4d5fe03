# Device code: cuda/*.cu is compiled to PTX by clang without any CUDA header and embedded in the library of
# kernels, which also holds the CPU's versions of the same kernels.
include(${PROJECT_SOURCE_DIR}/cmake/DeviceCompiler.cmake)
find_program(GPUREADY_ZSTD zstd REQUIRED)

# Images are the same in every build, so one may take another's.
set(GPUREADY_IMAGES "" CACHE PATH "A build folder whose device images are taken instead of compiled")
set(images ${PROJECT_BINARY_DIR})
if(GPUREADY_IMAGES)
  set(images ${GPUREADY_IMAGES})
endif()
# gpuready_image(<output> ...): add_custom_command, unless the image is another build's.
function(gpuready_image output)
  if(NOT GPUREADY_IMAGES)
    add_custom_command(OUTPUT ${output} ${ARGN} VERBATIM)
  endif()
endfunction()

# gpuready_ptx(<target> <name> <arch> <ptx>): compiles <name>.cu for <arch> (such as sm_50) at the PTX
# version <ptx> (such as 60) and embeds it as <symbol> = gpuready_ptx_<name>_<arch>. Images that are
# shipped are also listed in the global property GPUREADY_PTX_IMAGES as "file=arch", for the test that
# assembles them.
function(gpuready_ptx target name arch ptx)
  set(source ${PROJECT_SOURCE_DIR}/src/kernels/cuda/${name}.cu)
  if(GPUREADY_IMAGES AND NOT EXISTS ${images}/ptx/${name}_${arch}.ptx.zst)  # newer than that build
    set(images ${PROJECT_BINARY_DIR})
    set(GPUREADY_IMAGES "")
  endif()
  set(output ${images}/ptx/${name}_${arch}.ptx)
  set(as_cuda -x cuda --cuda-device-only --cuda-path=/nonexistent -nocudainc -nocudalib)
  set(for_target --cuda-gpu-arch=${arch} --cuda-feature=+ptx${ptx})
  set(renamed "")
  string(REGEX REPLACE "(.)$" ".\\1" version ${ptx})
  gpuready_device_compiles(known "${arch}_${ptx}" ".version ${version};.target ${arch}" ${as_cuda} ${for_target})
  if(NOT known AND arch MATCHES "a$")
    # Older than clang 18: wgmma would wait after each instruction, right and slow.
    gpuready_left_out(${name}_${arch})
    gpuready_embed(${target} gpuready_ptx_${name}_${arch} "")
    return()
  elseif(NOT known)
    # What newer targets add stands in the sources as PTX, so an older compiler serves: under its newest name.
    string(REGEX REPLACE "sm_([0-9]+)" "\\10" number ${arch})
    set(for_target --cuda-gpu-arch=sm_80 --cuda-feature=+ptx74 -U__CUDA_ARCH__ -D__CUDA_ARCH__=${number})
    set(renamed COMMAND sed -i
      -e "s/^\\.version 7\\.4/.version ${version}/" -e "s/^\\.target sm_80/.target ${arch}/" ${output})
  endif()
  gpuready_image(${output}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${images}/ptx
    COMMAND ${GPUREADY_CLANG_CUDA} ${as_cuda} ${for_target} -std=c++20 -O3 -ffp-contract=off
      -Wall -Wextra -Werror -I${PROJECT_SOURCE_DIR}/src -S ${source} -o ${output}
      -MD -MF ${output}.d
    ${renamed}
    DEPENDS ${source} DEPFILE ${output}.d
    COMMENT "Compiling ${name}.cu to PTX for ${arch}")
  # Text without comments and indentation shrinks to a tenth; device/kernel.h unpacks it when the image is loaded.
  gpuready_image(${output}.zst
    COMMAND sh -c "sed -E -e 's,[[:space:]]*//.*,,' -e 's/^[[:space:]]+//' -e '/./!d' '${output}' > '${output}.small'"
    COMMAND ${GPUREADY_ZSTD} -q -f -19 ${output}.small -o ${output}.zst  # of a file, so that it says the size
    DEPENDS ${output}
    COMMENT "Packing ${name}.ptx for ${arch}")
  gpuready_embed(${target} gpuready_ptx_${name}_${arch} ${output}.zst)
  if(target STREQUAL gpuready_kernels)
    set_property(GLOBAL APPEND PROPERTY GPUREADY_PTX_IMAGES "${output}=${arch}")
  endif()
endfunction()

find_program(GPUREADY_GLSLANG glslangValidator REQUIRED)

# The operations of the compute test are listed in C++ alone; GLSL gets their numbers, in that order.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/src/kernel_abi/compute_ops.h)
file(READ ${PROJECT_SOURCE_DIR}/src/kernel_abi/compute_ops.h compute_ops)
string(REGEX MATCHALL "  X\\([A-Za-z0-9]+, " compute_ops "${compute_ops}")
set(compute_op_ids "")
set(compute_op_count 0)
foreach(line ${compute_ops})
  string(REGEX MATCH "[A-Za-z0-9]+, " op "${line}")
  string(REPLACE ", " "" op "${op}")
  string(APPEND compute_op_ids "const uint kOp${op} = ${compute_op_count};\n")
  math(EXPR compute_op_count "${compute_op_count} + 1")
endforeach()
math(EXPR compute_record_bytes "48 + 8 * ${compute_op_count} + 8 + 4 * 4 * 32")  # of a ComputeRecord
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/spirv/compute_op_ids.glsl CONTENT
"${compute_op_ids}const uint kComputeOps = ${compute_op_count};
const uint kComputeRecordBytes = ${compute_record_bytes};
")

# gpuready_spirv(<target> <name>): compiles <name>.comp to SPIR-V for Vulkan 1.2 and embeds it as
# <symbol> = gpuready_spirv_<name>. Shipped modules are also listed in the global property
# GPUREADY_SPIRV_MODULES, for the test that validates them.
function(gpuready_spirv target name)
  set(source ${PROJECT_SOURCE_DIR}/src/kernels/vulkan/${name}.comp)
  if(GPUREADY_IMAGES AND NOT EXISTS ${images}/spirv/${name}.spv)  # newer than that build
    set(images ${PROJECT_BINARY_DIR})
    set(GPUREADY_IMAGES "")
  endif()
  set(output ${images}/spirv/${name}.spv)
  file(GLOB included CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/kernels/vulkan/*.glsl)
  gpuready_image(${output}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${images}/spirv
    COMMAND ${GPUREADY_GLSLANG} --quiet -V --target-env vulkan1.2 -g0
      -I${PROJECT_SOURCE_DIR}/src/kernels/vulkan -I${PROJECT_BINARY_DIR}/spirv -o ${output} ${source}
    DEPENDS ${source} ${included} ${PROJECT_BINARY_DIR}/spirv/compute_op_ids.glsl
    COMMENT "Compiling ${name}.comp to SPIR-V")
  set(packed ${PROJECT_BINARY_DIR}/spirv/${name}.spv.zst)
  add_custom_command(OUTPUT ${packed} COMMAND ${GPUREADY_ZSTD} -q -f -19 ${output} -o ${packed}
    DEPENDS ${output} COMMENT "Packing ${name}.spv" VERBATIM)
  gpuready_embed(${target} gpuready_spirv_${name} ${packed})
  if(target STREQUAL gpuready_kernels)
    set_property(GLOBAL APPEND PROPERTY GPUREADY_SPIRV_MODULES "${output}")
  endif()
endfunction()

# The kernels' CPU versions are optimised in every build, and no fuzzer counts their steps: a matrix
# product has a billion.
set(cpu_kernel_options -O2 $<$<BOOL:${GPUREADY_FUZZ}>:-fno-sanitize=fuzzer-no-link>)
get_target_property(cpu_kernels gpuready_kernels SOURCES)
set_source_files_properties(${cpu_kernels} PROPERTIES SKIP_PRECOMPILE_HEADERS ON
  COMPILE_OPTIONS "${cpu_kernel_options}")
set(avx2_kernels ${CMAKE_CURRENT_LIST_DIR}/cpu/memory_cpu_avx2.cc)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set_source_files_properties(${avx2_kernels} PROPERTIES COMPILE_OPTIONS "${cpu_kernel_options};-mavx2;-mclflushopt")
else()
  list(REMOVE_ITEM cpu_kernels ${avx2_kernels})
  set_property(TARGET gpuready_kernels PROPERTY SOURCES ${cpu_kernels})
endif()
gpuready_ptx(gpuready_kernels memory sm_50 60)
gpuready_ptx(gpuready_kernels record sm_50 60)
gpuready_ptx(gpuready_kernels matmul sm_50 60)
gpuready_ptx(gpuready_kernels rate sm_50 60)
gpuready_ptx(gpuready_kernels bench sm_50 60)
gpuready_ptx(gpuready_kernels compute sm_50 60)
gpuready_ptx(gpuready_kernels compute sm_53 60)  # fp16
gpuready_ptx(gpuready_kernels compute sm_61 60)  # dp4a
gpuready_ptx(gpuready_kernels compute sm_75 70)  # tanh
gpuready_ptx(gpuready_kernels tensor_mma sm_70 64)
gpuready_ptx(gpuready_kernels tensor_mma sm_75 65)
gpuready_ptx(gpuready_kernels tensor_mma sm_80 70)
gpuready_ptx(gpuready_kernels tensor_mma sm_89 84)
gpuready_ptx(gpuready_kernels tensor_wgmma sm_90a 80)
gpuready_ptx(gpuready_kernels ternary_tiles sm_80 74)
gpuready_ptx(gpuready_kernels ternary_tiles sm_90 78)  # launches that overlap
gpuready_ptx(gpuready_kernels ternary_mma sm_80 74)
gpuready_ptx(gpuready_kernels ternary_wgmma sm_90a 80)
gpuready_ptx(gpuready_kernels ternary_gemv sm_50 60)
gpuready_ptx(gpuready_kernels ternary_gemv sm_61 60)  # dp4a
gpuready_ptx(gpuready_kernels ternary_gemv sm_80 74)  # loads past the first-level cache
gpuready_ptx(gpuready_kernels ternary_gemv sm_90 80)  # launches that overlap
gpuready_ptx(gpuready_kernels ternary_grouped sm_50 60)
gpuready_ptx(gpuready_kernels ternary_grouped sm_61 60)
gpuready_ptx(gpuready_kernels ternary_grouped sm_80 74)
gpuready_ptx(gpuready_kernels ternary_grouped sm_90 80)  # launches that overlap
gpuready_ptx(gpuready_kernels ternary_stream sm_80 74)
gpuready_ptx(gpuready_kernels ternary_stream sm_90 80)  # bulk copies, prefetches
gpuready_ptx(gpuready_kernels ternary_quantise sm_50 60)
gpuready_ptx(gpuready_kernels ternary_quantise sm_80 74)
gpuready_ptx(gpuready_kernels ternary_quantise sm_90 78)
gpuready_ptx(gpuready_kernels ternary_read sm_50 60)
gpuready_ptx(gpuready_kernels ternary_read sm_80 74)
gpuready_ptx(gpuready_kernels transfer sm_50 60)
gpuready_ptx(gpuready_kernels transfer_atomics sm_60 60)

# AMD's GPUs: hip/hip_kernels.cu for each target, all packed as one (they are much alike) and embedded as
# gpuready_hip; clang links with lld.
# No header and no device library of ROCm is used. The targets are explicit ones: the generic targets
# (gfx11-generic, ...) need code object version 6, which runtimes up to ROCm 6.2 do not know; version 4 is
# known to all (ROCm 5.6 to 7 were read), and adds no hidden arguments to those of our struct.
find_program(GPUREADY_LLD NAMES ld.lld-19 ld.lld-20 ld.lld-21 ld.lld-18 ld.lld-17 ld.lld-16 ld.lld-15 ld.lld REQUIRED)
set(GPUREADY_HIP_TARGETS
  gfx900 gfx906 gfx908 gfx90a gfx942               # Vega and Instinct: 64 threads a wave
  gfx1010 gfx1030 gfx1031 gfx1032                  # RDNA 1 and 2: 32, as all that follow
  gfx1100 gfx1101 gfx1102 gfx1103 gfx1150 gfx1151  # RDNA 3
  gfx1200 gfx1201)                                 # RDNA 4
set(hip_targets_inc "")
set(hip_images "")
foreach(arch ${GPUREADY_HIP_TARGETS})
  set(source ${CMAKE_CURRENT_LIST_DIR}/hip/hip_kernels.cu)
  set(output ${images}/hip/${arch}.hsaco)
  set(as_hip -x hip --offload-device-only --offload-arch=${arch} --no-gpu-bundle-output -fuse-cuid=none
    -nogpuinc -nogpulib -mcode-object-version=4)
  # Before clang 18 a square root is the instruction alone, which is not rounded as IEEE 754 wants it.
  gpuready_device_compiles(known ${arch} "${arch};v_fma" ${as_hip})
  if(NOT known)
    gpuready_left_out(${arch})
    continue()
  endif()
  # Denormals, division and square root as IEEE 754 wants them, whatever a target's default is.
  gpuready_image(${output}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${images}/hip
    COMMAND ${GPUREADY_CLANG_CUDA} ${as_hip} -std=c++20 -O3 -ffp-contract=off
      -fno-gpu-flush-denormals-to-zero -fhip-fp32-correctly-rounded-divide-sqrt
      -Wall -Wextra -Werror -I${PROJECT_SOURCE_DIR}/src ${source} -o ${output} -MD -MF ${output}.d
    DEPENDS ${source} DEPFILE ${output}.d
    COMMENT "Compiling hip/hip_kernels.cu for ${arch}")
  list(APPEND hip_images ${output})
  string(APPEND hip_targets_inc "GPUREADY_HIP_TARGET(${arch})\n")
endforeach()
set(packed ${PROJECT_BINARY_DIR}/hip/images.zst)
add_custom_command(OUTPUT ${packed}
  COMMAND ${CMAKE_CURRENT_LIST_DIR}/hip/pack.sh ${GPUREADY_ZSTD} ${packed} ${hip_images}
  DEPENDS ${hip_images} ${CMAKE_CURRENT_LIST_DIR}/hip/pack.sh COMMENT "Packing the HIP images" VERBATIM)
gpuready_embed(gpuready_device gpuready_hip ${packed})
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/hip/hip_targets.inc CONTENT "${hip_targets_inc}" @ONLY)
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/device/hip/hip_images.cc PROPERTIES
  INCLUDE_DIRECTORIES ${PROJECT_BINARY_DIR}/hip)

foreach(name memory_write memory_verify memory_invert memory_copy record compute ternary_gemv ternary_activations
    bench_gemm bench_mean bench_attention)
  gpuready_spirv(gpuready_kernels ${name})
endforeach()

# Beside the shipped kernels, the ones they were chosen from: `ninja bench_memory_variants`.
add_executable(bench_memory_variants EXCLUDE_FROM_ALL
  ${PROJECT_SOURCE_DIR}/benchmarks/memory_variants.cc)
target_link_libraries(bench_memory_variants PRIVATE gpuready_options gpuready_kernels)
gpuready_ptx(bench_memory_variants memory_variants sm_50 60)

# All GPUs of a machine copy to each other: `ninja bench_peer_all_to_all`.
add_executable(bench_peer_all_to_all EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/benchmarks/peer_all_to_all.cc)
target_link_libraries(bench_peer_all_to_all PRIVATE gpuready_options gpuready_health)

# Trials of the compute test on a device: `ninja bench_compute_trials`.
add_executable(bench_compute_trials EXCLUDE_FROM_ALL
  ${PROJECT_SOURCE_DIR}/benchmarks/compute_trials.cc)
target_link_libraries(bench_compute_trials PRIVATE gpuready_options gpuready_health)
target_link_options(bench_compute_trials PRIVATE -static-libgcc -static-libstdc++)
