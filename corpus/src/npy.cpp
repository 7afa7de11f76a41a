#include "mmaudit/corpus/npy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "input_file.hpp"
#include "mmaudit/corpus/atomic_file.hpp"
#include "npy_header.hpp"
#include "refuse.hpp"
#include "tensor_view.hpp"

namespace mmaudit::corpus {
namespace {

constexpr std::size_t kMagicBytes = 8;  // magic and version

/// First index fastest to last index fastest. The shape's element count is known to match `data`.
std::vector<std::byte> to_c_order(const std::vector<std::byte>& data, const std::vector<std::uint64_t>& shape,
                                  std::size_t element_bytes) {
  std::vector<std::byte> result(data.size());
  if (data.empty()) return result;
  std::vector<std::size_t> strides;
  std::size_t stride = element_bytes;
  for (const std::uint64_t extent : shape) {
    strides.push_back(stride);
    stride *= static_cast<std::size_t>(extent);
  }
  std::vector<std::uint64_t> index(shape.size(), 0);
  std::size_t source = 0;
  for (std::size_t target = 0; target < result.size(); target += element_bytes) {
    std::copy_n(data.begin() + static_cast<std::ptrdiff_t>(source), element_bytes,
                result.begin() + static_cast<std::ptrdiff_t>(target));
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      source += strides[axis];
      if (++index[axis] < shape[axis]) break;
      source -= strides[axis] * static_cast<std::size_t>(shape[axis]);
      index[axis] = 0;
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
  if (!std::equal(kMagic.begin(), kMagic.end(), magic.begin(), same)) {
    refuse(label, "magic", "other bytes", "those of a .npy file");
  }
  const auto major = std::to_integer<unsigned>(magic[kMagic.size()]);
  const auto minor = std::to_integer<unsigned>(magic[kMagic.size() + 1]);
  if (major < 1 || major > 3 || minor != 0) {
    refuse(label, "version", fmt::format("{}.{}", major, minor), "1.0, 2.0 or 3.0");
  }

  const std::size_t length_bytes = major == 1 ? sizeof(std::uint16_t) : sizeof(std::uint32_t);
  const std::uint64_t header_bytes = little_endian(file.read(kMagicBytes, length_bytes));
  if (header_bytes > kMaxHeaderBytes) {
    refuse(label, "header length", std::to_string(header_bytes), fmt::format("at most {}", kMaxHeaderBytes));
  }
  const std::vector<std::byte> text = file.read(kMagicBytes + length_bytes, header_bytes);
  NpyHeader header = parse_npy_header({reinterpret_cast<const char*>(text.data()), text.size()}, label);

  const std::uint64_t data_start = kMagicBytes + length_bytes + header_bytes;
  const std::uint64_t available = file.size() - data_start;
  const auto needed = byte_count(header.dtype, header.shape);
  if (!needed || *needed != available) {
    const std::string allowed = needed ? fmt::format("{}", *needed) : "fewer than 2^64";
    refuse(label, "data", fmt::format("{} bytes", available),
           fmt::format("{} bytes for {} {}", allowed, to_string(header.shape), npy_name(header.dtype)));
  }
  Tensor tensor{path.stem().string(), header.dtype, std::move(header.shape),
                file.read(data_start, available)};
  if (header.fortran_order) tensor.data = to_c_order(tensor.data, tensor.shape, bytes_of(tensor.dtype));
  return tensor;
}

void write_npy(const std::filesystem::path& path, const Tensor& tensor) {
  check_writable({tensor.name, tensor.dtype, tensor.shape, tensor.data}, label_of(path));
  AtomicFile file(path);
  file.write(npy_preamble(tensor.dtype, tensor.shape));
  file.write(tensor.data);
  file.commit();
}

}  // namespace mmaudit::corpus
