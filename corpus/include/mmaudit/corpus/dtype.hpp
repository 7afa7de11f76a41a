#pragma once
// Between the number formats of the model and the element types of files.
#include <string>

#include "mmaudit/arithmetic/format.hpp"
#include "mmaudit/corpus/tensor.hpp"

namespace mmaudit::corpus {

/// The unsigned integer of the format's storage width.
DType raw_type(const FormatSpec& format);

/// What programs keep such numbers in: the float or signed type of the format; raw bits where files have none
/// of their own (e3m2, ue8m0, ...).
DType value_type(Format format);

/// The format that a float type holds; Format::none for integers.
Format format_of(DType dtype);

/// Both types, for messages: "U16 (raw bits of f16) or F16".
std::string types_text(const FormatSpec& format);

}  // namespace mmaudit::corpus
