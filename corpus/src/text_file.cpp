#include "mmaudit/corpus/text_file.hpp"

#include <fmt/format.h>

#include "input_file.hpp"
#include "refuse.hpp"

namespace mmaudit::corpus {

std::string text_of_file(const std::filesystem::path& path, std::uint64_t most) {
  const InputFile file(path);
  if (file.size() > most)
    refuse(file.label(), "size", fmt::format("{} bytes", file.size()), fmt::format("at most {}", most));
  std::string text(static_cast<std::size_t>(file.size()), '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

}  // namespace mmaudit::corpus
