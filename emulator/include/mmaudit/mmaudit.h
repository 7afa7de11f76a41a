/* The C interface of mmaudit: which bits a matrix instruction produces, from any language.
 *
 * Arrays are row-major and contiguous, elements raw bits in their format's storage width (little-endian; no
 * alignment is asked for). Of a format narrower than a byte an element is a byte, its value in the low bits
 * and above it zeros or an integer's sign: packed bytes are refused. Every array comes with its size in
 * bytes, and every size is checked before anything is written. Functions return a status; on anything but
 * MMAUDIT_OK, mmaudit_last_error() says why in one line "field: found X, allowed: Y". Any thread may call any
 * function at any time. No C++ exception and no signal handler crosses this interface.
 *
 * Structures start with their own size: set them to zero, then `size` to sizeof of the structure, then what
 * is needed. Later versions only add fields at the end; zero there means the behaviour of this version. */
#ifndef MMAUDIT_MMAUDIT_H
#define MMAUDIT_MMAUDIT_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define MMAUDIT_API __attribute__((visibility("default")))
#else
#define MMAUDIT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The interface a program was compiled for; compare with mmaudit_abi(). */
#define MMAUDIT_ABI 1

typedef enum mmaudit_status {
  MMAUDIT_OK = 0,
  MMAUDIT_BAD_INPUT = 2,  /* an argument: nothing was written */
  MMAUDIT_ENVIRONMENT = 3 /* memory or threads ran out: results are not to be read */
} mmaudit_status;

typedef struct mmaudit_in {
  const void* data;
  size_t bytes;
} mmaudit_in;

typedef struct mmaudit_out {
  void* data;
  size_t bytes;
} mmaudit_out;

/* "0.1.0", and the same with the revision: "0.1.0 (50a56c0...)". */
MMAUDIT_API const char* mmaudit_version(void);
MMAUDIT_API const char* mmaudit_revision(void);
/* MMAUDIT_ABI of the library. */
MMAUDIT_API unsigned mmaudit_abi(void);

/* Why this thread's last failed call failed; "" when none has failed. Valid until this thread's next call. */
MMAUDIT_API const char* mmaudit_last_error(void);

/* Frees text that a function here returned; null is allowed. */
MMAUDIT_API void mmaudit_free(void* text);

/* ---- the model -------------------------------------------------------------------------------------------
 */

/* Architectures, oldest first: how many, and the name of one; null from `index` = count on. */
MMAUDIT_API size_t mmaudit_architecture_count(void);
MMAUDIT_API const char* mmaudit_architecture_name(size_t index);

typedef struct mmaudit_format {
  size_t size;
  const char* name;                      /* "e4m3" */
  uint32_t storage_bits;                 /* of one element in memory */
  uint32_t value_bits;                   /* low storage bits that mean something (tf32: the high 19) */
  uint32_t exponent_bits, fraction_bits; /* 0 for integers */
  int32_t bias;
  int32_t is_integer, is_signed, has_infinity, has_nan;
  int32_t nan_at_minus_zero; /* its one NaN is the code of -0 (e4m3fnuz, e5m2fnuz) */
  /* Its type in safetensors files ("F8_E4M3"), numpy, ml_dtypes and torch; null: there is none. */
  const char *file, *numpy, *ml_dtypes, *torch;
} mmaudit_format;

/* Number formats: by position, from 0 (MMAUDIT_BAD_INPUT from the count on), or by name. */
MMAUDIT_API size_t mmaudit_format_count(void);
MMAUDIT_API int mmaudit_format_at(size_t index, mmaudit_format* out);
MMAUDIT_API int mmaudit_find_format(const char* name, mmaudit_format* out);

typedef struct mmaudit_instruction {
  size_t size;
  char name[96];
  uint32_t m, n, k;          /* in a listing 0 where one row stands for every m or n */
  uint32_t stored_k;         /* elements a row of A stores: k / 2 of a sparse instruction, else k */
  const char *a, *b, *c, *d; /* formats */
  const char* scale;         /* format of the scale bytes; null: there are none */
  uint32_t scale_block;      /* elements of k per scale */
  int32_t takes_modifiers;   /* wgmma and tcgen05 */
  const char* evidence;      /* recorded, replayed or literature; null without an architecture */
  const char* source;
} mmaudit_instruction;

