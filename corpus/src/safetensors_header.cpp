#include "safetensors_header.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <utility>

#include "input_file.hpp"
#include "mmaudit/names.hpp"
#include "refuse.hpp"

namespace mmaudit::corpus {
namespace {

constexpr std::string_view kMetadataKey = "__metadata__";

/// Tensors of a network differ behind the number of their layer, far from the start.
constexpr std::size_t kNameLength = 120;

/// A state machine over nlohmann's events rather than a document: it knows every level there may be, and
/// nothing is kept that is not needed. What an entry or a metadatum has wrong is kept with it, and its value
/// is passed over: the other tensors can be read.
class HeaderEvents final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderEvents(const std::string& file) : file_(file) {}

  [[nodiscard]] SafetensorsHeader& header() { return header_; }

  bool null() override { return wrong("null"); }
  bool boolean(bool /*value*/) override { return wrong("true or false"); }
  bool number_integer(number_integer_t value) override {
    return wrong(fmt::format("the negative {}", value));
  }
  bool number_float(number_float_t /*value*/, const string_t& text) override {
    return wrong(printable(text));
  }
  bool binary(binary_t& /*value*/) override { return wrong("binary"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (level_ == Level::shape) {
      if (tensor_.shape.size() == kMaxRank)
        wrong_tensor("shape", "more", fmt::format("{} dimensions", kMaxRank));
      else
        tensor_.shape.push_back(value);
      return true;
    }
    if (level_ != Level::offsets) return wrong(fmt::format("the number {}", value));
    if (offsets_ < 2) (offsets_ == 0 ? tensor_.begin : tensor_.end) = value;
    if (++offsets_ == 3) wrong_tensor("data_offsets", "more numbers", "2");
    return true;
  }

  bool string(string_t& value) override {
    if (level_ == Level::metadata) {
      if (!header_.metadata.emplace(key_, std::move(value)).second) wrong_key(key_, "the key twice", "once");
    } else if (level_ == Level::tensor && key_ == "dtype") {
      const auto dtype = dtype_from_safetensors(value);
      if (!dtype) wrong_tensor("dtype", fmt::format("'{}'", printable(value)), Shown(dtype_names()).text());
      tensor_.dtype = dtype.value_or(DType::u8);
    } else {
      return wrong(fmt::format("the text '{}'", printable(value)));
    }
    return true;
  }

  bool start_object(std::size_t /*elements*/) override {
    if (level_ == Level::before) {
      level_ = Level::root;
    } else if (level_ == Level::root && key_ == kMetadataKey) {
      level_ = Level::metadata;
    } else if (level_ == Level::root) {
      level_ = Level::tensor;
      begin_tensor();
    } else {
      return pass_over("an object");
    }
    return true;
  }

  bool key(string_t& value) override {
    if (level_ == Level::root) {
      const auto [first, fresh] = places_.emplace(value, header_.tensors.size());
      again_ = !fresh && value != kMetadataKey;
      if (again_) twice(header_.tensors[first->second]);
      if (!fresh) wrong_key(value, "the key twice", "once");
    }
    if (level_ == Level::tensor) {
      if (value != "dtype" && value != "shape" && value != "data_offsets")
        wrong_tensor("key", fmt::format("'{}'", printable(value)), "dtype, shape or data_offsets");
      if (!tensor_keys_.insert(value).second) wrong_tensor(value, "the key twice", "once");
    }
    if (level_ != Level::other) key_ = std::move(value);
    return true;
  }

  bool end_object() override {
    if (level_ == Level::other) return end_other();
    if (level_ == Level::tensor) {
      for (const char* const needed : {"dtype", "shape", "data_offsets"}) {
        if (!tensor_keys_.contains(needed)) wrong_tensor(needed, "no such key", "one");
      }
      end_tensor();
    }
    level_ = level_ == Level::root ? Level::after : Level::root;
    return true;
  }

  bool start_array(std::size_t /*elements*/) override {
    if (level_ == Level::tensor && key_ == "shape") {
      level_ = Level::shape;
    } else if (level_ == Level::tensor && key_ == "data_offsets") {
      level_ = Level::offsets;
      offsets_ = 0;
    } else {
      return pass_over("an array");
    }
    return true;
  }

  bool end_array() override {
    if (level_ == Level::other) return end_other();
    if (level_ == Level::offsets && offsets_ < 2) wrong_tensor("data_offsets", "fewer numbers", "2");
    level_ = Level::tensor;
    return true;
  }

  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    refuse(file_, "header", fmt::format("no JSON at byte {}", position), "one JSON object");
  }

