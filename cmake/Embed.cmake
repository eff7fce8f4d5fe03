# gpuready_embed(<target> <symbol> <file>): puts the file's bytes into the target as
#   extern "C" const unsigned char <symbol>_begin[], <symbol>_end[];
# by the assembler's .incbin, so nothing is copied or quoted. Without a file ("") there are no bytes.
function(gpuready_embed target symbol file)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/embed/${symbol}.S)
  set(bytes "")
  if(file)
    set(bytes ".incbin \"${file}\"")
  endif()
  file(GENERATE OUTPUT ${source} CONTENT
".section .rodata\n.balign 16\n.global ${symbol}_begin\n.hidden ${symbol}_begin\n${symbol}_begin:\n\
${bytes}\n.global ${symbol}_end\n.hidden ${symbol}_end\n${symbol}_end:\n.byte 0\n\
.section .note.GNU-stack,\"\",%progbits\n")
  set_source_files_properties(${source} PROPERTIES GENERATED TRUE OBJECT_DEPENDS "${file}")
  target_sources(${target} PRIVATE ${source})
endfunction()
