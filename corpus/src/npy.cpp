#include "mmaudit/corpus/npy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>

#include "input_file.hpp"
#include "mmaudit/corpus/atomic_file.hpp"
#include "refuse.hpp"
#include "safetensors_header.hpp"

namespace mmaudit::corpus {
namespace {

/// The text between magic and data: one Python dict literal.
struct NpyHeader {
  DType dtype = DType::u8;
  bool fortran_order = false;
  std::vector<std::uint64_t> shape;
  bool untyped = false;  ///< V1 or V2 without a comment that names one
};

constexpr std::string_view kDTypesAllowed =
    "a little-endian number: <f2 <f4 <f8 |u1 <u2 <u4 <u8 |i1 <i2 <i4 <i8 |b1, or |V1 <V2 for raw bits";

/// A recursive descent over a grammar without recursion: one dict, strings, True/False, one tuple of
/// integers.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  NpyHeader parse() {
    expect('{');
    while (!accept('}')) {
      const std::string_view key = quoted("header key");
      expect(':');
      entry(key);
      if (accept(',')) continue;
      expect('}');
      break;
    }
    const std::optional<DType> named = comment();
    skip_space();
    if (at_ != text_.size()) unexpected("only white space after the dict");
    if (!dtype_) refuse("{}: descr: found no such key, allowed: a dtype", file_);
    if (!fortran_order_) refuse("{}: fortran_order: found no such key, allowed: True or False", file_);
    if (!shape_) refuse("{}: shape: found no such key, allowed: a tuple", file_);
    // numpy has no name of its own for the small floats: the comment says which of that width it is.
    const bool is_named = named && npy_name(*named).substr(1) == void_name_;
    if (is_named) dtype_ = named;
    return {*dtype_, *fortran_order_, *std::move(shape_), !void_name_.empty() && !is_named};
  }

 private:
  void entry(std::string_view key) {
    const bool repeated = (key == "descr" && dtype_) || (key == "fortran_order" && fortran_order_) ||
                          (key == "shape" && shape_);
    if (repeated) refuse("{}: {}: found the key twice, allowed: once", file_, key);
    if (key == "descr") {
      dtype_ = descr();
    } else if (key == "fortran_order") {
      fortran_order_ = boolean();
    } else if (key == "shape") {
      shape_ = tuple();
    } else {
      refuse("{}: header key: found '{}', allowed: descr, fortran_order or shape", file_, printable(key));
    }
  }

  /// "# F8_E4M3" after the dict, which Python skips; nullopt for any other or none.
  std::optional<DType> comment() {
    if (!accept('#')) return std::nullopt;
    skip_space();
    const std::size_t end = std::min(text_.find_first_of(" \n", at_), text_.size());
    const std::string_view name = text_.substr(at_, end - at_);
    at_ = std::min(text_.find('\n', at_), text_.size());
    return dtype_from_safetensors(name);
  }

  DType descr() {
    skip_space();
    if (at_ < text_.size() && (text_[at_] == '[' || text_[at_] == '('))
      refuse("{}: descr: found a structured dtype, allowed: {}", file_, kDTypesAllowed);
    const std::string_view name = quoted("descr");
    const auto dtype = dtype_from_npy(name);
    if (dtype && name[1] == 'V') void_name_ = name.substr(1);
    if (dtype) return *dtype;
    std::string_view kind;
    if (name.starts_with('>')) kind = " (big-endian)";
    if (name.size() > 1 && name[1] == 'O') kind = " (Python objects)";
    refuse("{}: descr: found '{}'{}, allowed: {}", file_, printable(name), kind, kDTypesAllowed);
  }

  bool boolean() {
    if (accept_word("True")) return true;
    if (accept_word("False")) return false;
    unexpected("fortran_order to be True or False");
  }