 private:
  enum class Level { before, root, metadata, tensor, shape, offsets, after, other };

  void begin_tensor() {
    tensor_ = TensorInfo{};
    tensor_.name = key_;
    tensor_keys_.clear();
    if (again_) twice(tensor_);
  }
  void end_tensor() { header_.tensors.push_back(std::move(tensor_)); }

  void note(std::string& why, std::string_view field, std::string_view found, std::string_view allowed) {
    std::string line = fmt::format("{}: found {}, allowed: {}", field, found, allowed);
    if (header_.refused.empty()) header_.refused = line;
    if (why.empty()) why = std::move(line);
  }
  void wrong_tensor(std::string_view field, std::string_view found, std::string_view allowed) {
    note(tensor_.refused, fmt::format("tensor '{}' {}", printable(tensor_.name), field), found, allowed);
  }
  void wrong_key(std::string_view key, std::string_view found, std::string_view allowed) {
    note(header_.refused, fmt::format("header key '{}'", printable(key)), found, allowed);
  }
  void twice(TensorInfo& tensor) {
    note(tensor.refused, fmt::format("header key '{}'", printable(tensor.name)), "the key twice", "once");
  }

  /// A value where none of its kind may stand.
  bool wrong(std::string_view found) {
    switch (level_) {
      case Level::metadata:
        note(header_.refused, fmt::format("metadata '{}'", printable(key_)), found, "text");
        break;
      case Level::tensor:
        wrong_tensor(key_, found, key_ == "dtype" ? "text" : "an array of numbers");
        break;
      case Level::shape:
        wrong_tensor("shape", found, "whole numbers of 0 to 2^64 - 1");
        break;
      case Level::offsets:
        wrong_tensor("data_offsets", found, "whole numbers of 0 to 2^64 - 1");
        break;
      case Level::root:
        begin_tensor();
        note(tensor_.refused, fmt::format("header key '{}'", printable(key_)), found, "an object");
        if (key_ != kMetadataKey) end_tensor();
        break;
      case Level::other:
        break;
      case Level::before:
      case Level::after:
        refuse(file_, "header", found, "one JSON object");
    }
    return true;
  }

  /// Up to the bracket that closes it; brackets are counted, not kept.
  bool pass_over(std::string_view found) {
    wrong(found);
    if (level_ != Level::other) around_ = std::exchange(level_, Level::other);
    ++depth_;
    return true;
  }
  bool end_other() {
    if (--depth_ == 0) level_ = around_;
    return true;
  }

