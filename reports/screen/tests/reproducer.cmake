# cmake -DMMAUDIT=... -DNVCC=... -DFINDING=finding.json -DOUT=folder -P reproducer.cmake
# Has a finding written as a CUDA file, and nvcc alone compile it. Nothing is run.
get_filename_component(name ${FINDING} NAME_WE)
file(MAKE_DIRECTORY ${OUT})
execute_process(COMMAND ${MMAUDIT} screen --from ${FINDING} --reproducer ${OUT}/${name}.cu COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${NVCC} -Werror all-warnings -arch=sm_90a -cubin ${OUT}/${name}.cu -o ${OUT}/${name}.cubin
  COMMAND_ERROR_IS_FATAL ANY)
message("${name}: compiled for sm_90a")
