#include "mmaudit/convert.hpp"
#include "mmaudit/matmul.hpp"
#include "mmaudit/refusal.hpp"
#include "mmaudit/splitmix64.hpp"
#include "operands.hpp"

namespace mmaudit::conv {
namespace {

std::uint64_t bytes_of(std::initializer_list<int> sizes, Format format) {
  std::uint64_t bytes = spec_of(format).storage_bytes();
  for (const int size : sizes) bytes *= static_cast<std::uint64_t>(size);
  return bytes;
}

}  // namespace

std::string why_not(const Instruction& instruction) {
  const char* const found = is_sparse(instruction.op)           ? "a sparse one"
                            : instruction.scale != Format::none ? "block scales"
                            : instruction.a == Format::b1       ? "single bits"
                                                                : nullptr;
  if (found != nullptr)
    return refusal("instruction: found {}, allowed: a dense one without block scales, of numbers", found);
  if (instruction.c == instruction.d) return {};
  return refusal(
      "instruction: found C of {} with D of {}, allowed: C and D of one format, which a chain needs",
      name_of(instruction.c), name_of(instruction.d));
}

std::uint64_t bytes_of_activations(const Shape& shape, const Instruction& instruction) {
  return bytes_of({shape.images, shape.height, shape.width, shape.channels}, instruction.a);
}

std::uint64_t bytes_of_weights(const Shape& shape, const Instruction& instruction) {
  return bytes_of({shape.filters, shape.rows, shape.columns, shape.channels}, instruction.b);
}

std::vector<std::byte> random_elements(const FormatSpec& format, std::uint64_t bytes, std::uint64_t& state) {
  std::vector<std::byte> elements(bytes);
  for (std::size_t i = 0; i < bytes / format.storage_bytes(); ++i) {
    const std::uint64_t word = splitmix64(state);
    // 21 bits, from -2^20: binary64 keeps all of them, the others round.
    const double value = word % 10 == 0 ? 0 : static_cast<double>(word >> 43) * 0x1p-17 - 8;
    store_bits(elements, format.storage_bytes(), i,
               format.integer() ? word >> (64 - format.value_bits()) : encode_nearest_even(value, format));
  }
  return elements;
}

std::vector<std::uint64_t> reference(const Problem& problem) {
  const Shape& shape = problem.shape;
  const Instruction& inst = problem.instruction;
  const int k = inst.k, blocks = blocks_of(shape, k);
  const auto depth =
      static_cast<std::size_t>(shape.rows) * static_cast<std::size_t>(shape.columns * blocks * k);
  const std::size_t a_bytes = spec_of(inst.a).storage_bytes(), b_bytes = spec_of(inst.b).storage_bytes(),
                    d_bytes = spec_of(inst.d).storage_bytes();
  std::vector<std::byte> a(depth * a_bytes), b(depth * b_bytes), d(d_bytes);
  Matmul chain;
  chain.m = chain.n = 1;
  chain.k = depth;
  chain.a = a.data();
  chain.b = b.data();
  chain.d = d.data();
  MatmulOptions plain;
  plain.fast = false;
  const std::vector<Run> runs = runs_of(shape);
  std::vector<std::uint64_t> outputs(shape.outputs());
  for (int position = 0; position < shape.positions(); ++position) {
    for (int filter = 0; filter < shape.filters; ++filter) {
      std::size_t i = 0;
      for (const Run& run : runs) {
        for (int first = 0; first < blocks * k; first += k) {
          for (const int s : run.s) {
            const Pixel pixel = pixel_at(shape, position, run.r, s);
            for (int channel = first; channel < first + k; ++channel, ++i) {
              store_bits(a, a_bytes, i, activation(problem, pixel, channel));
              store_bits(b, b_bytes, i, weight(problem, filter, run.r, s, channel));
            }
          }
        }
      }
      matmul(inst, problem.datapath, chain, plain);
      outputs[place_of(shape, position) * static_cast<std::size_t>(shape.filters) +
              static_cast<std::size_t>(filter)] = load_bits(d, d_bytes, 0);
    }
  }
  return outputs;
}

}  // namespace mmaudit::conv
