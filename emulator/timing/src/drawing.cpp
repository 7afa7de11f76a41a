#include "mmaudit/timing/drawing.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "mmaudit/printable.hpp"

namespace mmaudit::timing {
namespace {

struct Extent {
  std::uint64_t first = 0, last = 1;
};

Extent extent_of(const Timing& timing) {
  Extent extent;
  if (!timing.events.empty()) extent.first = timing.events.front().ready;
  for (const Event& event : timing.events) extent.last = std::max(extent.last, event.result);
  return extent;
}

/// The wait of an instruction in two words; empty when it issued as soon as its control word let it.
std::string wait_of(const Event& event) {
  if (event.issue == event.ready) return {};
  return std::to_string(event.issue - event.ready) + " " + std::string(name_of(event.wait));
}

std::string padded(std::string text, std::size_t width) {
  if (text.size() > width) text = text.substr(0, width - 2) + "..";
  text.resize(width, ' ');
  return text;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : printable(text, std::string_view::npos)) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

const TimedOp& op_of(const Program& program, const Event& event) {
  return program.ops[static_cast<std::size_t>(event.op)];
}
const std::string& text_of(const Program& program, const Event& event) {
  return program.text[static_cast<std::size_t>(event.op)];
}

}  // namespace

std::string drawing_text(const Program& program, const Timing& timing, int columns) {
  constexpr std::size_t kLeastText = 34, kMostText = 68, kWaitWidth = 19;
  constexpr int kLeast = 20;
  std::size_t text_width = kLeastText;
  for (const Event& event : timing.events)
    text_width = std::max(text_width, std::min(kMostText, text_of(program, event).size() + 1));
  const int before = static_cast<int>(4 + 6 + kWaitWidth + 1 + text_width + 1);
  const Extent extent = extent_of(timing);
  const auto width = static_cast<std::uint64_t>(std::max(columns - before, kLeast));
  const std::uint64_t scale = (extent.last - extent.first + width) / width;
  const auto column = [&](std::uint64_t time) {
    return (std::max(time, extent.first) - extent.first) / scale;
  };
  std::string out = "warp issue waited             " + padded("instruction", text_width) + " " +
                    std::string(scale == 1 ? "one column is a cycle"
                                           : "one column is " + std::to_string(scale) + " cycles") +
                    "\n";
  for (const Event& event : timing.events) {
    std::string bar(column(event.result) + 1, ' ');
    const auto fill = [&](std::uint64_t from, std::uint64_t to, char c) {
      for (std::uint64_t i = column(from); i < column(to) && i < bar.size(); ++i) bar[i] = c;
    };
    fill(event.ready, event.issue, '.');
    fill(event.issue + 1, event.start, '.');
    fill(std::max(event.start, event.issue + 1), event.free, '=');
    fill(event.free, event.result, '-');
    bar[column(event.issue)] = 'I';
    while (!bar.empty() && bar.back() == ' ') bar.pop_back();
    std::array<char, 16> head{};
    std::snprintf(head.data(), head.size(), "%4d %5llu ", event.warp,
                  static_cast<unsigned long long>(event.issue));
    out += head.data() + padded(wait_of(event), kWaitWidth - 1) + " " +
           padded(text_of(program, event), text_width) + " " + bar + "\n";
  }
  return out;
}

std::string drawing_svg(const Program& program, const Timing& timing) {
  constexpr int kRow = 16, kLeft = 300, kTop = 28, kWidth = 900;
  const Extent extent = extent_of(timing);
  const double scale = static_cast<double>(kWidth) / static_cast<double>(extent.last - extent.first + 1);
  const auto x = [&](std::uint64_t time) {
    return std::to_string(
        kLeft + static_cast<int>(static_cast<double>(std::max(time, extent.first) - extent.first) * scale));
  };
  const int height = kTop + kRow * static_cast<int>(timing.events.size()) + 8;
  std::string out =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + std::to_string(kLeft + kWidth + 10) + " " +
      std::to_string(height) + "\" font-family=\"monospace\" font-size=\"11\">\n<title>" +
      escaped(program.name) +
      "</title>\n<style>.wait{fill:#d9a441}.unit{fill:#3b6ea8}.result{fill:#a9c1dd}text{fill:#222}"
      "@media(prefers-color-scheme:dark){text{fill:#ddd}}</style>\n";
  const std::uint64_t step = std::max<std::uint64_t>(1, (extent.last - extent.first) / 10);
  for (std::uint64_t time = extent.first; time <= extent.last; time += step)
    out += "<text x=\"" + x(time) + "\" y=\"14\">" + std::to_string(time) + "</text>\n";
  int row = 0;
  for (const Event& event : timing.events) {
    const std::string y = std::to_string(kTop + kRow * row + 2),
                      base = std::to_string(kTop + kRow * row + 12);
    const auto bar = [&](std::uint64_t from, std::uint64_t to, const char* kind, std::string_view says) {
      if (to <= from) return;
      const double width = std::max(1.0, static_cast<double>(to - from) * scale);
      out += "<rect x=\"" + x(from) + "\" y=\"" + y + "\" width=\"" +
             std::to_string(static_cast<int>(width)) + "\" height=\"12\" class=\"" + kind + "\"><title>" +
             escaped(says) + ", cycles " + std::to_string(from) + " to " + std::to_string(to) +
             "</title></rect>\n";
    };
    out += "<text x=\"4\" y=\"" + base + "\">" +
           escaped(padded("w" + std::to_string(event.warp) + " " + text_of(program, event), 42)) +
           "</text>\n";
    bar(event.ready, event.issue, "wait", "waits: " + wait_of(event));
    bar(std::max(event.start, event.issue), event.free, "unit", name_of(op_of(program, event).unit));
    bar(event.free, event.result, "result", "until the result");
    ++row;
  }
  return out + "</svg>\n";
}

}  // namespace mmaudit::timing
