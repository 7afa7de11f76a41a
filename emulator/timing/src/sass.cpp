#include "mmaudit/timing/sass.hpp"

#include <charconv>
#include <stdexcept>

namespace mmaudit::timing {
namespace {

constexpr std::size_t kMostInstructions = 1'000'000;
constexpr std::size_t kEncodingDigits = 16;

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(" \t\r\n;") + 1);
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
  throw std::invalid_argument("line " + std::to_string(line) + ": found " + std::string(found) +
                              ", allowed: " + std::string(allowed));
}

SassLine parsed(std::uint32_t address, std::string_view text) {
  SassLine line;
  line.address = address;
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

std::vector<SassFunction> read_sass(std::string_view text) {
  std::vector<SassFunction> functions;
  std::string target;
  std::size_t number = 0, count = 0;
  bool waits_for_upper = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    std::uint64_t encoding = 0;
    std::uint32_t address = 0;
    std::string_view rest;
    if (waits_for_upper) {
      if (!encoding_at_end(line, encoding))
        refuse(number, "no encoding", "the upper half of the instruction above");
      functions.back().lines.back().control = control_word_of(encoding);
      waits_for_upper = false;
    } else if (const std::size_t code = line.find("code for sm_"); code != std::string_view::npos) {
      target = trimmed(line.substr(code + 9));
    } else if (const std::size_t name = line.find("Function : "); name != std::string_view::npos) {
      functions.push_back({target, std::string(trimmed(line.substr(name + 11))), {}});
    } else if (address_of(line, address, rest) && !functions.empty()) {
      if (!encoding_at_end(line, encoding))
        refuse(number, "an instruction without its encoding", "the output of cuobjdump -sass");
      if (++count > kMostInstructions) refuse(number, "more than 1000000 instructions", "fewer");
      SassLine one = parsed(address, trimmed(rest.substr(0, rest.find(';'))));
      if (one.opcode.empty()) refuse(number, "no opcode", "an instruction");
      functions.back().lines.push_back(std::move(one));
      functions.back().lines.back().number = number;
      waits_for_upper = true;
    }
  }
  if (count == 0) throw std::invalid_argument("found no instruction, allowed: the output of cuobjdump -sass");
  if (waits_for_upper) refuse(number, "its end", "the upper half of the last instruction");
  return functions;
}

std::vector<SassFunction> read_listing(std::string_view text, std::string_view target) {
  std::vector<SassFunction> functions;
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.empty() || line.starts_with('#')) continue;
    if (line.starts_with("kernel ")) {
      functions.push_back({std::string(target), std::string(line.substr(7)), {}});
      continue;
    }
    std::uint64_t control = 0;
    const auto [rest, error] = std::from_chars(line.data(), line.data() + line.size(), control, 16);
    if (error != std::errc{} || functions.empty() || control >> 21 != 0)
      refuse(number, "no control word",
             "`kernel NAME`, then 21 bits in hexadecimal and an instruction per line");
    std::vector<SassLine>& lines = functions.back().lines;
    SassLine one = parsed(static_cast<std::uint32_t>(16 * lines.size()),
                          trimmed(line.substr(static_cast<std::size_t>(rest - line.data()))));
    if (one.opcode.empty()) refuse(number, "no opcode", "an instruction");
    one.control = control_word_of(control << 41);
    one.number = number;
    lines.push_back(std::move(one));
  }
  return functions;
}

}  // namespace mmaudit::timing