/* The instructions of `arch` in the order of listings, by position from 0. MMAUDIT_BAD_INPUT from the count
 * on and for an unknown architecture (of which the count is 0). `arch` null: "hopper". */
MMAUDIT_API size_t mmaudit_instruction_count(const char* arch);
MMAUDIT_API int mmaudit_instruction_at(const char* arch, size_t index, mmaudit_instruction* out);
/* One by name, with m and n filled in; MMAUDIT_BAD_INPUT says what `arch` has instead. */
MMAUDIT_API int mmaudit_find_instruction(const char* arch, const char* name, mmaudit_instruction* out);

/* Everything about the model as JSON: {"schema", "architectures": [...], "formats": [...]}. `arch` null: all
 * of them. Free with mmaudit_free(). */
MMAUDIT_API int mmaudit_list(const char* arch, char** json);

/* ---- arithmetic ------------------------------------------------------------------------------------------
 */

/* Bits of a modifier byte; wgmma and tcgen05 only. */
#define MMAUDIT_SCALE_D_ZERO 1 /* C is not read */
#define MMAUDIT_NEGATE_A 2
#define MMAUDIT_NEGATE_B 4

typedef struct mmaudit_tiles {
  size_t size;
  const char* arch; /* null: "hopper" */
  const char* inst;
  size_t tiles;
  mmaudit_in a;  /* (tiles, m, stored_k) */
  mmaudit_in b;  /* (tiles, k, n) */
  mmaudit_in c;  /* (tiles, m, n) in C's format; null: every element is +0 */
  mmaudit_out d; /* (tiles, m, n) in D's format; overlaps nothing, but may be c where the formats agree */
  mmaudit_in scale_a, scale_b; /* (tiles, m, k / scale_block), (tiles, k / scale_block, n); null: 1 */
  mmaudit_in metadata;  /* sparse, then required: (tiles, m, stored_k) bytes, positions inside the group */
  mmaudit_in modifiers; /* (tiles) bytes; null: none */
} mmaudit_tiles;

/* D = A * B + C for every tile with the bits the hardware produces. Any value is valid; rounding is the
 * instruction's. */
MMAUDIT_API int mmaudit_emulate(const mmaudit_tiles* work);

typedef struct mmaudit_product {
  size_t size;
  const char* arch; /* null: "hopper" */
  const char* inst;
  uint64_t batch, m, n, k; /* any sizes; of the instruction only k has an influence */
  mmaudit_in a;            /* (batch, m, k); of a sparse instruction (batch, m, k / 2) */
  mmaudit_in b;            /* (batch, k, n) */
  mmaudit_in c;            /* (batch, m, n) in the format of D; null: every element is +0 */
  mmaudit_out d;           /* (batch, m, n) in the instruction's format or d_format; may be c */
  uint64_t promote;        /* k after which the running sum is added to a binary32 total; 0: never */
  uint64_t split_k;        /* slices of K, summed in ascending order; at least 1 */
  uint32_t threads;        /* 0: one per core; no influence on the result */
  uint32_t
      epilogue; /* 0: C starts the chain; 1: D = fma(alpha, sum, beta * C) in binary32, then one rounding */
  float alpha, beta;    /* with epilogue */
  const char* d_format; /* with epilogue: f32, f16 or bf16; null: f32 */
  const char* simd;     /* portable, avx2 or avx512; null: the widest there is; no influence on the result */
  uint32_t plain;       /* 1: without vector code; no influence on the result */
  /* Block-scaled: (batch, m, blocks), (batch, blocks, n), blocks = k / scale_block, rounded up; null: 1. A
   * factor of a whole tensor (NVFP4's second level) is alpha's. */
  mmaudit_in scale_a, scale_b;
  mmaudit_in metadata; /* sparse, then required: (batch, m, k / 2) bytes, positions inside the group */
  const char*
      scale_layout; /* null or "rows": as above; "blocked": tiles of 128 rows x 4 blocks as cuBLASLt and
                     * torch._scaled_mm take them, 512 bytes each, (batch, m or n in 128s, blocks in 4s) */
  /* binary32 factors of software, with an epilogue of alpha 1, beta 0 and no C: one, (batch, m) or (batch,
   * n), or with factor_block (batch, m or n, blocks of factor_block k, rounded up). D = fl32(factor_a
   * factor_b) * sum; with factor_block every `promote` of k total = fma(fl32(factor_a factor_b), sum, total).
   * Null: 1 */
  mmaudit_in factor_a, factor_b;
  uint64_t factor_block; /* a multiple of promote; 0: a factor covers all of K */
  /* null or "product": as above; without factor_block also "a-first", D = fl32(fl32(sum) factor_a) factor_b,
   * and "b-first" */
  const char* factor_order;
} mmaudit_product;

