// The first byte says whether the rest is JSON or CSV. What is read is the same written and read again.
#include "mmaudit/csv.hpp"
#include "mmaudit/json.hpp"
#include "support.hpp"

namespace mmaudit::fuzz {
namespace {

void read_json(std::string_view text) {
  Json read;
  if (!accepted([&] { read = corpus::parse_bounded(text, "x", "JSON"); })) return;
  if (!is_json(text)) fail("JSON that is none");
  if (corpus::parse_bounded(read.dump(), "x", "JSON") != read) fail("JSON that does not read back");
}

void read_csv(std::string_view text) {
  for (const auto& fields : csv::rows_of(text, "head")) {
    if (fields.empty()) fail("a row without a field");
    std::string line = csv::line_of(fields, "");
    const bool plain = line.find_first_of("\"\r") == std::string::npos;
    if (plain && csv::fields_of(line) != fields) fail("a line that does not read back");
  }
}

}  // namespace
}  // namespace mmaudit::fuzz

void mmaudit::fuzz::run(Bytes bytes) {
  if (bytes.byte() % 2 == 0)
    read_json(bytes.text());
  else
    read_csv(bytes.text());
}
