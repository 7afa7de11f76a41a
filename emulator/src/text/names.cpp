#include "mmaudit/names.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>
#include <utility>
#include <vector>

#include "text/name_words.hpp"

namespace mmaudit {
namespace {

bool is_format(std::string_view word) { return word == "a" || word == "b" || find_format(word).has_value(); }

/// What PTX says beside the name: fixed, or without influence on the bits.
constexpr std::string_view kFixed[] = {
    "sync", "aligned",     "row", "col", "block_scale", "block32",         "mma_async",
    "rn",   "cta_group_1", "tn",  "nt",  "nn",          "ordered_metadata"};

/// A word of PTX that has another name here.
constexpr std::pair<std::string_view, std::string_view> kPtxWords[] = {
    {"sp_ordered_metadata", "sp"}, {"block16", "scale_vec_4x"}, {"sat", "satfinite"}};

/// A SASS instruction: what its name fixes. D and A are read from its words where they are empty.
struct SassHead {
  std::string_view name, op, d, a;
};
constexpr SassHead kSass[] = {
    {"hmma", "mma", "", "f16"},    {"imma", "mma", "s32", ""},      {"qmma", "mma", "", ""},
    {"dmma", "mma", "f64", "f64"}, {"bmma", "mma", "s32", "b1"},    {"hgmma", "wgmma", "", "f16"},
    {"qgmma", "wgmma", "", ""},    {"igmma", "wgmma", "s32", "s8"}, {"bgmma", "wgmma", "s32", "b1"}};

/// The words between full stops, up to the operands.
std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (c == '.') {
      words.emplace_back();
    } else if (c == ':') {
      if (!words.back().empty() && words.back().back() != '_') words.back() += '_';
    } else {
      words.back() += c;
    }
  }
  return words;
}

bool is_shape(std::string_view word) {
  const std::size_t n = word.find('n'), k = word.find('k');
  return word.size() > 4 && word.front() == 'm' && n != std::string_view::npos &&
         k != std::string_view::npos &&
         (std::isdigit(static_cast<unsigned char>(word[1])) != 0 || word[1] == 'm') &&
         word.find('_') > word.size();
}

Words ptx_words(const std::vector<std::string>& parts) {
  Words words;
  for (std::string part : parts) {
    for (const auto& [theirs, ours] : kPtxWords)
      if (part == theirs) part = ours;
    if (is_format(part))
      words.formats.push_back(part);
    else if (is_shape(part))
      words.shape = part;
    else if (part == "mma" && !words.rest.empty())
      continue;  // wmma.mma, tcgen05.mma
    else if (std::find(std::begin(kFixed), std::end(kFixed), part) == std::end(kFixed))
      words.rest.insert(part);
  }
  return words;
}

Words sass_words(const SassHead& head, const std::vector<std::string>& parts) {
  Words words;
  words.rest.insert(std::string(head.op));
  std::vector<std::string> given;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (is_format(parts[i]))
      given.push_back(parts[i]);
    else if (!parts[i].empty() && std::isdigit(static_cast<unsigned char>(parts[i].front())) != 0)
      words.shape = parts[i];
    else
      words.rest.insert(parts[i] == "sat" ? "satfinite" : parts[i]);
  }
  std::string d(head.d);
  if (d.empty() && !given.empty()) {
    d = given.front();
    given.erase(given.begin());
  }
  const std::string a = given.empty() ? std::string(head.a) : given.front();
  words.formats = {d, a, given.size() > 1 ? given[1] : a};
  if (head.op == "mma") words.formats.push_back(d);
  return words;
}

/// "f32f16f16f32" as formats; of two that fit the longer, and b1 is CUTLASS's u1.
std::vector<std::string> joined_formats(std::string_view text) {
  std::vector<std::string> formats;
  while (!text.empty()) {
    std::string_view longest, theirs;
    const auto take = [&](std::string_view spelled, std::string_view name) {
      if (text.substr(0, spelled.size()) == spelled && spelled.size() > theirs.size())
        longest = name, theirs = spelled;
    };
    take("u1", "b1");
    for (const NamedFormat& row : kFormats) take(row.name, row.name);
    if (theirs.empty()) return formats;
    formats.emplace_back(longest);
    text.remove_prefix(theirs.size());
  }
  return formats;
}