/* D = A * B + C of any sizes, as a chain of one instruction over K in ascending order. Range and rounding:
 * docs/numerics.md; the same bits for any number of threads. */
MMAUDIT_API int mmaudit_matmul(const mmaudit_product* work);
/* D = A * B of binary32 or binary64 out of products of smaller formats: "tf32x3", "bf16x3", "bf16x6",
 * "bf16x9", "3xtf32" (binary32), "ozaki1:8", "cublas-f64:7" (binary64; so many slices, or ":auto"),
 * "ozaki2:15" (binary64; so many moduli). A, B and D have that format. Of `work` count arch, inst (null: the
 * newest unit), batch, m, n, k, a, b, d, promote (k of a round of products; 0: the scheme's), threads and
 * plain; split_k is 1. docs/slices.md. */
MMAUDIT_API int mmaudit_sliced_matmul(const mmaudit_product* work, const char* scheme);
/* Bytes of all operands, the result and the work space; of the arrays, only whether c is null matters.
 */
MMAUDIT_API int mmaudit_matmul_bytes(const mmaudit_product* work, uint64_t* bytes);

typedef struct mmaudit_gemm_path {
  size_t size;
  /* In: as the options of `mmaudit audit`; null: "hopper", (no default), the usual one, "plain". */
  const char *arch, *dtype, *scaling, *policy;
  char inst[96];             /* out: the instruction that does it */
  char taken_scaling[16];    /* out: the scaling by its own name */
  const char *a, *b, *d;     /* formats of its operands and its sums */
  const char* scale;         /* of scale bytes; null: there are none */
  const char* output;        /* what libraries usually give back: bf16, f16, f32 */
  uint64_t scale_block;      /* elements of k per scale */
  uint64_t factor_block;     /* elements of k per factor of software; 0: all of K */
  int32_t factor_per_lane;   /* one per row of A and column of B, else one per tensor */
  int32_t factor_per_tensor; /* 1: there is one, from the tensor's largest magnitude */
  uint64_t promote, split_k; /* what the policy says */
  const char* factor_order;  /* as mmaudit_product takes it */
  const char* activations;   /* the scaling of a B that is no weight; null: the same */
} mmaudit_gemm_path;

/* The instruction and the scales of a product in this dtype, scaling and accumulation (docs/audit.md), or
 * with MMAUDIT_BAD_INPUT why this architecture has none. */
MMAUDIT_API int mmaudit_find_path(mmaudit_gemm_path* path);

/* How people run products, as JSON: {"schema", "recipes": [{"name", "arch", "dtype", "scaling", "policy",
 * "gradient", "history", "source", ...}], "attention": [{"name", "arch", "dtype", "evidence", "source"}]},
 * where null is the usual one. Free with mmaudit_free(). */
MMAUDIT_API int mmaudit_recipes(char** json);

typedef struct mmaudit_quantization {
  size_t size;
  const char *dtype, *scaling; /* as mmaudit_gemm_path has them */
  uint32_t of_b;               /* 1: of a pair of dtypes the second, and k before lanes in what is written */
  uint32_t threads;            /* 0: one per core; no influence on the result */
  uint64_t batch, lanes, k;    /* a lane: a row of A, a column of B */
  const char* from;            /* format of x: f64, f32, f16, bf16 */
  mmaudit_in x;
  uint64_t batch_stride, lane_stride, k_stride; /* of x, in elements */
  /* Largest magnitudes (of finite numbers, or what `counted` of the recipe says) as binary32: of the tensor,
   * where factor_per_tensor; with scale_block (batch, lanes, blocks), with factor_per_lane (batch, lanes,
   * factor blocks). What shares a factor has the same. */
  mmaudit_in tensor_largest, largest;
  mmaudit_out elements;  /* (batch, lanes, k); of B (batch, k, lanes) */
  mmaudit_out scales;    /* (batch, lanes, blocks); of B (batch, blocks, lanes) */
  mmaudit_out factors;   /* binary32: one, or (batch, lanes, factor blocks) */
  uint32_t find_largest; /* 1: largest magnitudes that are null are found in x, and rounded to binary32 */
} mmaudit_quantization;

