#include "mmaudit/corpus/npy.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "numpy_files.hpp"
#include "test_support.hpp"

namespace mmaudit::corpus {
namespace {

using test::expect_refused;
using test::from_hex;
using test::get;
using test::put;
using test::ScratchFolder;
using test::Shape;

Tensor parsed(std::string_view bytes) {
  const ScratchFolder folder;
  put(folder / "x.npy", bytes);
  return read_npy(folder / "x.npy");
}

/// Version 1.0 with this header text.
std::string npy(std::string_view header, std::string_view data = {}) {
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 0xFFU);
  bytes += static_cast<char>(header.size() >> 8U);
  return bytes.append(header).append(data);
}

template <class T>
std::vector<T> values(const Tensor& tensor) {
  const auto span = tensor.as<T>();
  return {span.begin(), span.end()};
}

TEST(Npy, ReadsWhatNumpyWrites) {
  const Tensor matrix = parsed(from_hex(numpy_files::kMatrixF32));
  EXPECT_EQ(matrix.name, "x");
  EXPECT_EQ(matrix.dtype, DType::f32);
  EXPECT_EQ(matrix.shape, (Shape{2, 3}));
  EXPECT_EQ(values<float>(matrix), (std::vector<float>{0, 1, 2, 3, 4, 5}));

  const Tensor scalar = parsed(from_hex(numpy_files::kScalarF64));
  EXPECT_EQ(scalar.shape, Shape{});
  EXPECT_EQ(values<double>(scalar), std::vector<double>{1.5});

  const Tensor vector = parsed(from_hex(numpy_files::kVectorU8));
  EXPECT_EQ(vector.shape, Shape{3});
  EXPECT_EQ(values<std::uint8_t>(vector), (std::vector<std::uint8_t>{1, 2, 255}));

  const Tensor empty = parsed(from_hex(numpy_files::kEmptyI64));
  EXPECT_EQ(empty.shape, (Shape{0, 4}));
  EXPECT_TRUE(empty.as<std::int64_t>().empty());

  EXPECT_EQ(parsed(from_hex(numpy_files::kBooleans)).dtype, DType::boolean);
  EXPECT_EQ(values<std::int32_t>(parsed(from_hex(numpy_files::kVersion2))),
            (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(values<std::int32_t>(parsed(from_hex(numpy_files::kVersion3))),
            (std::vector<std::int32_t>{0, 1}));
}

TEST(Npy, ReadsVoidsAsRawBits) {
  const Tensor bf16 = parsed(from_hex(numpy_files::kVoid2));
  EXPECT_EQ(bf16.dtype, DType::u16);
  EXPECT_EQ(values<std::uint16_t>(bf16), (std::vector<std::uint16_t>{0x3F80, 0xC000}));
  EXPECT_TRUE(bf16.untyped);
  EXPECT_FALSE(parsed(npy("{'descr': '<u2', 'fortran_order': False, 'shape': (1,)}", "ab")).untyped);
  EXPECT_FALSE(parsed(npy("{'descr': '<V2', 'fortran_order': False, 'shape': (1,)}# BF16", "ab")).untyped);
  EXPECT_EQ(parsed(npy("{'descr': '<V1', 'fortran_order': False, 'shape': (1,)}", "\x38")).dtype, DType::u8);
}

TEST(Npy, TransposesFortranOrder) {
  const Tensor tensor = parsed(from_hex(numpy_files::kFortranU16));
  EXPECT_EQ(tensor.shape, (Shape{2, 3, 4}));
  for (std::uint16_t i = 0; i < 24; ++i) EXPECT_EQ(tensor.as<std::uint16_t>()[i], i);
}

// More rows than a piece has, more columns than are read at once, and the rows of several axes.
TEST(Npy, TransposesFortranOrderPieceByPiece) {
  constexpr std::size_t kAxes[] = {70, 130, 67};
  std::string data;
  for (std::size_t k = 0; k < kAxes[2]; ++k)
    for (std::size_t j = 0; j < kAxes[1]; ++j)
      for (std::size_t i = 0; i < kAxes[0]; ++i) {
        const std::size_t value = (i * kAxes[1] + j) * kAxes[2] + k;  // its place in the result
        for (int byte = 0; byte < 4; ++byte) data.push_back(static_cast<char>(value >> (8 * byte) & 0xFF));
      }
  const Tensor tensor = parsed(npy("{'descr': '<u4', 'fortran_order': True, 'shape': (70, 130, 67)}", data));
  ASSERT_EQ(tensor.data.size(), data.size());
  for (std::size_t i = 0; i < tensor.data.size() / 4; ++i) {
    std::uint32_t value = 0;
    std::memcpy(&value, &tensor.data[4 * i], 4);
    ASSERT_EQ(value, i);
  }
}

TEST(Npy, TransposesFortranOrderOfAnyRank) {
  const std::string_view header = "{'descr': '|u1', 'fortran_order': True, 'shape': ";
  const auto fortran = [&](std::string_view shape, std::string_view data) {
    return values<std::uint8_t>(parsed(npy(std::string(header).append(shape) + "}", data)));
  };
  using Bytes = std::vector<std::uint8_t>;
  EXPECT_EQ(fortran("()", "a"), Bytes{'a'});
  EXPECT_EQ(fortran("(3,)", "abc"), (Bytes{'a', 'b', 'c'}));
  EXPECT_EQ(fortran("(2, 2)", "abcd"), (Bytes{'a', 'c', 'b', 'd'}));
  EXPECT_EQ(fortran("(1, 2, 1, 2, 1)", "abcd"), (Bytes{'a', 'c', 'b', 'd'}));
  EXPECT_EQ(fortran("(0, 18446744073709551615)", ""), Bytes{});
  EXPECT_EQ(fortran("(2, 2, 2, 2)", "0123456789abcdef"),
            (Bytes{'0', '8', '4', 'c', '2', 'a', '6', 'e', '1', '9', '5', 'd', '3', 'b', '7', 'f'}));
}

TEST(Npy, WritesTheBytesNumpyWrites) {
  const ScratchFolder folder;
  for (const std::string_view file :
       {numpy_files::kMatrixF32, numpy_files::kScalarF64, numpy_files::kVectorU8, numpy_files::kEmptyI64,
        numpy_files::kBooleans}) {
    put(folder / "in.npy", from_hex(file));
    write_npy(folder / "out.npy", read_npy(folder / "in.npy"));
    EXPECT_EQ(get(folder / "out.npy"), from_hex(file));
  }
}

TEST(Npy, RefusesToWriteWhatItWouldNotRead) {
  const ScratchFolder folder;
  expect_refused(
      [&] {
        write_npy(folder / "x.npy", {"w", DType::u8, {3}, {}});
      },
      "tensor 'w': found 0 bytes");
  expect_refused(
      [&] {
        write_npy(folder / "x.npy", {"w", DType::u8, Shape(65, 1), {std::byte{}}});
      },
      "65 dimensions");
  EXPECT_TRUE(folder.names().empty());
  expect_refused([&] { write_npy(folder / "none/x.npy", {"w", DType::u8, {0}, {}}); }, "cannot write");
}

TEST(Npy, RefusesOtherDtypes) {
  expect_refused([] { parsed(from_hex(numpy_files::kBigEndian)); },
                 "descr: found '>f4' (big-endian), allowed: a little");
  expect_refused([] { parsed(from_hex(numpy_files::kStructured)); }, "descr: found a structured dtype");
  expect_refused([] { parsed(from_hex(numpy_files::kComplex)); }, "descr: found '<c8'");
  expect_refused([] { parsed(from_hex(numpy_files::kObject)); }, "descr: found '|O' (Python objects)");
}

TEST(Npy, RefusesEveryTruncation) {
  for (const std::string_view hex : {numpy_files::kMatrixF32, numpy_files::kVersion2}) {
    const std::string whole = from_hex(hex);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      EXPECT_THROW(parsed(whole.substr(0, size)), InputError) << size;
    }
    expect_refused([&] { parsed(whole + "x"); }, "data: found");
  }
}

TEST(Npy, RefusesMalformedHeaders) {
  const std::string good = "{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }";
  EXPECT_EQ(parsed(npy(good, "x")).shape, Shape{1});
  const std::string_view other_style = " {\"shape\":(1 , 1),\n\"fortran_order\":False,'descr':'<u1'} \n";
  EXPECT_EQ(parsed(npy(other_style, "x")).shape, (Shape{1, 1}));
  const auto shape = [](std::string_view text) {
    return npy("{'descr': '|u1', 'fortran_order': False, 'shape': " + std::string(text) + "}", "x");
  };
  for (const std::string_view text :
       {"(1)", "1", "[1]", "(-1,)", "(+1,)", "(1.0,)", "(1,,)", "(,)", "(1 1)", "(1,", "('1',)", "((1,),)",
        "(1e0,)", "(18446744073709551616,)", "(9223372036854775808, 2)", "(0, 9223372036854775808, 2)",
        "(0x1,)", "(True,)"}) {
    EXPECT_THROW(parsed(shape(text)), InputError) << text;
  }
  std::string rank65 = "(";
  for (int i = 0; i < 65; ++i) rank65 += "1,";
  expect_refused([&] { parsed(shape(rank65 + ")")); }, "shape: found over 64 dimensions");
  for (const std::string_view text :
       {"", "{}", "{", "{'descr'}", "[]", "{,}", "{'descr': '|u1'}",
        "{'descr': '|u1', 'fortran_order': False}", "{'descr': '|u1', 'fortran_order': false, 'shape': (1,)}",
        "{'descr': '|u1', 'fortran_order': 0, 'shape': (1,)}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (1,)} x",
        "{'descr': '|u1' 'fortran_order': False}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (1,), 'x': 1}",
        "{'descr': '|u1', 'descr': '|u1', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '\\x7cu1', 'fortran_order': False, 'shape': (1,)}", "{'descr': 1}", "{'descr': '|u1",
        "{'a\x1b[31m\nb': 1}", "{'descr': None, 'fortran_order': False, 'shape': (1,)}"}) {
    EXPECT_FALSE(test::refusal([&] { parsed(npy(text, "x")); }).empty()) << text;
  }
}

TEST(Npy, RefusesOtherVersionsAndFiles) {
  std::string bytes = from_hex(numpy_files::kMatrixF32);
  bytes[6] = 4;
  expect_refused([&] { parsed(bytes); }, "version: found 4.0, allowed: 1.0, 2.0 or 3.0");
  bytes[6] = 1;
  bytes[7] = 1;
  expect_refused([&] { parsed(bytes); }, "version: found 1.1");
  bytes[0] = 'x';
  expect_refused([&] { parsed(bytes); }, "magic: found");
  const ScratchFolder folder;
  expect_refused([&] { read_npy(folder.path()); }, "a folder, allowed: a regular file");
  expect_refused([] { read_npy("/dev/zero"); }, "a device, pipe or socket, allowed: a regular file");
}

TEST(Npy, ChecksTheHeaderLengthBeforeReadingIt) {
  std::string bytes("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12);
  expect_refused([&] { parsed(bytes); }, "header length: found 4294967295");
}

}  // namespace
}  // namespace mmaudit::corpus
