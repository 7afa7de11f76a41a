#include "mmaudit/corpus/recording.hpp"

#include <gtest/gtest.h>
#include <zstd.h>

#include <fstream>
#include <functional>

#include "mmaudit/corpus/safetensors.hpp"
#include "test_support.hpp"

namespace mmaudit::corpus {
namespace {

using test::expect_refused;
using test::get;
using test::put;
using test::ScratchFolder;
using test::small_recording;

std::string bytes_of_recording(const Recording& recording) {
  const ScratchFolder folder;
  write_recording(folder / "r.safetensors", recording);
  return get(folder / "r.safetensors");
}

/// Writes a small recording, changes the file through the safetensors layer, and reads it as a recording.
std::string refusal_after(const std::function<void(SafetensorsFile&)>& change) {
  const ScratchFolder folder;
  const auto path = folder / "r.safetensors";
  write_recording(path, small_recording());
  SafetensorsFile file = read_safetensors(path);
  change(file);
  write_safetensors(path, file);
  return test::refusal([&] { read_recording(path); });
}

TEST(Recording, RoundTrips) {
  const ScratchFolder folder;
  const Recording written = small_recording();
  write_recording(folder / "r.safetensors", written);
  const Recording read = read_recording(folder / "r.safetensors");
  EXPECT_EQ(read.provenance, written.provenance);
  EXPECT_EQ(read.families, written.families);
  EXPECT_EQ(read.tiles, 2U);
  EXPECT_EQ(read.modifiers, written.modifiers);
  EXPECT_EQ(read.a.data, written.a.data);
  EXPECT_EQ(read.b.data, written.b.data);
  EXPECT_EQ(read.c.data, written.c.data);
  EXPECT_EQ(read.d.data, written.d.data);
  EXPECT_EQ(read.d.shape, written.d.shape);
  EXPECT_EQ(read.a.dtype, DType::u8);
  EXPECT_EQ(checksum_of(read), checksum_of(written));
}

TEST(Recording, AFormIsKeptAndCovered) {
  const ScratchFolder folder;
  Recording written = small_recording();
  written.form = "pair";
  write_recording(folder / "r.safetensors", written);
  EXPECT_EQ(read_recording(folder / "r.safetensors").form, "pair");
  EXPECT_NE(checksum_of(written), checksum_of(small_recording()));
  EXPECT_NE(refusal_after([](SafetensorsFile& file) { file.metadata["form"] = "pair"; }).find("checksum"),
            std::string::npos);
  written.form = "two\nlines";
  expect_refused([&] { write_recording(folder / "s.safetensors", written); }, "form: found");
}

TEST(Recording, EqualRecordingsGiveEqualBytes) {
  Recording renamed = small_recording();
  renamed.a.name = "whatever";
  EXPECT_EQ(bytes_of_recording(small_recording()), bytes_of_recording(renamed));
}

TEST(Recording, CompressedFilesAreReadWithTheirSizeCheckedFirst) {
  const ScratchFolder folder;
  const auto path = folder / "r.safetensors";
  write_recording(path, small_recording());
  const std::string plain = get(path);
  std::string frame(ZSTD_compressBound(plain.size()), '\0');
  frame.resize(ZSTD_compress(frame.data(), frame.size(), plain.data(), plain.size(), 3));
  const auto compressed = folder / "c.safetensors.zst";
  put(compressed, frame);
  EXPECT_EQ(checksum_of(read_recording(compressed)), checksum_of(small_recording()));
  EXPECT_EQ(find_recordings(compressed.parent_path()).size(), 2U);

  const auto refused = [&](std::string_view bytes, std::string_view part) {
    put(compressed, bytes);
    expect_refused([&] { read_recording(compressed); }, part);
  };
  refused(plain, "content: found no zstd frame");
  refused("", "content: found no zstd frame");
  refused(std::string_view(frame).substr(0, frame.size() - 5), "allowed: one whole zstd frame");
  refused(std::string_view(frame).substr(0, 8), "content: found");
  // A frame of one segment that claims 2^60 bytes: magic, descriptor with an 8-byte size, the size.
  std::string huge("\x28\xB5\x2F\xFD\xE0", 5);
  huge += std::string("\0\0\0\0\0\0\0\x10", 8) + std::string(16, '\0');
  refused(huge, "content: found 1152921504606846976 bytes, allowed: at most");
  // 200 MiB out of one block: an empty last one, behind a 4-byte size.
  refused(std::string("\x28\xB5\x2F\xFD\xA0\x00\x00\x80\x0C\x01\x00\x00", 12),
          "content: found 209715200 bytes, allowed: the 524288 that 12 hold");
  refused(std::string("\x28\xB5\x2F\xFD\x00\x58", 6) + std::string(16, '\0'), "a frame without its size");
}

// Changes only with format_version: older files would all read as damaged.
TEST(Recording, ChecksumIsFixed) {
  EXPECT_EQ(checksum_of(small_recording()), "fe0c57611d140e231a87520e12d077e1");
}

TEST(Recording, EveryFlippedBitIsSeen) {
  const ScratchFolder folder;
  const auto path = folder / "r.safetensors";
  const std::string bytes = bytes_of_recording(small_recording());
  put(path, bytes);
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  const auto set_byte = [&](std::size_t at, unsigned value) {
    file.seekp(static_cast<std::streamoff>(at)).put(static_cast<char>(value)).flush();
  };
  std::size_t damaged = 0;
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    const unsigned original = static_cast<unsigned char>(bytes[bit / 8]);
    set_byte(bit / 8, original ^ (1U << (bit % 8)));
    try {
      read_recording(path);
      ADD_FAILURE() << "bit " << bit % 8 << " of byte " << bit / 8;
    } catch (const DamagedRecording& error) {
      ++damaged;
      EXPECT_NE(std::string_view(error.what()).find("(the file is damaged)"), std::string_view::npos);
    } catch (const InputError&) {  // malformed
    }
    set_byte(bit / 8, original);
  }
  constexpr std::size_t kDataBytes = 16 + 24 + 48 + 48 + 2;
  EXPECT_GE(damaged, kDataBytes * 8);
  EXPECT_EQ(get(path), bytes);
  EXPECT_NO_THROW(read_recording(path));
}

TEST(Recording, EveryTruncationIsSeen) {
  const ScratchFolder folder;
  const auto path = folder / "r.safetensors";
  const std::string bytes = bytes_of_recording(small_recording());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    put(path, std::string_view(bytes).substr(0, size));
    EXPECT_THROW(read_recording(path), InputError) << size;
  }
}

