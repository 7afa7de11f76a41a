# cmake -DNVCC=... -DSOURCE=x.cu -DTARGET=sm_120a -DINCLUDES="a;b" -DPATTERN="mma.sync" -DLINES=78 -DOUT=folder -P Assemble.cmake
# Translates one source to PTX, counts the instructions in it and has them assembled. Nothing is run.
get_filename_component(name ${SOURCE} NAME_WE)
get_filename_component(folder ${NVCC} DIRECTORY)
list(TRANSFORM INCLUDES PREPEND -I)
file(MAKE_DIRECTORY ${OUT})
execute_process(COMMAND ${NVCC} -std=c++20 -arch=${TARGET} -ptx ${INCLUDES} ${SOURCE} -o ${OUT}/${name}.ptx
  COMMAND_ERROR_IS_FATAL ANY)
file(STRINGS ${OUT}/${name}.ptx found REGEX "${PATTERN}")
list(LENGTH found count)
if(NOT count EQUAL LINES)
  message(FATAL_ERROR "${SOURCE}: found ${count} lines of ${PATTERN}, expected ${LINES}")
endif()
execute_process(COMMAND ${folder}/ptxas -arch=${TARGET} ${OUT}/${name}.ptx -o ${OUT}/${name}.cubin
  COMMAND_ERROR_IS_FATAL ANY)
message("${name}: ${count} instructions assembled for ${TARGET}")