  std::vector<std::uint64_t> tuple() {
    std::vector<std::uint64_t> shape;
    expect('(');
    bool comma = true;
    while (!accept(')')) {
      if (!comma) unexpected("',' or ')'");
      if (shape.size() == kMaxRank)
        refuse("{}: shape: found over {} dimensions, allowed: at most {}", file_, kMaxRank, kMaxRank);
      shape.push_back(number());
      comma = accept(',');
    }
    // Python reads (3) as a number, so numpy refuses it too.
    if (shape.size() == 1 && !comma)
      refuse("{}: shape: found a number in brackets, allowed: a tuple, such as (3,)", file_);
    return shape;
  }

  std::uint64_t number() {
    skip_space();
    std::uint64_t value = 0;
    const char* const begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error == std::errc::result_out_of_range)
      refuse("{}: shape: found an extent over 2^64, allowed: 64 bits at most", file_);
    if (error != std::errc()) unexpected("an extent of 0 or more");
    at_ += static_cast<std::size_t>(end - begin);
    return value;
  }

  std::string_view quoted(std::string_view field) {
    skip_space();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) unexpected("a quoted string");
    const char quote = text_[at_];
    const std::size_t begin = at_ + 1;
    const std::size_t end = text_.find(quote, begin);
    if (end == std::string_view::npos) unexpected("a closed string");
    const std::string_view inside = text_.substr(begin, end - begin);
    if (inside.find('\\') != std::string_view::npos)
      refuse("{}: {}: found an escape in '{}', allowed: plain text", file_, field, printable(inside));
    at_ = end + 1;
    return inside;
  }

  void skip_space() {
    while (at_ < text_.size() && std::string_view(" \t\n\r").find(text_[at_]) != std::string_view::npos)
      ++at_;
  }

  bool accept(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  bool accept_word(std::string_view word) {
    skip_space();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  void expect(char c) {
    if (!accept(c)) unexpected(fmt::format("'{}'", c));
  }

  [[noreturn]] void unexpected(std::string_view allowed) const {
    constexpr std::size_t kShown = 16;
    const std::string found =
        at_ < text_.size() ? fmt::format("'{}'", printable(text_.substr(at_), kShown)) : "its end";
    refuse("{}: header: found {} at character {}, allowed: {}", file_, found, at_, allowed);
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
  std::optional<DType> dtype_;
  std::string_view void_name_;  // "V1", "V2"
  std::optional<bool> fortran_order_;
  std::optional<std::vector<std::uint64_t>> shape_;
};

/// Throws InputError, naming `file`, unless `text` is a dict of exactly descr, fortran_order and shape with
/// values this module can use, padded with white space.
NpyHeader parse_npy_header(std::string_view text, const std::string& file) {
  return HeaderParser(text, file).parse();
}

/// Magic, version 1.0 and padded header, 64-byte aligned, as numpy.save writes them.
std::string npy_preamble(DType dtype, const std::vector<std::uint64_t>& shape) {
  constexpr std::size_t kAlignment = 64;
  constexpr std::size_t kBeforeHeader = 10;  // magic, version, 16-bit length
  constexpr std::size_t kGrowthDigits = 21;  // numpy leaves room to rewrite the first extent in place
  constexpr unsigned kBitsOfByte = 8;
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}",
                                   npy_name(dtype), fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  if (!shape.empty()) header.append(kGrowthDigits - fmt::formatted_size("{}", shape.front()), ' ');
  if (npy_name(dtype)[1] == 'V') header += fmt::format("# {}", safetensors_name(dtype));
  const std::size_t unpadded = kBeforeHeader + header.size() + 1;
  header.append(kAlignment - unpadded % kAlignment, ' ');
  header += '\n';
  // At most kMaxRank extents of 20 digits: far below the 65535 of a 16-bit length.
  const auto length = static_cast<unsigned>(header.size());
  std::string preamble("\x93NUMPY\x01\x00", 8);
  preamble += static_cast<char>(length & 0xFFU);
  preamble += static_cast<char>(length >> kBitsOfByte);
  return preamble + header;
}

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
