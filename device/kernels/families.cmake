# The families of kernels; each becomes one translation unit. A line holds: name, kernel (kernels/KERNEL_kernel.cuh),
# header of ptx/, and the header's lists with the form of their lines (MMAUDIT_LIST(MMAUDIT_FORM_LINE)). A name that
# ends in @9 or @12 is compiled for the architecture- and family-specific targets of that compute capability (90a; 120a,
# 120f, 121a) in MMAUDIT_RECORD_ARCHITECTURES, and left out where there are none.
set(families
  "mma_f16               mma    mma_float    MMA_F16:MMA MMA_884:MMA"
  "mma_tf32              mma    mma_float    MMA_TF32:MMA"
  "mma_fp8               mma    mma_float    MMA_FP8:MMA"
  "mma_f64               mma    mma_float    MMA_F64:MMA"
  "wgmma_f16@9           wgmma  wgmma_float  WGMMA_F16:WGMMA"
  "wgmma_tf32@9          wgmma  wgmma_float  WGMMA_TF32:WGMMA"
  "wgmma_fp8@9           wgmma  wgmma_float  WGMMA_FP8:WGMMA"
  "wgmma_fp8_half@9      wgmma  wgmma_float  WGMMA_FP8_HALF:WGMMA"
  "mma_i8                mma    mma_int      MMA_I8:MMA_INT"
  "mma_i4                mma    mma_int      MMA_I4:MMA_INT"
  "mma_b1                mma    mma_int      MMA_B1:MMA_BIT"
  "wgmma_i8@9            wgmma  wgmma_int    WGMMA_I8:WGMMA_INT"
  "wgmma_i8_satfinite@9  wgmma  wgmma_int    WGMMA_I8_SATFINITE:WGMMA_INT"
  "wgmma_b1@9            wgmma  wgmma_int    WGMMA_B1:WGMMA_INT"
  "mma_f8f6f4@12         mma    mma_narrow   MMA_F8F6F4:F8F6F4"
  "mma_scaled@12         mma    mma_narrow   MMA_MX8:MX8 MMA_SCALED_E2M1:SCALED"
  "mma_sp_f16            mma    mma_sp       MMA_SP_F16:MMA_SP"
  "mma_sp_fp8            mma    mma_sp       MMA_SP_FP8:MMA_SP"
  "mma_sp_int            mma    mma_sp       MMA_SP_INT:MMA_SP_INT"
  "mma_sp_f8f6f4@12      mma    mma_sp_narrow MMA_F8F6F4:SP_F8F6F4"
  "mma_sp_scaled@12      mma    mma_sp_narrow MMA_MX8:SP_MX8 MMA_SP_SCALED_E2M1:SP_SCALED"
  "wgmma_sp_f16@9        wgmma  wgmma_sp     WGMMA_SP_F16:WGMMA_SP"
  "wgmma_sp_fp8@9        wgmma  wgmma_sp     WGMMA_SP_FP8:WGMMA_SP"
  "wgmma_sp_i8@9         wgmma  wgmma_sp     WGMMA_SP_I8:WGMMA_SP_INT"
  "wmma_f16              wmma   wmma_lists   WMMA_F16:WMMA_HALF"
  "wmma_wide             wmma   wmma_lists   WMMA_WIDE:WMMA"
  "wmma_int              wmma   wmma_lists   WMMA_INT:WMMA_INT WMMA_B1:WMMA_BIT")

set(names "")
set(declarations "")
foreach(line IN LISTS families)
  string(REGEX MATCHALL "[^ ]+" lists "${line}")
  list(POP_FRONT lists family kernel header)
  set(targets ${MMAUDIT_RECORD_ARCHITECTURES})
  if(family MATCHES "(.+)@(.+)")
    set(family ${CMAKE_MATCH_1})
    list(FILTER targets INCLUDE REGEX "^${CMAKE_MATCH_2}[0-9][af]")
  endif()
  if(NOT targets)
    continue()
  endif()
  string(APPEND names "${family}_kernels, ")
  string(APPEND declarations "std::span<const KernelEntry> ${family}_kernels();\n")
  list(TRANSFORM lists REPLACE "(.+):(.+)" "MMAUDIT_\\1(MMAUDIT_\\2_LINE)\n" OUTPUT_VARIABLE structs)
  list(TRANSFORM lists REPLACE "(.+):(.+)"
    "#define MMAUDIT_\\2_KERNEL(...) ${kernel}_entry<MMAUDIT_\\2_NAME(__VA_ARGS__)>(),\n" OUTPUT_VARIABLE kernels)
  list(TRANSFORM lists REPLACE "(.+):(.+)" "MMAUDIT_\\1(MMAUDIT_\\2_KERNEL) " OUTPUT_VARIABLE entries)
  list(JOIN structs "" structs)
  list(JOIN kernels "" kernels)
  list(JOIN entries "" entries)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/kernels/${family}.cu)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/family.cu.in ${source} @ONLY)
  if(targets STREQUAL MMAUDIT_CUDA_ARCHITECTURES)
    target_sources(mmaudit_device PRIVATE ${source})
  else()
    add_library(mmaudit_kernels_${family} OBJECT ${source})
    target_include_directories(mmaudit_kernels_${family} PRIVATE include ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_BINARY_DIR})
    target_link_libraries(mmaudit_kernels_${family} PRIVATE mmaudit::emulator)
    set_target_properties(mmaudit_kernels_${family} PROPERTIES CUDA_ARCHITECTURES "${targets}" CUDA_RUNTIME_LIBRARY Static)
    mmaudit_target_defaults(mmaudit_kernels_${family})
    target_sources(mmaudit_device PRIVATE $<TARGET_OBJECTS:mmaudit_kernels_${family}>)
  endif()
  # A kernel of wgmma holds a case for every n: optimising across them takes ptxas six times as long and changes no
  # instruction.
  if(kernel MATCHES "^wgmma")
    set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "-Xptxas=-O1")
  endif()
endforeach()
configure_file(${CMAKE_CURRENT_LIST_DIR}/families.hpp.in ${CMAKE_CURRENT_BINARY_DIR}/kernels/families.hpp @ONLY)
target_include_directories(mmaudit_device PRIVATE ${CMAKE_CURRENT_BINARY_DIR})
