#pragma once
// What a real GPU answered to a batch of matrix instructions, with where the answers come from. See
// docs/corpus.md.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "mmaudit/corpus/tensor.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/provenance.hpp"
#include "mmaudit/tile_batch.hpp"

namespace mmaudit::corpus {

/// Consecutive tiles that one generator made. Families follow one another in the order of the tiles.
struct FamilyRange {
  std::string name;
  std::uint64_t tiles = 0;

  bool operator==(const FamilyRange&) const = default;
};

/// `tiles` matrix instructions: a (T, M, K), b (T, K, N), c and d (T, M, N), raw bits in u8, u16, u32 or u64
/// by storage width; one modifier byte a tile. T, M, K and N are at least 1, and so is every family. A sparse
/// instruction has a (T, M, K/2) and metadata of that shape: for every stored element its position inside its
/// group (sparse.hpp). A block-scaled instruction has scale_a (T, M, K/block) and scale_b (T, K/block, N) in
/// u8. The instruction has to be a known one in both cases. Every text is needed, on one line; write
/// "unknown" where it is; but the form, which a file has only where it is not empty. Of the provenance a file
/// has GPU, compute capability (0: unknown), driver, CUDA, revision, date and seed.
struct Recording {
  Provenance provenance;
  std::string instruction;
  std::string generator;  ///< version of the generator of the inputs
  std::string form;       ///< in which tcgen05 was recorded, "ws", "pair" or "tmem"; empty: plain
  std::vector<FamilyRange> families;
  std::uint64_t tiles = 0;
  Tensor a, b, c, d;
  std::vector<std::uint8_t> modifiers;
  std::vector<std::uint8_t> metadata;  ///< (T, M, K/2); empty: dense
  Tensor scale_a, scale_b;             ///< without shape and data: not block-scaled
};

/// The recording of these tiles; D is what the hardware wrote.
Recording recording_of(TileBatch tiles, std::vector<FamilyRange> families, Provenance provenance,
                       std::string generator);

/// The file's content is not what was written.
struct DamagedRecording : InputError {
  using InputError::InputError;
};

/// XXH3-128 over everything in the file but itself: metadata, dtypes, shapes and bytes. 32 hex digits.
std::string checksum_of(const Recording& recording);

/// A safetensors file with tensors A, B, C, D, modifiers; of a sparse instruction metadata; of a block-scaled
/// one scale_a and scale_b. Equal recordings give equal bytes. Throws InputError if shapes, dtypes, families,
/// modifiers or provenance are not as described above, or the file cannot be written.
void write_recording(const std::filesystem::path& path, const Recording& recording);

/// Throws DamagedRecording if the checksum differs, InputError for everything else that write_recording did
/// not write.
Recording read_recording(const std::filesystem::path& path);

/// All *.safetensors under `folder`, sorted. Throws InputError if the folder is missing or holds none.
std::vector<std::filesystem::path> find_recordings(const std::filesystem::path& folder);

}  // namespace mmaudit::corpus
