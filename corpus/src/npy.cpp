#include "mmaudit/corpus/npy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "input_file.hpp"
#include "mmaudit/corpus/atomic_file.hpp"
#include "npy_header.hpp"
#include "refuse.hpp"
#include "safetensors_header.hpp"

namespace mmaudit::corpus {
namespace {

constexpr std::size_t kMagicBytes = 8;  // magic and version

/// Data whose first index runs fastest, put in the order of the last, which is read in pieces: memory is the
/// result's and a piece's. The shape is known to have as many bytes behind `start`.
std::vector<std::byte> read_fortran(const InputFile& file, std::uint64_t start,
                                    const std::vector<std::uint64_t>& shape, std::size_t element_bytes,
                                    std::uint64_t all_bytes) {
  constexpr std::uint64_t kPieceBytes = std::uint64_t{1} << 20, kMostColumns = 64;
  if (shape.size() < 2 || all_bytes == 0) return file.read(start, all_bytes);
  std::vector<std::byte> result(all_bytes);
  // The last axis is a row of the result; all others together are its rows, in another order than the file's.
  const std::uint64_t columns = shape.back(), rows = all_bytes / element_bytes / columns;
  const std::uint64_t most_columns = std::min(columns, kMostColumns);
  const std::uint64_t most_rows =
      std::clamp<std::uint64_t>(kPieceBytes / (most_columns * element_bytes), 1, rows);
  std::vector<std::vector<std::byte>> piece(most_columns);
  for (std::uint64_t first_row = 0; first_row < rows; first_row += most_rows) {
    const std::uint64_t row_count = std::min(most_rows, rows - first_row);
    std::vector<std::uint64_t> place(row_count);  // of each row in the result
    for (std::uint64_t i = 0; i < row_count; ++i) {
      std::uint64_t rest = first_row + i, at = 0;
      for (std::size_t axis = 0; axis + 1 < shape.size(); ++axis) {
        at = at * shape[axis] + rest % shape[axis];
        rest /= shape[axis];
      }
      place[i] = at;
    }
    for (std::uint64_t first = 0; first < columns; first += most_columns) {
      const std::uint64_t count = std::min(most_columns, columns - first);
      for (std::uint64_t c = 0; c < count; ++c)
        piece[c] =
            file.read(start + ((first + c) * rows + first_row) * element_bytes, row_count * element_bytes);
      for (std::uint64_t i = 0; i < row_count; ++i) {
        std::byte* to = result.data() + (place[i] * columns + first) * element_bytes;
        for (std::uint64_t c = 0; c < count; ++c)
          std::memcpy(to + c * element_bytes, piece[c].data() + i * element_bytes, element_bytes);
      }
    }
  }
  return result;
}

}  // namespace

Tensor read_npy(const std::filesystem::path& path) {
  const InputFile file(path);
  const std::string& label = file.label();
  std::array<std::byte, kMagicBytes> magic{};
  file.read(0, magic);
  constexpr std::array<unsigned char, 6> kMagic{0x93, 'N', 'U', 'M', 'P', 'Y'};
  const auto same = [](unsigned char a, std::byte b) { return std::byte{a} == b; };
  if (!std::equal(kMagic.begin(), kMagic.end(), magic.begin(), same))
    refuse("{}: magic: found other bytes, allowed: the magic of a .npy file", label);
  const auto major = std::to_integer<unsigned>(magic[kMagic.size()]);
  const auto minor = std::to_integer<unsigned>(magic[kMagic.size() + 1]);
  if (major < 1 || major > 3 || minor != 0)
    refuse("{}: version: found {}.{}, allowed: 1.0, 2.0 or 3.0", label, major, minor);

  const std::size_t length_bytes = major == 1 ? sizeof(std::uint16_t) : sizeof(std::uint32_t);
  const std::uint64_t header_bytes = little_endian(file.read(kMagicBytes, length_bytes));
  if (header_bytes > kMaxHeaderBytes)
    refuse("{}: header length: found {}, allowed: at most {}", label, header_bytes, kMaxHeaderBytes);
  const std::vector<std::byte> text = file.read(kMagicBytes + length_bytes, header_bytes);
  NpyHeader header = parse_npy_header({reinterpret_cast<const char*>(text.data()), text.size()}, label);

  const std::uint64_t data_start = kMagicBytes + length_bytes + header_bytes;
  const std::uint64_t available = file.size() - data_start;
  const auto needed = byte_count(header.dtype, header.shape);
  if (!needed || *needed != available) {
    const std::string allowed = needed ? fmt::format("{}", *needed) : "fewer than 2^64";
    refuse("{}: data: found {} bytes, allowed: {} bytes for {} {}", label, available, allowed,
           to_string(header.shape), npy_name(header.dtype));
  }
  std::vector<std::byte> data =
      header.fortran_order ? read_fortran(file, data_start, header.shape, bytes_of(header.dtype), available)
                           : file.read(data_start, available);
  return {path.stem().string(), header.dtype, std::move(header.shape), std::move(data), header.untyped};
}

void write_npy(const std::filesystem::path& path, const Tensor& tensor) {
  check_writable({tensor.name, tensor.dtype, tensor.shape, tensor.data}, label_of(path));
  AtomicFile file(path);
  file.write(npy_preamble(tensor.dtype, tensor.shape));
  file.write(tensor.data);
  file.commit();
}

}  // namespace mmaudit::corpus