/* Numbers to elements, scales and factors, as `mmaudit audit` converts operands (docs/audit.md). */
MMAUDIT_API int mmaudit_quantize(const mmaudit_quantization* work);

typedef struct mmaudit_gemm {
  size_t size;
  const char* like;     /* "cublaslt" or "cublas"; null: "cublaslt" */
  const char* type;     /* of A and B: f16, bf16, tf32, f32, f64, e4m3, e5m2, s8 */
  const char* d_format; /* null: the type's usual one */
  const char* layout;   /* as the library was given A and B: nn, nt, tn, tt; null: nn */
  uint64_t m, n, k;
  mmaudit_in a, b; /* (m, k), (k, n), whatever the layout; of a batch (batch, m, k), (batch, k, n) */
  mmaudit_out d;   /* (m, n); of a batch (batch, m, n) */
  /* Either the plan, "instruction=NAME tile_k=64 slices=3", fields of docs/gemm.md with a blank between, */
  const char* plan;
  /* or what the library did: names of its kernels, one per line; "split_k=3 reduction=2 custom=0"; and the
   * dimensions of the first kernel, 0 where they are not known. */
  const char *kernels, *algorithm;
  uint32_t grid[3], block[3], cluster[3];
  uint32_t threads; /* 0: one per core; no influence on the result */
  /* Other fields of a problem of docs/gemm.md, "alpha=0.5 beta=1 bias=true activation=relu batch=4
   * stride_b=0", with a blank between; null: none. With stride_a=0 or stride_b=0 A or B is one matrix for the
   * batch. */
  const char* problem;
  mmaudit_in c;    /* (m, n), of a batch (batch, m, n), in D's format; where beta is not 0 */
  mmaudit_in bias; /* (n) in D's format, bf16 where FP8 gives a D of f32; where the problem has one */
} mmaudit_gemm;

/* What: D = A * B, or with alpha, beta * C, bias and activation what the problem says, with the bits that
 * cuBLASLt or cublasGemmEx returns by this plan. `plan_text`, unless null:
 * the plan in words; free with mmaudit_free(). MMAUDIT_BAD_INPUT where the plan is not known. */
MMAUDIT_API int mmaudit_gemm_predict(const mmaudit_gemm* work, char** plan_text);

/* The tolerance of a product: the exact value of A B + C of every element, or of the epilogue, and the
 * largest |D - exact| that the arithmetic of the instruction allows (docs/audit.md). `work` without d;
 * `exact` and `bound`: (batch, m, n) doubles, either may be null. An element whose exact value is a NaN or
 * infinite has a NaN as its bound, one that may overflow an infinite one. MMAUDIT_BAD_INPUT where no bound is
 * known.
 */
MMAUDIT_API int mmaudit_gemm_tolerance(const mmaudit_product* work, mmaudit_out exact, mmaudit_out bound);

typedef struct mmaudit_gemm_check {
  size_t size;
  int32_t within;  /* 1: one was checked, none is off by more than its bound, no NaN is unexpected */
  int32_t vacuous; /* 1: a D of zeros would pass too, and this one has not the model's bits */
  uint64_t elements, beyond;                      /* checked, and off by more than their bound */
  uint64_t worst_matrix, worst_row, worst_column; /* the largest |D - exact| / bound */
  double worst_exact, worst_found, worst_bound;
} mmaudit_gemm_check;

/* A D from anywhere, `work->d`, which is read, against that tolerance. `explanation`: null, or one line with
 * the verdict and the worst element; free with mmaudit_free(). */
MMAUDIT_API int mmaudit_check_gemm(const mmaudit_product* work, mmaudit_gemm_check* result,
                                   char** explanation);

