# cmake -DMMAUDIT=... -DNVCC=... -DFINDING=finding.json -DOUT=folder -P reproducer.cmake
# Has a finding written as a CUDA file, and nvcc make a program of it as the file's head says. Nothing is run.
get_filename_component(name ${FINDING} NAME_WE)
file(MAKE_DIRECTORY ${OUT})
execute_process(COMMAND ${MMAUDIT} screen --from ${FINDING} --reproducer ${OUT}/${name}.cu COMMAND_ERROR_IS_FATAL ANY)
file(STRINGS ${OUT}/${name}.cu build REGEX "^// Build: nvcc .* FILE.cu$")
string(REGEX REPLACE "^// Build: nvcc (.*) FILE.cu$" "\\1" options "${build}")
separate_arguments(options)
execute_process(COMMAND ${NVCC} -Werror all-warnings ${options} ${OUT}/${name}.cu -o ${OUT}/${name}
  COMMAND_ERROR_IS_FATAL ANY)
message("${name}: made with ${options}")
