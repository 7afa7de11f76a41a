#include "mmaudit/corpus/matlab_tensor_core.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "input_file.hpp"
#include "mmaudit/convert.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/name_in.hpp"
#include "mmaudit/whole_number.hpp"
#include "refuse.hpp"

namespace mmaudit::corpus {
namespace {

namespace fs = std::filesystem;

struct FolderName {
  std::string_view name;
  Format format;
};
constexpr FolderName kFormatFolders[] = {{"fp16", Format::f16},
                                         {"bf16", Format::bf16},
                                         {"tf32", Format::tf32},
                                         {"E4M3", Format::e4m3},
                                         {"E5M2", Format::e5m2}};
constexpr FolderName kOutputs[] = {{"fp32", Format::f32}, {"fp16", Format::f16}};

/// What the file names do not say: FP8 to binary32 was recorded with wgmma and a zero C on these GPUs.
/// Source: the data set's README.
constexpr std::string_view kFp8WithWgmma[] = {"H100", "H200"};

constexpr std::uint64_t kMaxFileBytes = std::uint64_t{1} << 30;
constexpr std::size_t kMaxK = 64;

std::vector<fs::path> folders_of(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> found;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (at->is_directory(ignored) && at->path().filename().string().front() != '.')
      found.push_back(at->path());
  }
  if (error) throw InputError(fmt::format("{}: cannot read: {}", label_of(folder), error.message()));
  std::sort(found.begin(), found.end());
  return found;
}

/// A text file by lines; remembers where it is, for messages.
class Lines {
 public:
  explicit Lines(const fs::path& path) : file_(path) {
    if (file_.size() > kMaxFileBytes)
      refuse("{}: size: found {}, allowed: at most 1 GiB", file_.label(), file_.size());
    bytes_ = file_.read(0, file_.size());
    text_ = {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
  }
  bool next(std::string_view& line) {
    if (text_.empty()) return false;
    ++number_;
    const std::size_t end = std::min(text_.find('\n'), text_.size());
    line = text_.substr(0, end);
    text_.remove_prefix(std::min(end + 1, text_.size()));
    return true;
  }
  [[noreturn]] void refuse_line(std::string_view found, const std::string& allowed) const {
    refuse("{}: line {}: found \"{}\", allowed: {}", file_.label(), number_, printable(found, 60), allowed);
  }
  [[nodiscard]] const std::string& label() const { return file_.label(); }

 private:
  InputFile file_;
  std::vector<std::byte> bytes_;
  std::string_view text_;
  std::size_t number_ = 0;
};

/// The bits that `digits` spell in base 2 or 16; false unless there are exactly `count` digits.
bool parse_digits(std::string_view digits, std::size_t count, int base, std::uint32_t& bits) {
  const auto found = whole_number<std::uint32_t>(digits, base);
  bits = found.value_or(0);
  return digits.size() == count && found.has_value();
}

/// The value of binary32 `bits` as bits of `format`; false when the format does not hold it.
bool convert_exactly(std::uint32_t bits, Format format, std::uint64_t& out) {
  const FormatSpec spec = spec_of(format);
  if (format == Format::f32) {
    out = bits;
    return true;
  }
  const double value = decode_value(bits, spec_of(Format::f32));
  out = encode_nearest_even(value, spec);
  return decode_value(out, spec) == value;  // never for a NaN: its bits would not survive
}

/// A file of A or B: `k` values a line, the first line says how many.
std::vector<std::uint64_t> read_operand(const fs::path& path, Format format, std::size_t& k) {
  Lines lines(path);
  std::vector<std::uint64_t> values;
  std::string_view line;
  k = 0;
  while (lines.next(line)) {
    std::size_t count = 0;
    for (std::string_view rest = line; !rest.empty() && rest != "\r"; ++count) {
      const std::size_t end = std::min(rest.find_first_of(" \r"), rest.size());
      const std::string_view token = rest.substr(0, end);
      std::uint32_t bits = 0;
      std::uint64_t converted = 0;
      if (!parse_digits(token, 8, 16, bits)) lines.refuse_line(token, "a binary32 as 8 hexadecimal digits");
      if (!convert_exactly(bits, format, converted))
        lines.refuse_line(token, fmt::format("a value that {} holds exactly", mmaudit::name_of(format)));
      values.push_back(converted);
      rest.remove_prefix(end < rest.size() && rest[end] == ' ' ? end + 1 : end);
    }
    if (k == 0) k = count;
    if (count == 0 || count != k || count > kMaxK)
      lines.refuse_line(fmt::format("{} values", count), k == 0 || k > kMaxK
                                                             ? fmt::format("1 to {} values", kMaxK)
                                                             : fmt::format("{} values, as in line 1", k));
  }
  if (values.empty()) refuse("{}: rows: found none, allowed: at least one line", lines.label());
  return values;
}

/// A file of C or D: one value a line.
std::vector<std::uint64_t> read_results(const fs::path& path, Format format, bool may_round) {
  Lines lines(path);
  std::vector<std::uint64_t> values;
  std::string_view line;
  while (lines.next(line)) {
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    std::uint32_t bits = 0;
    std::uint64_t converted = 0;
    if (!parse_digits(line, 32, 2, bits)) lines.refuse_line(line, "a binary32 as 32 binary digits");
    if (may_round) {
      converted = format == Format::f32
                      ? bits
                      : encode_nearest_even(decode_value(bits, spec_of(Format::f32)), spec_of(format));
    } else if (!convert_exactly(bits, format, converted)) {
      lines.refuse_line(line, fmt::format("a value that {} holds exactly", mmaudit::name_of(format)));
    }
    values.push_back(converted);
  }
  return values;
}

}  // namespace

std::vector<DatasetCase> find_dataset(const fs::path& folder) {
  std::vector<DatasetCase> cases;
  for (const fs::path& gpu_folder : folders_of(folder)) {
    const std::string gpu = gpu_folder.filename().string();
    for (const fs::path& format_folder : folders_of(gpu_folder)) {
      const std::string format = format_folder.filename().string();
      const FolderName* const known = find_named(kFormatFolders, format);
      if (known == nullptr)
        refuse("{}: format: found {}, allowed: {}", label_of(gpu_folder), in_quotes(format),
               names_of(kFormatFolders));
      for (const FolderName& output : kOutputs) {
        DatasetCase one;
        one.gpu = gpu;
        one.format = known->format;
        one.output = output.format;
        one.a = format_folder / fmt::format("a_{}_{}.txt", gpu, format);
        one.b = format_folder / fmt::format("b_{}_{}.txt", gpu, format);
        one.c = format_folder / fmt::format("c_{}_fp32.txt", gpu);
        one.d = format_folder / fmt::format("d_{}_{}.txt", gpu, output.name);
        const bool fp8 = one.format == Format::e4m3 || one.format == Format::e5m2;
        one.warpgroup =
            fp8 && one.output == Format::f32 &&
            std::find(std::begin(kFp8WithWgmma), std::end(kFp8WithWgmma), gpu) != std::end(kFp8WithWgmma);
        one.addend_ignored = one.warpgroup;
        std::error_code error;
        if (fs::exists(one.d, error)) cases.push_back(std::move(one));
      }
    }
  }
  if (cases.empty())
    refuse("{}: results: found none, allowed: <GPU>/<format>/d_<GPU>_fp32.txt, as in MATLAB-tensor-core",
           label_of(folder));
  return cases;
}

DatasetRows read_dataset(const DatasetCase& one) {
  DatasetRows rows;
  std::size_t k_of_b = 0;
  rows.a = read_operand(one.a, one.format, rows.k);
  rows.b = read_operand(one.b, one.format, k_of_b);
  rows.c = read_results(one.c, one.output, true);
  rows.d = read_results(one.d, one.output, false);
  rows.rows = rows.a.size() / rows.k;
  const auto same = [](const fs::path& file, const char* field, std::size_t found, std::size_t allowed) {
    if (found != allowed)
      refuse("{}: {}: found {}, allowed: {}, as in the file of A", label_of(file), field, found, allowed);
  };
  same(one.b, "values a line", k_of_b, rows.k);
  same(one.b, "rows", rows.b.size() / k_of_b, rows.rows);
  same(one.c, "rows", rows.c.size(), rows.rows);
  same(one.d, "rows", rows.d.size(), rows.rows);
  if (one.addend_ignored) std::fill(rows.c.begin(), rows.c.end(), 0);
  return rows;
}

}  // namespace mmaudit::corpus