typedef struct mmaudit_gemm_closeness {
  size_t size;
  int32_t close;               /* 1: bit-exact, or everything below is what another order allows */
  int32_t follows;             /* 1: D follows the model's order, so that elements which differ are wrong */
  uint64_t elements;           /* compared */
  uint64_t bit_exact;          /* with the bits of mmaudit_matmul(); any NaN equals any NaN */
  uint64_t beyond;             /* further from the model's than another order allows */
  double drift, drift_limit;   /* mean of D - model, away from zero, less that of other orders */
  double spread, spread_limit; /* mean size of D's errors over other orders'; from 1 / spread_limit on */
  uint64_t worst_matrix, worst_row, worst_column;
  double worst_exact, worst_found, worst_model, worst_limit;
} mmaudit_gemm_closeness;

/* `work->d`, which is read, against mmaudit_matmul(): another order inside the instructions passes, a missing
 * instruction, another promotion, other scales or one wrong element do not (docs/audit.md). `false_alarm`:
 * the chance that a correct D in a random order does not pass, above 0 and below 1. `explanation`: as above.
 */
MMAUDIT_API int mmaudit_check_gemm_close(const mmaudit_product* work, double false_alarm,
                                         mmaudit_gemm_closeness* result, char** explanation);

/* Factors of A's rows or B's columns. */
typedef struct mmaudit_exact_scale {
  uint32_t given, per_lane; /* per_lane: rows of A or columns of B per factor; 0: all of them */
  uint64_t block;           /* elements of K per factor; 0: all of K */
} mmaudit_exact_scale;

/* D = relu(alpha * scale_a * scale_b * A B + beta * C + bias), whose every number is exact in any order. */
typedef struct mmaudit_exact {
  size_t size;
  const char *type, *d_format; /* of A and B; of D */
  uint64_t batch, m, n, k;     /* batch 0: 1 */
  double alpha, beta;          /* powers of two; alpha 0: 1 */
  uint32_t one_a, one_b;       /* the matrices of a batch share one A, one B */
  uint32_t bias, relu;
  mmaudit_exact_scale scale_a, scale_b;
  uint64_t repeat, seed; /* each round so many times, 0: twice */
} mmaudit_exact;

/* What a product is asked to multiply: small integers and powers of two. A (batch, m, k) or (1, m, k), B
 * (batch, k, n), C (batch, m, n), bias (n), scale_a (groups of rows, blocks), scale_b (blocks, groups of
 * columns); null where the product has none. */
typedef struct mmaudit_exact_operands {
  size_t size;
  const float *a, *b, *c, *bias, *scale_a, *scale_b;
  uint32_t padding; /* what lies round A (1) and B (2) is NaN, else 0 */
} mmaudit_exact_operands;

/* Computes D, (batch, m, n). Returns: 0; 1: memory outside of D was written; negative: stop. */
typedef int (*mmaudit_exact_run)(void* user, const mmaudit_exact_operands* operands, double* d);

/* Whether a product does what it is asked, and what it does instead. `result`: JSON with "faults" in words,
 * "runs", "failing", "elements", "wrong", "first", "wrong_k" ([first, last, times in the sum]), "tail"; free
 * with mmaudit_free(). MMAUDIT_BAD_INPUT where `run` stops. */
MMAUDIT_API int mmaudit_check_exact(const mmaudit_exact* work, mmaudit_exact_run run, void* user,
                                    char** result);

/* The rule over shapes that holds for the failing ones alone. `trials`: batch, m, n, k, slices (0: not
 * known), failing (0, 1) of each. `rule`: empty where none is known; free with mmaudit_free(). */
MMAUDIT_API int mmaudit_exact_condition(const uint64_t* trials, size_t count, char** rule);

typedef struct mmaudit_dot {
  size_t size;
  const char* arch; /* null: "hopper" */
  const char* inst;
  mmaudit_in a;                /* stored_k elements: a row of A */
  mmaudit_in b;                /* k elements: a column of B */
  mmaudit_in c;                /* one element; null: +0 */
  mmaudit_in scale_a, scale_b; /* k / scale_block bytes; null: 1 */
  mmaudit_in metadata;         /* sparse, then required: stored_k bytes */
  uint32_t modifiers;
} mmaudit_dot;

/* One dot product step by step as JSON: {"schema", "architecture", "instruction", "row", "c", "d",
 * "final_add", and "steps", "fmas" or "products"}: what each addend brings, what alignment takes from it, the
 * sum and its rounding. Free with mmaudit_free(). */
MMAUDIT_API int mmaudit_explain(const mmaudit_dot* work, char** json);