/// "SM80_16x8x16_F32F16F16F32_TN", in small letters; nullopt for what is no CUTLASS atom.
std::optional<Words> cutlass_words(const std::string& text) {
  if (text.find('_') == std::string::npos || text.find('.') != std::string::npos) return std::nullopt;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (at != 0 && text[at - 1] != '_') continue;
    const std::size_t end = std::min(text.find('_', at), text.size());
    const std::string size = text.substr(at, end - at);
    if (std::count(size.begin(), size.end(), 'x') != 2 ||
        size.find_first_not_of("0123456789x") != std::string::npos)
      continue;
    Words words;
    words.shape = size;
    words.rest.insert(size.substr(0, 3) == "64x" ? "wgmma" : "mma");
    words.formats = joined_formats(end < text.size() ? std::string_view(text).substr(end + 1) : "");
    const auto has = [&](std::string_view part) { return text.find(part) != std::string::npos; };
    if (has("sparse")) words.rest.insert("sp");
    if (has("saturate")) words.rest.insert("satfinite");
    if (has("xorpopc")) words.rest.insert({"xor", "popc"});
    if (has("andpopc")) words.rest.insert({"and", "popc"});
    return words;
  }
  return std::nullopt;
}

Words words_of(std::string_view typed) {
  const std::size_t first = std::min(typed.find_first_not_of(" \t\n\""), typed.size());
  std::string text = lower(typed.substr(first));
  text.resize(std::min(text.find_first_of(" \t\n\\\"{;<("), text.size()));
  if (const auto amd = mfma_words(text)) return *amd;
  if (const auto atom = cutlass_words(text)) return *atom;
  const std::vector<std::string> parts = split(text);
  for (const SassHead& head : kSass)
    if (parts.front() == head.name) return sass_words(head, parts);
  return ptx_words(parts);
}

/// The words of every row of kInstructions, in its order.
const std::vector<Words>& listed() {
  static const std::vector<Words> all = [] {
    std::vector<Words> list;
    list.reserve(std::size(kInstructions));
    for (const Instruction& inst : kInstructions) list.push_back(words_of(name_of(inst)));
    return list;
  }();
  return all;
}

bool has_word(const Words& words, std::string_view start) {
  return std::any_of(words.rest.begin(), words.rest.end(),
                     [&](const std::string& word) { return word.starts_with(start); });
}

bool fits(const std::vector<std::string>& typed, const std::vector<std::string>& own,
          const Instruction& inst) {
  const auto same = [&](std::size_t i) {
    const bool any = (typed[i] == "a" && i == 1) || (typed[i] == "b" && i == 2);
    return any || typed[i] == own[i];
  };
  // wmma of f16 names D and C alone.
  if (inst.op == Op::wmma && typed.size() == 2)
    return inst.a == Format::f16 && typed[0] == own[0] && typed[1] == own[3];
  const bool without_scale = inst.scale != Format::none && typed.size() + 1 == own.size();
  if (typed.size() != own.size() && !without_scale) return false;
  for (std::size_t i = 0; i < typed.size(); ++i)
    if (!same(i)) return false;
  return true;
}

bool fits(const Words& typed, const Words& own, const Instruction& inst) {
  std::set<std::string> rest = own.rest;
  for (const std::string& word : own.rest)  // follows from the kind where it is left out
    if (word.starts_with("scale_vec") && !has_word(typed, "scale_vec")) rest.erase(word);
  return typed.rest == rest && fits(typed.formats, own.formats, inst);
}

/// The number after `letter`; 0 where it is that letter (open), -1 where there is none.
int number_after(std::string_view text, char letter) {
  const std::size_t at = text.find(letter);
  if (at == std::string_view::npos || at + 1 >= text.size()) return -1;
  if (text[at + 1] == letter) return 0;
  int value = -1;
  std::from_chars(text.data() + at + 1, text.data() + text.size(), value);
  return value;
}

/// `row` with the shape that is spelled; 64 and 128 for an open N and M.
std::optional<Instruction> shaped(const Instruction& row, const std::string& shape) {
  if (shape.empty()) return std::nullopt;
  if (shape.front() == 'm') {
    const int m = number_after(shape, 'm');
    const int n = number_after(m == 0 ? std::string_view(shape).substr(2) : std::string_view(shape), 'n');
    Instruction inst = row;
    if (inst.m == 0 && m > 0) inst.m = static_cast<std::int16_t>(std::min(m, 1024));
    if (inst.n == 0 && n > 0) inst.n = static_cast<std::int16_t>(std::min(n, 1024));
    inst = with_shape(inst, 64);
    const bool same =
        (m == inst.m || m == 0) && (n == inst.n || n == 0) && number_after(shape, 'k') == inst.k;
    return same && has_shape(inst, inst.m, inst.n) ? std::optional(inst) : std::nullopt;
  }
  for (int n = row.n != 0 ? row.n : kWgmmaMinN; n <= (row.n != 0 ? row.n : kWgmmaMaxN); n += kWgmmaStepN) {
    const Instruction inst = with_shape(row, n);
    const std::string sizes[] = {std::to_string(inst.m), std::to_string(n), std::to_string(inst.k)};
    if ((shape == sizes[0] + sizes[1] + sizes[2] || shape == sizes[0] + 'x' + sizes[1] + 'x' + sizes[2]) &&
        has_shape(inst, inst.m, n))
      return inst;
  }
  return std::nullopt;
}

