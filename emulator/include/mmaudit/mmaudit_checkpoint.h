/* Checkpoints: layers, their dequantized weights, and codes and scales as products of mmaudit.h take them.
 * The rules of mmaudit.h hold. All of it is in libmmaudit.so; MMAUDIT_ENVIRONMENT where that was built
 * without the headers of fmt and nlohmann_json. */
#ifndef MMAUDIT_MMAUDIT_CHECKPOINT_H
#define MMAUDIT_MMAUDIT_CHECKPOINT_H

#include "mmaudit/mmaudit.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A checkpoint that is open: its headers are in memory, its tensors on disk. Any thread may read it. */
typedef struct mmaudit_checkpoint mmaudit_checkpoint;

/* Opens a folder of a hub (config.json, *.safetensors, perhaps an index), an index (*.index.json), one
 * .safetensors or one .gguf. `convention`: how whoever wrote it keeps codes and scales, a name of
 * docs/model.md; null: what the config and the tensors say. MMAUDIT_BAD_INPUT with the names to choose from
 * where they leave a choice, and for a file that can't be read. */
MMAUDIT_API int mmaudit_checkpoint_open(const char* path, const char* convention, mmaudit_checkpoint** out);
/* Null is allowed. */
MMAUDIT_API void mmaudit_checkpoint_close(mmaudit_checkpoint* checkpoint);
/* Layers in network order: how many. */
MMAUDIT_API size_t mmaudit_checkpoint_layers(const mmaudit_checkpoint* checkpoint);
/* All of it as JSON of the schema mmaudit.checkpoint/1 (docs/model.md). Free with mmaudit_free(). */
MMAUDIT_API int mmaudit_checkpoint_describe(const mmaudit_checkpoint* checkpoint, char** json);

/* A layer: `experts` matrices (n, k), n outputs and k inputs; its rows are counted over all experts. An
 * element's value is ((code - zero) * scale - offset), where what is not there is 0, 1, 0, and `factors` of
 * an expert multiply the scale. */
typedef struct mmaudit_checkpoint_layer {
  size_t size;
  const char* name;         /* of the module: without ".weight". Names live as long as the checkpoint */
  const char* convention;   /* whose layout it is; "plain": numbers without scales */
  uint64_t experts, n, k;   /* experts: 1 where there are none */
  const char* format;       /* of the codes, of mmaudit_format_at(): e2m1, e4m3, s8, u4, bf16, ... */
  const char* scale_format; /* of the scales: ue8m0, e4m3, ue4m3, f32; null: none */
  uint64_t scale_rows, scale_columns; /* of the scales of an expert; 0: there are none */
  uint64_t block_n, block_k;          /* a scale covers that many rows and k; 0: there are none */
  uint32_t has_zeros, has_offsets;    /* 1: there are zeros, or offsets, as many as scales */
  uint32_t has_factors;               /* 1: a second factor per expert (NVFP4's tensor scale) */
  uint32_t has_groups;                /* 1: k belongs to scale column group_of_k[k], not k / block_k */
  const char* dequantized;            /* f32, bf16 or f16: the type that the package's own weights have */
  const char* recipe; /* what it means on a GPU: a name of mmaudit_recipes() ("nvfp4"); null: a
                       * product in `dequantized` (w4a16, plain) */
  double input_scale; /* one activation is code * input_scale; NaN: there is none */
} mmaudit_checkpoint_layer;

MMAUDIT_API int mmaudit_checkpoint_layer_at(const mmaudit_checkpoint* checkpoint, size_t index,
                                            mmaudit_checkpoint_layer* out);

/* What to read of a layer; arrays that are null are not wanted. */
typedef struct mmaudit_checkpoint_rows {
  size_t size;
  size_t layer;
  uint64_t first_row, rows; /* of experts * n */
  const char* to;           /* of the weights: f32, bf16, f16; null: f32 */
  mmaudit_out weights;      /* (rows, k): the package's own dequantized weights, rounded to nearest even where
                             * `to` is narrower than what the package computes in */
  mmaudit_out codes;        /* (rows, k) in the storage of `format`, unpacked, one element per byte or more */
  /* Of the whole layer, whatever rows are read: */
  mmaudit_out scales;         /* (experts, scale_rows, scale_columns) of scale_format */
  mmaudit_out zeros, offsets; /* the same shape, binary32 */
  mmaudit_out factors;        /* (experts) binary32; of a divisor its reciprocal */
  mmaudit_out groups;         /* (k) of 32 bits without sign */
} mmaudit_checkpoint_rows;

/* Reads them from disk: nothing is quantized again. Memory: of the rows, where their codes lie row by row
 * (all but GPTQ's and AWQ's), and of the scales. */
MMAUDIT_API int mmaudit_checkpoint_read(const mmaudit_checkpoint* checkpoint,
                                        const mmaudit_checkpoint_rows* work);

#ifdef __cplusplus
}
#endif

#endif