/* Index of the first of `count` dot products that still fails, `count` when none does. a, b, c and scales of
 * `dots` hold all of them one after another (c: `count` elements), metadata the one row that they share. */
typedef size_t (*mmaudit_first_failing)(void* user, size_t count, const mmaudit_dot* dots);

typedef struct mmaudit_shrunk {
  size_t size;
  mmaudit_out a, b, c, scale_a,
      scale_b; /* sizes as in mmaudit_dot, c one element; scales null without scales */
} mmaudit_shrunk;

/* The simplest dot product found that still fails, starting from `work`, which does: fewest non-zero
 * products, then least significands and exponents nearest to the exponent of 1. It is what shrinks failures
 * of `mmaudit verify laws`. `first_failing` is asked at most 400 times and must not call back. */
MMAUDIT_API int mmaudit_shrink(const mmaudit_dot* work, mmaudit_first_failing first_failing, void* user,
                               const mmaudit_shrunk* result);

typedef struct mmaudit_cast_counts {
  size_t size;
  uint64_t exact, inexact, overflow, nan; /* these add up to the elements */
  uint64_t underflow, subnormal;          /* of these: became zero, are subnormal */
} mmaudit_cast_counts;

typedef struct mmaudit_cast {
  size_t size;
  const char *from, *to; /* formats */
  const char* rounding;  /* rn, rz, rna, rp as PTX's cvt; null: rn */
  int32_t saturate;      /* 1: beyond the largest number gives that number */
  mmaudit_in source;     /* any number of elements of `from` */
  mmaudit_out result;    /* as many of `to`; overlaps source only where the two are the same and as wide */
  mmaudit_cast_counts* counts; /* written unless null */
} mmaudit_cast;

/* Numbers from one format to another as the conversion instructions do. */
MMAUDIT_API int mmaudit_convert(const mmaudit_cast* work);

typedef struct mmaudit_rows {
  size_t size;
  const char* like;      /* null: "torch-2.11" */
  const char* operation; /* sum, mean, amax, softmax, log_softmax, layer_norm, rms_norm, rms_norm_steps */
  const char* type;      /* of x, weight and bias: f32, bf16, f16 */
  const char* output;    /* of y: the type (null) or f32 */
  uint64_t rows, n;
  mmaudit_in x;      /* (rows, n) */
  mmaudit_in weight; /* (n); may be null; norms only */
  mmaudit_in bias;   /* (n); may be null; layer_norm only */
  mmaudit_out y;     /* (rows) of sum, mean, amax; else (rows, n) */
  float epsilon;     /* norms only */
} mmaudit_rows;

/* What: every row reduced with the bits that a library's CUDA kernels give on an H100 or H200
 * (docs/row-reductions.md). `plan_text`, unless null: the order of the sums, "kernel=... lanes=32 groups=4";
 * free with mmaudit_free(). MMAUDIT_BAD_INPUT where the order is not known. */
MMAUDIT_API int mmaudit_reduce_rows(const mmaudit_rows* work, char** plan_text);

typedef struct mmaudit_collective_work {
  size_t size;
  const char *kind, *operation;     /* all-reduce (null), reduce-scatter; sum (null), average */
  const char* library;              /* null: nccl-2.29; nccl-2.27, gloo */
  const char* type;                 /* f32, f16, bf16 */
  uint64_t ranks, count;            /* count: elements of one rank's input */
  const char *algorithm, *protocol; /* NCCL's: ring (null), tree; simple (null), ll, ll128 */
  const char* rings;                /* "0 1 2 3; 0 3 2 1", a ring per channel, then again; null: 0 1 2 ... */
  const char* log; /* what NCCL_DEBUG=INFO printed on all ranks, in place of the choices; may be null */
  uint64_t channels, threads,
      buffer;    /* of the communicator, 0: 1; NCCL_NTHREADS, NCCL_BUFFSIZE, 0: as usual */
  mmaudit_in x;  /* (ranks, count) */
  mmaudit_out y; /* (count); of a reduce-scatter the results of ranks 0, 1, ... */
} mmaudit_collective_work;

/* What: a sum over the ranks of a group with the bits that a library gives (docs/collectives.md).
 * `plan_text`, unless null: the order of the sums; free with mmaudit_free(). MMAUDIT_BAD_INPUT where the
 * order is not known. */
MMAUDIT_API int mmaudit_collective(const mmaudit_collective_work* work, char** plan_text);

