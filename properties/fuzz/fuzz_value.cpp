// The first byte picks a format, the rest is a number as a person types it.
#include <iterator>

#include "mmaudit/convert.hpp"
#include "mmaudit/value_text.hpp"
#include "support.hpp"

void mmaudit::fuzz::run(Bytes bytes) {
  const FormatSpec& format = kFormats[bytes.byte() % std::size(kFormats)].spec;
  const ParsedValue parsed = parse_value(bytes.text(), format);
  check_one_line(parsed.error);
  if (!parsed.error.empty()) return;
  if (format.storage_bits < 64 && parsed.bits >> format.storage_bits != 0)
    fail("bits above the storage width");
  // What is printed reads back as the same number; bits that no number needs (tf32's low ones) may go.
  const std::string text = value_text(parsed.bits, format);
  const ParsedValue again = parse_value(text, format);
  const bool has_text = text != "nan" || format.specials != Specials::finite;
  if (has_text && (!again.error.empty() || value_text(again.bits, format) != text))
    fail(std::string(name_of(format.id)) + ": " + text + " does not read back: " + again.error);
}