TEST(Recording, ChangedContentIsDamage) {
  const std::string changed =
      refusal_after([](SafetensorsFile& file) { file.metadata["gpu"] = "NVIDIA H200"; });
  EXPECT_NE(changed.find("r.safetensors: checksum: found "), std::string::npos) << changed;
  EXPECT_NE(changed.find(", expected " + checksum_of(small_recording())), std::string::npos) << changed;
  EXPECT_NE(refusal_after([](SafetensorsFile& f) { f.metadata["x"] = ""; }).find("damaged"),
            std::string::npos);
  EXPECT_NE(refusal_after([](SafetensorsFile& f) {
              f.tensors[2].shape = {2, 3, 2};
            }).find("damaged"),
            std::string::npos);
  EXPECT_NE(refusal_after([](SafetensorsFile& f) { f.tensors[3].dtype = DType::f32; }).find("damaged"),
            std::string::npos);
}

TEST(Recording, OtherFilesAreRefused) {
  const auto refused = [](const std::function<void(SafetensorsFile&)>& change, std::string_view part) {
    const std::string message = refusal_after(change);
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  refused([](auto& f) { f.metadata["format_version"] = "2"; }, "format_version: found '2', allowed: 1");
  refused([](auto& f) { f.metadata["format"] = "x"; }, "format: found 'x', allowed: mmaudit.recording");
  refused([](auto& f) { f.metadata.clear(); }, "format: found no such field");
  refused([](auto& f) { f.metadata.erase("checksum"); }, "checksum: found no such field");
  refused([](auto& f) { f.tensors.pop_back(); }, "tensor: found no 'modifiers', allowed: A, B, C, D");
  refused([](auto& f) { f.tensors[1].name = "X"; }, "tensor: found no 'B'");
  refused(
      [](auto& f) {
        f.tensors.push_back({"E", DType::u8, {0}, {}});
      },
      "tensors: found A, B, C, D, modifiers, E, allowed: A, B, C, D, modifiers; metadata if it is sparse; "
      "scale_a, scale_b if it is block-scaled");
}

TEST(Recording, IncompleteProvenanceIsRefusedByName) {
  const ScratchFolder folder;
  const auto refused = [&](const std::function<void(Recording&)>& change, std::string_view part) {
    Recording recording = small_recording();
    change(recording);
    expect_refused([&] { write_recording(folder / "r.safetensors", recording); }, part);
    EXPECT_TRUE(folder.names().empty());
  };
  refused([](Recording& r) { r.provenance.gpu = ""; }, "r.safetensors: gpu: found no text");
  refused([](Recording& r) { r.provenance.driver = ""; }, "driver: found no text");
  refused([](Recording& r) { r.provenance.date = "a\nb"; },
          "date: found 'a\\x0ab', allowed: one printable line");
  refused([](Recording& r) { r.provenance.cuda = "\xFF"; }, "cuda: found other bytes, allowed: UTF-8");
  refused([](Recording& r) { r.families[0].name = "\xFF"; }, "families: found a name of other bytes");
  refused([](Recording& r) { r.families[0].name = ""; }, "families: found no text");
  refused([](Recording& r) { r.families[0].tiles = 0; }, "families: found 0 tiles of 'normal'");
  refused([](Recording& r) { r.families.pop_back(); }, "families: found 1 tiles, allowed: 2");
  refused([](Recording& r) { r.families[1].tiles = ~std::uint64_t{0}; },
          "families: found 18446744073709551615 tiles");
  refused([](Recording& r) { r.tiles = 3; }, "families: found 2 tiles, allowed: 3");
  refused([](Recording& r) { r.modifiers[1] = 0x80; }, "modifiers: found 0x80, allowed: bits of 0x7f");
  refused([](Recording& r) { r.modifiers.pop_back(); }, "modifiers shape: found [1], allowed: [2]");
  refused([](Recording& r) { r.a.shape = {2, 8}; }, "A shape: found [2, 8], allowed: [2, M, K]");
  refused([](Recording& r) { r.a.shape = {2, 4, 2}; }, "B shape: found [2, 4, 3], allowed: [2, 2, 3]");
  refused([](Recording& r) { r.b.shape = {2, 4, 0}; }, "B shape: found [2, 4, 0], allowed: [2, 4, N]");
  refused([](Recording& r) { r.d.shape = {2, 3, 2}; }, "D shape: found [2, 3, 2], allowed: [2, 2, 3]");
  refused([](Recording& r) { r.c.dtype = DType::f32; }, "C dtype: found F32, allowed: U8, U16, U32 or U64");
  refused([](Recording& r) { r.c.data.pop_back(); }, "tensor 'C': found 47 bytes, allowed: 48");
  refused([](Recording& r) { r = Recording{}; }, "gpu: found no text");
}

TEST(Recording, FindsFilesSortedAndRecursively) {
  const ScratchFolder folder;
  expect_refused([&] { find_recordings(folder.path()); }, "found no *.safetensors");
  std::filesystem::create_directories(folder / "b/c");
  for (const char* const name : {"z.safetensors", "b/c/a.safetensors", "b/y.safetensors", "b/readme.md"}) {
    put(folder / name, "");
  }
  const std::vector<std::filesystem::path> expected{folder / "b/c/a.safetensors", folder / "b/y.safetensors",
                                                    folder / "z.safetensors"};
  EXPECT_EQ(find_recordings(folder.path()), expected);
  expect_refused([&] { find_recordings(folder / "none"); }, "none: cannot read the folder: No such file");
  expect_refused([&] { find_recordings(folder / "z.safetensors"); },
                 "cannot read the folder: Not a directory");
}

}  // namespace
}  // namespace mmaudit::corpus