typedef struct mmaudit_attention {
  size_t size;
  /* Whose plan, one of: a library ("torch-flash", "torch-efficient", ...) or a recipe ("fa3-head", ...),
   * which converts q, k, v; a plan of your own ("qk=... pv=... block_k=64 ...", fields of docs/attention.md);
   * or names of the library's kernels, a line each. */
  const char *like, *plan, *kernels;
  const char* arch;   /* whose datapaths; null: the library's, else hopper */
  const char* type;   /* of q, k, v, bias: f16, bf16; of your own plan also e4m3, e5m2; of a recipe f32 */
  const char* causal; /* "none" (null), "top_left", "bottom_right": which corner the diagonal ends in */
  uint64_t batch, heads, kv_heads, queries, keys, depth;
  uint64_t left, right; /* a window: so many keys beside the diagonal, plus 1; 0: all */
  double scale;         /* 0: 1 / sqrt(depth) */
  mmaudit_in q;         /* (batch, heads, queries, depth) */
  mmaudit_in k, v;      /* (batch, kv_heads, keys, depth) */
  mmaudit_in bias;      /* (bias_batch, bias_heads, queries, keys), each 1 or as Q; may be null */
  uint64_t bias_batch, bias_heads;
  mmaudit_in descale_q, descale_k, descale_v; /* (batch, kv_heads) of binary32; may be null: 1 */
  mmaudit_out o;   /* (batch, heads, queries, depth) in the plan's format; null: the plan alone */
  mmaudit_out lse; /* (batch, heads, queries) of binary32; may be null */
  /* Of studies, may be null: binary32. Scores, P before its rounding, the running maximum that P was made
   * with and the product of later rescalings: (batch, heads, queries, keys); the last running maximum and the
   * row sum: (batch, heads, queries). */
  mmaudit_out scores, weights, bases, later, maxima, sums;
  unsigned threads; /* 0: one per core */
  /* Of a launch of several sequences (cu_seqlens), of which this is one: the most queries of one; 0: no such.
   */
  unsigned packed;
  double softcap;   /* 0: none; else scores become softcap * tanh(scale * S / softcap) */
  mmaudit_in sinks; /* (heads) of binary32, one more logit in each row's sum; may be null */
} mmaudit_attention;

/* What: O with the bits that a fused kernel of this plan returns (docs/attention.md). `plan_text`, unless
 * null: the plan in words; free with mmaudit_free(). MMAUDIT_BAD_INPUT where no plan is known. */
MMAUDIT_API int mmaudit_attention_predict(const mmaudit_attention* work, char** plan_text);

/* One packed conversion of PTX, "cvt.rs.satfinite.e4m3x4.f32": `count` operands as registers (binary32 by
 * their bits, or one register of packed elements), the first in the highest element of the result. `random`
 * is rbits of .rs, else not read. Source: PTX ISA 9.0, "cvt". */
MMAUDIT_API int mmaudit_cvt(const char* opcode, const uint32_t* operands, size_t count, uint32_t random,
                            uint32_t* result);

/* ---- special functions -----------------------------------------------------------------------------------
 */

/* What a special function of a GPU gives: `count` results of "ex2.approx.f32", "expf", "divide/fast", ...
 * Words of 32 bits, binary32 by their bits; a narrow function uses the low 16. `y`: the divisors of a
 * quotient, else null. result may be x or y. Source and limits: docs/functions.md. */
MMAUDIT_API int mmaudit_function(const char* name, const uint32_t* x, const uint32_t* y, size_t count,
                                 uint32_t* result);

/* ---- reports ---------------------------------------------------------------------------------------------
 */

/* Draws a report that another program made. `report`: JSON of the schema mmaudit.report/1, as `mmaudit
 * --json` writes it where a result has no schema of its own. `format`: "html" (also for null; one
 * self-contained page), "text", "markdown", "csv", "junit", "json", or "svg", its first figure alone. Text in
 * it stays text and figures are data, so no markup comes from outside. A report whose provenance has no
 * version gets the library's. Free with mmaudit_free(). MMAUDIT_ENVIRONMENT where the library was built
 * without what draws. */
MMAUDIT_API int mmaudit_render_report(const char* report, const char* format, char** out);

#ifdef __cplusplus
}
#endif

#endif