/// Names of what is no format, a blank between them, and what that is.
struct Meaning {
  std::string_view names, meaning;
};
constexpr Meaning kMeanings[] = {
    {"fp8 float8", "e4m3 or e5m2"},
    {"fp6", "e3m2 or e2m3"},
    {"nvfp4 nvf4", "e2m1 with a scale of ue4m3 for every 16 elements"},
    {"mxfp4 mxf4", "e2m1 with a scale of ue8m0 for every 32 elements"},
    {"mxfp8 mxf8", "e4m3 or e5m2 with a scale of ue8m0 for every 32 elements"},
};

/// In small letters, "-" as "_", without "torch." and the like.
std::string plain_format(std::string_view name) {
  std::string text = lower(name.substr(name.rfind('.') + 1));
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
}

/// `name` is a word of `names`, whatever their capitals.
bool is_among(std::string_view names, const std::string& name) {
  return (" " + lower(names) + " ").find(" " + name + " ") != std::string::npos;
}

}  // namespace

std::optional<Instruction> read_instruction(std::string_view text) {
  if (const auto exact = find_instruction(text)) return exact;
  Words typed = words_of(text);
  for (std::string& format : typed.formats)
    if (format == "a" || format == "b") format = "e4m3";
  for (std::size_t i = 0; i < kInstructions.size(); ++i)
    if (fits(typed, listed()[i], kInstructions[i]))
      if (const auto found = shaped(kInstructions[i], typed.shape)) return found;
  return std::nullopt;
}

bool means(std::string_view text, const Instruction& instruction) {
  const Words typed = words_of(text);
  if (typed.formats.empty() || !fits(typed, words_of(name_of(instruction)), instruction)) return false;
  for (const Instruction& row : kInstructions) {
    Instruction same = row;
    same.m = instruction.m, same.n = instruction.n;
    if (same == instruction && shaped(row, typed.shape)) return true;
  }
  return false;
}

std::vector<std::string> nearest_instructions(std::string_view text, std::size_t most) {
  // Names of Blackwell's instructions in SASS and CUTLASS, which don't hold the types.
  constexpr std::string_view kWithoutTypes[] = {"sm100_", "sm120_", "utc", "omma"};
  const std::string small = lower(text);
  for (const std::string_view part : kWithoutTypes)
    if (small.find(part) != std::string::npos) return {};
  const Words typed = words_of(text);
  if (typed.shape.empty() && !has_word(typed, "kind_")) return {};
  constexpr int kTooLittle = 9;
  std::vector<std::pair<int, std::size_t>> near;  // how much each has in common, negated, and its place
  for (std::size_t i = 0; i < kInstructions.size(); ++i) {
    const Words& own = listed()[i];
    if (typed.rest.count("sp") != own.rest.count("sp")) continue;
    int common = 0;
    for (const std::string& word : typed.rest) common += own.rest.count(word) != 0 ? 8 : -1;
    common -= static_cast<int>(own.rest.size());
    for (std::size_t f = 0; f < std::min(typed.formats.size(), own.formats.size()); ++f)
      common += typed.formats[f] == own.formats[f] ? 2 : 0;
    common -= typed.formats.size() == own.formats.size() ? 0 : 1;
    if (shaped(kInstructions[i], typed.shape)) common += 4;
    const std::size_t shape = std::min(typed.shape.size(), own.shape.size());
    for (std::size_t c = 0; c < shape && typed.shape[c] == own.shape[c]; ++c) ++common;
    if (common > kTooLittle) near.emplace_back(-common, i);
  }
  std::sort(near.begin(), near.end());
  std::vector<std::string> names;
  for (std::size_t n = 0; n < std::min(most, near.size()); ++n)
    names.push_back(name_of(kInstructions[near[n].second]));
  return names;
}

std::string nearest_instruction(std::string_view text) {
  const std::vector<std::string> nearest = nearest_instructions(text, 1);
  return nearest.empty() ? "" : nearest.front();
}

std::optional<Format> read_format(std::string_view name) {
  const std::string text = plain_format(name);
  if (const auto found = find_format(text)) return found;
  if (text.empty() || text.find(' ') != std::string::npos) return std::nullopt;
  for (const auto& [own, title, spec, names] : kFormats)
    for (const std::string_view some : {names.also, names.torch, names.ml_dtypes, names.numpy, names.file})
      if (is_among(some, text)) return spec.id;
  return std::nullopt;
}

std::string_view meaning_of(std::string_view name) {
  const std::string text = plain_format(name);
  for (const auto& [names, meaning] : kMeanings)
    if (!text.empty() && text.find(' ') == std::string::npos && is_among(names, text)) return meaning;
  return {};
}

}  // namespace mmaudit
