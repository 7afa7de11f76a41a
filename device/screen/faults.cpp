#include <algorithm>
#include <charconv>
#include <cstring>

#include "mmaudit/error.hpp"
#include "mmaudit/fragment.hpp"
#include "mmaudit/screen/checksum.hpp"
#include "mmaudit/screen/injection.hpp"
#include "mmaudit/screen/screen.hpp"
#include "mmaudit/screen/values_named.hpp"

namespace mmaudit::screen {
namespace {

constexpr std::string_view kForms =
    "accumulator:SM,SUBCORE,LANE,WORD,FLIPS,EVERY, shared:SM,WORD,FLIPS,EVERY, load:SM,WORD,FLIPS,EVERY or "
    "lost:SM,EVERY";
constexpr std::string_view kNames[] = {"accumulator", "shared", "load", "lost"};
constexpr int kMostMultiprocessors = 9999, kMostTileWords = 65535;

[[noreturn]] void refuse_form(const std::string& text) {
  refuse("--inject: found {}, allowed: {}", text, kForms);
}

/// The numbers after the name, from its colon on.
class Numbers {
 public:
  Numbers(const std::string& text, std::size_t colon) : text_(text), at_(colon) {}

  /// The next one, after a colon or a comma.
  std::uint64_t next(std::string_view what, std::uint64_t least, std::uint64_t most, int base = 10) {
    const char* end = text_.data() + text_.size();
    if (at_ >= text_.size() || (text_[at_] != ',' && text_[at_] != ':')) refuse_form(text_);
    std::uint64_t number = 0;
    const auto [read, error] = std::from_chars(text_.data() + at_ + 1, end, number, base);
    if (error == std::errc::invalid_argument) refuse_form(text_);
    if (error != std::errc{} || number < least || number > most)
      refuse("--inject: found {}, allowed: {} from {} to {}", text_, what, least,
             base == 16 ? "ffffffff, hexadecimal" : std::to_string(most));
    at_ = static_cast<std::size_t>(read - text_.data());
    return number;
  }
  int next_int(std::string_view what, int most) {
    return static_cast<int>(next(what, 0, static_cast<std::uint64_t>(most)));
  }
  void require_end() const {
    if (at_ != text_.size()) refuse_form(text_);
  }

 private:
  const std::string& text_;
  std::size_t at_;
};

}  // namespace

Injection injection_of(const std::string& text) {
  const std::size_t colon = text.find(':');
  const auto* name = std::find(std::begin(kNames), std::end(kNames), text.substr(0, colon));
  if (colon == std::string::npos || name == std::end(kNames)) refuse_form(text);
  Injection one;
  one.fault = static_cast<FaultKind>(name - std::begin(kNames));
  Numbers numbers(text, colon);
  one.multiprocessor = numbers.next_int("SM", kMostMultiprocessors);
  if (one.fault == FaultKind::accumulator) {
    one.subcore = numbers.next_int("SUBCORE", kSubcores - 1);
    one.lane = numbers.next_int("LANE", kWarpLanes - 1);
    one.word = numbers.next_int("WORD", kMostWords - 1);
  } else if (one.fault != FaultKind::lost) {
    one.word = numbers.next_int("WORD", kMostTileWords);
  }
  if (one.fault != FaultKind::lost)
    one.flips = static_cast<std::uint32_t>(numbers.next("FLIPS", 1, UINT32_MAX, 16));
  one.every = numbers.next("EVERY", 1, UINT64_MAX);
  numbers.require_end();
  return one;
}

void append_spoiled(std::vector<std::byte>& a, std::vector<std::byte>& b, int tiles, int word,
                    std::uint32_t flips) {
  const auto count = static_cast<std::size_t>(tiles);
  const std::size_t of_a = a.size() / count / sizeof(flips), of_b = b.size() / count / sizeof(flips);
  std::size_t at = static_cast<std::size_t>(word) % (of_a + of_b);
  std::vector<std::byte>& spoiled = at < of_a ? a : b;
  const std::size_t tile_words = at < of_a ? of_a : of_b;
  if (at >= of_a) at -= of_a;
  for (std::vector<std::byte>* image : {&a, &b}) {
    const std::size_t bytes = image->size();
    image->resize(2 * bytes);
    std::copy_n(image->begin(), bytes, image->begin() + static_cast<std::ptrdiff_t>(bytes));
  }
  for (std::size_t tile = count; tile < 2 * count; ++tile) {
    std::byte* where = &spoiled[(tile * tile_words + at) * sizeof(flips)];
    std::uint32_t value = 0;
    std::memcpy(&value, where, sizeof(value));
    value ^= flips;
    std::memcpy(where, &value, sizeof(value));
  }
}

std::vector<Feed> feeds_named(const std::vector<std::string>& names) {
  return values_named<Feed>("--feed", kFeeds, names);
}

}  // namespace mmaudit::screen