  const std::string& file_;
  SafetensorsHeader header_;
  Level level_ = Level::before, around_ = Level::before;
  std::size_t depth_ = 0;  ///< of brackets in a value that is passed over
  std::string key_;
  std::map<std::string, std::size_t> places_;  ///< of the keys of the header among the tensors
  std::set<std::string> tensor_keys_;
  TensorInfo tensor_;
  int offsets_ = 0;
  bool again_ = false;  ///< an earlier entry has the key too
};

/// Puts the tensors into the order of their data and says of each that can't be read why, and of the header
/// whether they fill the data. An empty tensor sorts before the one that begins where it lies.
void check_layout(SafetensorsHeader& header, std::uint64_t data_bytes) {
  std::stable_sort(header.tensors.begin(), header.tensors.end(),
                   [](const TensorInfo& a, const TensorInfo& b) {
                     return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
                   });
  const auto note = [&](std::string& why, const std::string& line) {
    if (why.empty()) why = line;
    if (header.refused.empty()) header.refused = line;
  };
  std::uint64_t filled = 0;
  for (TensorInfo& tensor : header.tensors) {
    if (!tensor.refused.empty()) continue;
    const auto line = [&](const std::string& allowed) {
      return refusal("tensor '{}' data_offsets: found {}, allowed: {}", printable(tensor.name),
                     fmt::format("[{}, {}]", tensor.begin, tensor.end), allowed);
    };
    if (tensor.begin != filled)
      note(header.refused, line(fmt::format("a begin at {}: no holes or overlaps", filled)));
    if (tensor.end < tensor.begin || tensor.end > data_bytes)
      note(tensor.refused, line(fmt::format("an end within the {} bytes of data", data_bytes)));
    else if (byte_count(tensor.dtype, tensor.shape) !=
             std::optional<std::uint64_t>(tensor.end - tensor.begin))
      note(tensor.refused, line(size_text(tensor.dtype, tensor.shape, " bytes")));
    filled = tensor.end;
  }
  if (filled != data_bytes)
    note(header.refused, refusal("data: found {} bytes, allowed: {}", data_bytes, filled));
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view text, std::uint64_t data_bytes,
                                           const std::string& file) {
  // The format says so; it also keeps out a byte order mark, which the JSON parser would skip.
  if (!text.starts_with('{')) refuse(file, "header", "no '{' at its start", "one JSON object");
  // The JSON parser takes a zero byte for the end of its input.
  if (text.find('\0') != std::string_view::npos) refuse(file, "header", "a zero byte", "one JSON object");
  HeaderEvents events(file);
  nlohmann::json::sax_parse(text, &events);
  SafetensorsHeader header = std::move(events.header());
  check_layout(header, data_bytes);
  return header;
}

SafetensorsHeader read_safetensors_header(const RawFile& file) {
  const std::uint64_t length = little_endian(file.read(0, kSafetensorsLength));
  if (length > kMaxHeaderBytes)
    refuse(file.label(), "header length", std::to_string(length), fmt::format("at most {}", kMaxHeaderBytes));
  const std::vector<std::byte> text = file.read(kSafetensorsLength, length);
  const std::uint64_t data_start = kSafetensorsLength + length;
  SafetensorsHeader header = parse_safetensors_header(
      {reinterpret_cast<const char*>(text.data()), text.size()}, file.size() - data_start, file.label());
  header.data_start = data_start;
  return header;
}

std::string names_near(std::string_view name, std::span<const std::string_view> names) {
  constexpr std::size_t kMost = 20'000;  // comparing more takes seconds
  if (names.empty() || names.size() > kMost) return list_names(names);
  std::vector<std::string> shown;
  shown.reserve(names.size());
  for (const std::string_view one : names) shown.push_back(printable(one, kNameLength));
  return allowed_near(printable(name, kNameLength), shown);
}

std::string list_names(std::span<const std::string_view> names) {
  constexpr std::size_t kListed = 8;
  if (names.empty()) return "none: the file is empty";
  std::vector<std::string> shown;
  for (const std::string_view name : names.first(std::min(names.size(), kListed)))
    shown.push_back(printable(name, kNameLength));
  if (names.size() > kListed) shown.push_back(fmt::format("... ({} in all)", names.size()));
  return fmt::format("{}", fmt::join(shown, ", "));
}

std::string size_text(DType dtype, std::span<const std::uint64_t> shape, std::string_view unit) {
  const auto bytes = byte_count(dtype, shape);
  return fmt::format("{}{} for {} {}", bytes ? std::to_string(*bytes) : "fewer than 2^64", unit,
                     to_string(shape), safetensors_name(dtype));
}

}  // namespace mmaudit::corpus
