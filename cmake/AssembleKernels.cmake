# cmake -DWRITER=... -DNVCC=... -DTARGET=sm_100a -DKERNELS=38 -DOUT=folder -P AssembleKernels.cmake
# Has a program write PTX kernels, and each of them assembled. Nothing is run.
get_filename_component(folder ${NVCC} DIRECTORY)
file(REMOVE_RECURSE ${OUT}/${TARGET})
execute_process(COMMAND ${WRITER} ${OUT}/${TARGET} ${TARGET} COMMAND_ERROR_IS_FATAL ANY)
file(GLOB kernels ${OUT}/${TARGET}/*.ptx)
list(LENGTH kernels count)
if(NOT count EQUAL KERNELS)
  message(FATAL_ERROR "${WRITER}: found ${count} kernels for ${TARGET}, expected ${KERNELS}")
endif()
foreach(kernel IN LISTS kernels)
  execute_process(COMMAND ${folder}/ptxas --warning-as-error -arch=${TARGET} ${kernel} -o ${kernel}.cubin
    COMMAND_ERROR_IS_FATAL ANY)
endforeach()
message("${count} kernels assembled for ${TARGET}")
