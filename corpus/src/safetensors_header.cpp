#include "safetensors_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <utility>

#include "refuse.hpp"

namespace mmaudit::corpus {
namespace {

constexpr std::string_view kMetadataKey = "__metadata__";

/// A state machine over nlohmann's events rather than a document: it knows every level there may be, so
/// nesting ends at the first bracket too many, keys that come twice are seen, and nothing is kept that is not
/// needed.
class HeaderEvents final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderEvents(const std::string& file) : file_(file) {}

  [[nodiscard]] SafetensorsHeader& header() { return header_; }

  bool null() override { wrong("null"); }
  bool boolean(bool /*value*/) override { wrong("true or false"); }
  bool number_integer(number_integer_t value) override { wrong(fmt::format("the negative {}", value)); }
  bool number_float(number_float_t /*value*/, const string_t& text) override { wrong(printable(text)); }
  bool binary(binary_t& /*value*/) override { wrong("binary"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (level_ == Level::shape) {
      if (tensor_.shape.size() == kMaxRank)
        refuse_tensor("shape", "more", fmt::format("{} dimensions", kMaxRank));
      tensor_.shape.push_back(value);
    } else if (level_ == Level::offsets) {
      if (offsets_ == 2) refuse_tensor("data_offsets", "more numbers", "2");
      (offsets_ == 0 ? tensor_.begin : tensor_.end) = value;
      ++offsets_;
    } else {
      wrong(fmt::format("the number {}", value));
    }
    return true;
  }

  bool string(string_t& value) override {
    if (level_ == Level::metadata) {
      header_.metadata[key_] = std::move(value);
    } else if (level_ == Level::tensor && key_ == "dtype") {
      const auto dtype = dtype_from_safetensors(value);
      if (!dtype) refuse_tensor("dtype", fmt::format("'{}'", printable(value)), Shown(dtype_names()).text());
      tensor_.dtype = *dtype;
    } else {
      wrong(fmt::format("the text '{}'", printable(value)));
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
      tensor_ = TensorInfo{};
      tensor_.name = key_;
      tensor_keys_.clear();
    } else {
      wrong("an object");
    }
    return true;
  }

  bool key(string_t& value) override {
    if (level_ == Level::root && !root_keys_.insert(value).second) refuse_key(value, "the key twice", "once");
    if (level_ == Level::metadata && header_.metadata.contains(value))
      refuse_key(value, "the key twice", "once");
    if (level_ == Level::tensor) {
      if (value != "dtype" && value != "shape" && value != "data_offsets")
        refuse_tensor("key", fmt::format("'{}'", printable(value)), "dtype, shape or data_offsets");
      if (!tensor_keys_.insert(value).second) refuse_tensor(value, "the key twice", "once");
    }
    key_ = std::move(value);
    return true;
  }

  bool end_object() override {
    if (level_ == Level::tensor) {
      for (const char* const needed : {"dtype", "shape", "data_offsets"}) {
        if (!tensor_keys_.contains(needed)) refuse_tensor(needed, "no such key", "one");
      }
      header_.tensors.push_back(std::move(tensor_));
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
      wrong("an array");
    }
    return true;
  }

  bool end_array() override {
    if (level_ == Level::offsets && offsets_ != 2) refuse_tensor("data_offsets", "fewer numbers", "2");
    level_ = Level::tensor;
    return true;
  }

  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    refuse(file_, "header", fmt::format("no JSON at byte {}", position), "one JSON object");
  }

 private:
  enum class Level { before, root, metadata, tensor, shape, offsets, after };

  [[noreturn]] void refuse_tensor(std::string_view field, std::string_view found,
                                  std::string_view allowed) const {
    refuse(file_, fmt::format("tensor '{}' {}", printable(tensor_.name), field), found, allowed);
  }

  [[noreturn]] void refuse_key(std::string_view key, std::string_view found, std::string_view allowed) const {
    refuse(file_, fmt::format("header key '{}'", printable(key)), found, allowed);
  }

  [[noreturn]] void wrong(std::string_view found) const {
    switch (level_) {
      case Level::metadata:
        refuse(file_, fmt::format("metadata '{}'", printable(key_)), found, "text");
      case Level::tensor:
        refuse_tensor(key_, found, key_ == "dtype" ? "text" : "an array of numbers");
      case Level::shape:
        refuse_tensor("shape", found, "whole numbers of 0 to 2^64 - 1");
      case Level::offsets:
        refuse_tensor("data_offsets", found, "whole numbers of 0 to 2^64 - 1");
      case Level::root:
        refuse_key(key_, found, "an object");
      case Level::before:
      case Level::after:
        break;
    }
    refuse(file_, "header", found, "one JSON object");
  }

  const std::string& file_;
  SafetensorsHeader header_;
  Level level_ = Level::before;
  std::string key_;
  std::set<std::string> root_keys_;
  std::set<std::string> tensor_keys_;
  TensorInfo tensor_;
  int offsets_ = 0;
};

/// Puts the tensors into the order of their data and checks that they fill it. An empty tensor sorts before
/// the one that begins where it lies.
void check_layout(std::vector<TensorInfo>& tensors, std::uint64_t data_bytes, const std::string& file) {
  std::stable_sort(tensors.begin(), tensors.end(), [](const TensorInfo& a, const TensorInfo& b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  std::uint64_t filled = 0;
  for (const TensorInfo& tensor : tensors) {
    const std::string offsets = fmt::format("[{}, {}]", tensor.begin, tensor.end);
    const std::string field = fmt::format("tensor '{}' data_offsets", printable(tensor.name));
    if (tensor.begin != filled)
      refuse(file, field, offsets, fmt::format("a begin at {}: no holes or overlaps", filled));
    if (tensor.end < tensor.begin || tensor.end > data_bytes)
      refuse(file, field, offsets, fmt::format("an end within the {} bytes of data", data_bytes));
    if (byte_count(tensor.dtype, tensor.shape) != std::optional<std::uint64_t>(tensor.end - tensor.begin))
      refuse(file, field, offsets, size_text(tensor.dtype, tensor.shape, " bytes"));
    filled = tensor.end;
  }
  if (filled != data_bytes)
    refuse(file, "data", fmt::format("{} bytes", data_bytes), fmt::format("{}", filled));
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
  check_layout(header.tensors, data_bytes, file);
  return header;
}

}  // namespace mmaudit::corpus
