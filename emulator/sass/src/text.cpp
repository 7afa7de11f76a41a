#include "mmaudit/sass/text.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "mmaudit/error.hpp"
#include "mmaudit/sass/decode.hpp"

namespace mmaudit::sass {
namespace {

constexpr std::size_t kMostInstructions = 1'000'000;
constexpr std::size_t kEncodingDigits = 16;

template <typename Take>
void for_each_line(std::string_view text, Take&& take) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    take(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

/// The number of a "/* 0x0123456789abcdef */" at the end of a line.
bool encoding_at_end(std::string_view line, std::uint64_t& value) {
  const std::size_t at = line.rfind("/* 0x");
  if (at == std::string_view::npos) return false;
  const char* begin = line.data() + at + 5;
  const auto [end, error] = std::from_chars(begin, line.data() + line.size(), value, 16);
  return error == std::errc{} && static_cast<std::size_t>(end - begin) == kEncodingDigits;
}

/// "/*0080*/": digits alone; an encoding starts with a blank.
bool address_of(std::string_view line, std::uint32_t& address, std::string_view& rest) {
  const std::size_t begin = line.find("/*");
  if (begin == std::string_view::npos) return false;
  const char* first = line.data() + begin + 2;
  const auto [end, error] = std::from_chars(first, line.data() + line.size(), address, 16);
  if (error != std::errc{} || end - first < 4) return false;
  rest = line.substr(static_cast<std::size_t>(end - line.data()));
  if (!rest.starts_with("*/")) return false;
  rest.remove_prefix(2);
  return true;
}

[[noreturn]] void refuse(std::size_t line, std::string_view found, std::string_view allowed) {
  throw InputError("line " + std::to_string(line) + ": found " + std::string(found) +
                   ", allowed: " + std::string(allowed));
}

Line line_of(std::uint32_t address, std::string_view text, std::size_t number) {
  Line line;
  line.address = address;
  line.number = number;
  if (text.starts_with('@')) {
    const std::size_t end = std::min(text.find(' '), text.size());
    line.predicate = text.substr(1, end - 1);
    text = trimmed(text.substr(end));
  }
  const std::size_t space = std::min(text.find(' '), text.size());
  line.opcode = text.substr(0, space);
  line.operands = trimmed(text.substr(space));
  return line;
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(" \t\r\n;") + 1);
}

ControlWord control_word_of(std::uint64_t upper) {
  const auto bits = [upper](int first, int count) {
    return static_cast<std::uint8_t>(upper >> first & ((1U << count) - 1));
  };
  const auto barrier = [](std::uint8_t field) {
    return field > 5 ? std::int8_t{-1} : static_cast<std::int8_t>(field);
  };
  // Bit 105 of the encoding is bit 41 of its upper half.
  return {.stall = bits(41, 4),
          .yield = bits(45, 1) == 0,
          .write_barrier = barrier(bits(46, 3)),
          .read_barrier = barrier(bits(49, 3)),
          .wait_mask = bits(52, 6),
          .reuse = bits(58, 4)};
}

std::int64_t Line::target() const {
  const std::size_t at = operands.find("0x");
  return at == std::string::npos ? -1 : number_of(std::string_view(operands).substr(at));
}

int Function::index_of(std::int64_t address) const {
  const auto at = std::lower_bound(lines.begin(), lines.end(), address,
                                   [](const Line& x, std::int64_t where) { return x.address < where; });
  return at == lines.end() || at->address != address ? -1 : static_cast<int>(at - lines.begin());
}

int Function::return_from(int first) const {
  return static_cast<int>(
      std::find_if(lines.begin() + first, lines.end(),
                   [](const Line& line) { return opcode_of(line.opcode).kind == Kind::back; }) -
      lines.begin());
}

std::vector<int> Function::clock_readings() const {
  std::vector<int> readings;
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (lines[i].reads_clock()) readings.push_back(static_cast<int>(i));
  return readings;
}

std::optional<Function> Reader::line(std::string_view text) {
  ++number_;
  std::uint64_t encoding = 0;
  if (waits_for_upper_) {
    waits_for_upper_ = false;
    if (encoding_at_end(text, encoding)) {
      function_.lines.back().control = control_word_of(encoding);
      return std::nullopt;
    }
    if (needed_) refuse(number_, "no encoding", "the upper half of the instruction above");
  }
  if (const std::size_t code = text.find("code for sm_"); code != std::string_view::npos) {
    target_ = trimmed(text.substr(code + 9));
    return std::nullopt;
  }
  if (const std::size_t name = text.find("Function : "); name != std::string_view::npos) {
    std::optional<Function> ended = finish();
    function_ = {target_, std::string(trimmed(text.substr(name + 11))), {}};
    open_ = true;
    return ended;
  }
  if (open_) instruction(text);
  return std::nullopt;
}

void Reader::instruction(std::string_view text) {
  std::uint64_t encoding = 0;
  std::uint32_t address = 0;
  std::string_view rest;
  if (!address_of(text, address, rest)) return;
  const bool encoded = encoding_at_end(text, encoding);
  if (needed_ && !encoded)
    refuse(number_, "an instruction without its encoding", "the output of cuobjdump -sass");
  if (needed_ && ++count_ > kMostInstructions) refuse(number_, "more than 1000000 instructions", "fewer");
  Line one = line_of(address, trimmed(rest.substr(0, rest.find(';'))), number_);
  if (one.opcode.empty()) {
    if (needed_) refuse(number_, "no opcode", "an instruction");
    return;
  }
  function_.lines.push_back(std::move(one));
  waits_for_upper_ = encoded;
}

std::optional<Function> Reader::finish() {
  if (waits_for_upper_ && needed_) refuse(number_, "its end", "the upper half of the last instruction");
  if (!open_) return std::nullopt;
  open_ = waits_for_upper_ = false;
  return std::exchange(function_, {});
}

std::vector<Function> read(std::string_view text) {
  Reader reader(Reader::Encodings::needed);
  std::vector<Function> functions;
  bool any = false;
  const auto add = [&](std::optional<Function> function) {
    if (!function) return;
    any = any || !function->lines.empty();
    functions.push_back(std::move(*function));
  };
  for_each_line(text, [&](std::string_view line) { add(reader.line(line)); });
  add(reader.finish());
  if (!any) throw InputError("found no instruction, allowed: the output of cuobjdump -sass");
  return functions;
}

std::vector<Function> read_listing(std::string_view text, std::string_view target) {
  std::vector<Function> functions;
  std::size_t number = 0;
  for_each_line(text, [&](std::string_view line) {
    line = trimmed(line);
    ++number;
    if (line.empty() || line.starts_with('#')) return;
    if (line.starts_with("kernel ")) {
      functions.push_back({std::string(target), std::string(line.substr(7)), {}});
      return;
    }
    std::uint64_t control = 0;
    const auto [rest, error] = std::from_chars(line.data(), line.data() + line.size(), control, 16);
    if (error != std::errc{} || functions.empty() || control >> 21 != 0)
      refuse(number, "no control word",
             "`kernel NAME`, then 21 bits in hexadecimal and an instruction per line");
    std::vector<Line>& lines = functions.back().lines;
    Line one = line_of(static_cast<std::uint32_t>(16 * lines.size()),
                       trimmed(line.substr(static_cast<std::size_t>(rest - line.data()))), number);
    if (one.opcode.empty()) refuse(number, "no opcode", "an instruction");
    one.control = control_word_of(control << 41);
    lines.push_back(std::move(one));
  });
  return functions;
}

}  // namespace mmaudit::sass
