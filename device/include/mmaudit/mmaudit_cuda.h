/* The C interface of mmaudit on a GPU, libmmaudit_cuda.so: products, quantizations and special functions of
 * device memory, on a stream, with the bits of mmaudit_matmul(), mmaudit_quantize() and mmaudit_function().
 * Nothing is copied, allocated or waited for, so that calls can be captured in a CUDA graph. Pointers in the
 * structures are device pointers of the current device; statuses as in mmaudit.h. */
#ifndef MMAUDIT_MMAUDIT_CUDA_H
#define MMAUDIT_MMAUDIT_CUDA_H

#include "mmaudit/mmaudit.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Why this thread's last failed call of this library failed. */
MMAUDIT_API const char* mmaudit_cuda_last_error(void);

/* Bytes of device memory that mmaudit_cuda_matmul() needs; of pointers, only whether they are null matters.
 */
MMAUDIT_API int mmaudit_cuda_workspace(const mmaudit_product* work, uint64_t* bytes);

/* mmaudit_matmul() as kernels on `stream` (a cudaStream_t; null: the default one). Dense and block-scaled
 * instructions, scales in rows. `workspace` must stay until the kernels are done. */
MMAUDIT_API int mmaudit_cuda_matmul(const mmaudit_product* work, void* stream, mmaudit_out workspace);

/* The same product by the GPU's own instructions instead of the model: chains of wgmma in the order of the
 * plan, on compute capability 9.0, where `work` asks for that GPU's arithmetic: dense wgmma of floats with
 * f32 sums, `promote` a multiple of four instructions' k, split_k 1. Anything else is refused with status 2
 * and a line that says why. Nothing is checked here: mmaudit_cuda_matmul() has the bits that D must have. A,
 * and rows of A that are a multiple of 16 bytes long, start at multiples of 16 bytes; the work space at a
 * multiple of 256. */
MMAUDIT_API int mmaudit_cuda_hardware_workspace(const mmaudit_product* work, uint64_t* bytes);
MMAUDIT_API int mmaudit_cuda_hardware_matmul(const mmaudit_product* work, void* stream,
                                             mmaudit_out workspace);

/* mmaudit_attention_predict() as kernels on `stream`, O and lse alone: of `like` the kernels, since recipes
 * convert on the host, and no details. The work space starts at a multiple of 256 and must stay until they
 * are done. */
MMAUDIT_API int mmaudit_cuda_attention_workspace(const mmaudit_attention* work, uint64_t* bytes);
MMAUDIT_API int mmaudit_cuda_attention(const mmaudit_attention* work, void* stream, mmaudit_out workspace);

/* mmaudit_quantize() as kernels on `stream`. */
MMAUDIT_API int mmaudit_cuda_quantize(const mmaudit_quantization* work, void* stream);

/* mmaudit_function() as a kernel on `stream`: `count` results of a special function. x, y and result are
 * words of the function's bits: uint16_t of a narrow one, else uint32_t. `y` is null but of a quotient. */
MMAUDIT_API int mmaudit_cuda_function(const char* name, const void* x, const void* y, size_t count,
                                      void* result, void* stream);

#ifdef __cplusplus
}
#endif

#endif
