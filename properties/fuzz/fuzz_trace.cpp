// Bytes as the file of a trace of mmaudit.torch, or as the JSON in one, 0xff before that of a second trace. A
// trace that is accepted does not differ from itself, and what is said of two of them is drawn.
#include <vector>

#include "mmaudit/corpus/safetensors.hpp"
#include "mmaudit/json.hpp"
#include "mmaudit/report/report.hpp"
#include "support.hpp"
#include "trace/trace.hpp"

namespace mmaudit::fuzz {
namespace {

using checks::Trace;

/// The file, whose checksum is not asked, with this JSON and rows of hashes that repeat, so that operations
/// have equal inputs.
std::string file_with(std::string_view text, std::size_t rows, unsigned first) {
  static ScratchFile file("x.trace");
  const std::string data = std::to_string(16 * rows);
  std::string out = R"({"__metadata__":{},"rows.0":{"dtype":"I64","shape":[)" + std::to_string(rows) +
                    R"(,2],"data_offsets":[0,)" + data + R"(]},"trace":{"dtype":"U8","shape":[)" +
                    std::to_string(text.size()) + R"(],"data_offsets":[)" + data + "," +
                    std::to_string(16 * rows + text.size()) + "]}}";
  out.insert(0, {static_cast<char>(out.size()), static_cast<char>(out.size() >> 8), 0, 0, 0, 0, 0, 0});
  for (std::size_t i = 0; i < rows; ++i)
    out.append(
        {static_cast<char>((i + first) % 5), 0, 0, 0, 0, 0, 0, 0, 0, 0, '\x80', '?', 0, 0, '\x80', '?'});
  return file.holding(out.append(text)).string();
}

void compare(const Trace& a, const Trace& b) {
  accepted([&] {
    const checks::TraceDiff diff = diff_traces(a, b, {});
    const report::Report report = report_of(diff);
    for (const report::Renderer& each : report::renderers()) each.draw(report, false);
    static_cast<void>(parse_json(report.json()));
  });
}

}  // namespace
}  // namespace mmaudit::fuzz

void mmaudit::fuzz::run(Bytes bytes) {
  constexpr std::size_t kMostRows = 32;
  static ScratchFile whole("x.trace");
  std::vector<Trace> read;
  const unsigned how = bytes.byte();
  if (how % 4 == 0) {
    const std::string path = whole.holding(bytes.rest()).string();
    accepted([&] { read.push_back(checks::read_trace(path)); });
  } else {
    std::string_view text = bytes.text();
    for (unsigned i = 0; i < 2 && !text.empty(); ++i) {
      const std::string_view one = text.substr(0, text.find('\xff'));
      text.remove_prefix(std::min(one.size() + 1, text.size()));
      const std::string path = file_with(one, (how >> 2) % kMostRows, i * (how % 4 - 1));
      accepted([&] { read.push_back(checks::trace_of(corpus::read_safetensors(path), path)); });
    }
  }
  for (const Trace& each : read)
    accepted([&] {
      if (!diff_traces(each, each, {}).same()) fail("a trace that differs from itself");
    });
  if (read.size() == 2) compare(read[0], read[1]);
}
