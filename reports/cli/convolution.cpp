// mmaudit tcgen05 convolution: a convolution by one instruction, every schedule of loads against the
// reference.
#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <optional>

#include "choice.hpp"
#include "common.hpp"
#include "mmaudit/convert.hpp"
#include "mmaudit/convolution/convolve.hpp"
#include "mmaudit/corpus/tensor_file.hpp"
#include "mmaudit/device/backends.hpp"
#include "mmaudit/report/table.hpp"
#include "mmaudit/tile_batch.hpp"

namespace mmaudit::cli {
namespace {

using conv::Algorithm;
using conv::Problem;
using conv::Shape;

constexpr int kMostLanes = 128, kNoTable = -1;

struct ConvolutionOptions {
  Shape shape;
  std::vector<int> stride, padding, dilation;
  int lanes = 16, table = kNoTable, row = 0;
  std::string architecture, instruction = "tcgen05.m128n16k16.kind_f16.f32.f16.f16";
  std::string activations, weights, out;
  std::uint64_t seed = 1;
  bool live = false;
};

/// "Y,X", or one number for both.
void read_pair(const char* option, const std::vector<int>& given, int& y, int& x) {
  if (given.empty()) return;
  if (given.size() > 2) refuse("{}: found {} numbers, allowed: 1 or 2", option, given.size());
  y = given.front();
  x = given.back();
}

corpus::Tensor load_operand(const char* option, const std::string& file, const FormatSpec& format) {
  if (const std::uint64_t bytes = corpus::tensor_bytes(file); bytes > conv::kMostElements * 8)
    refuse("{}: {}: found {} bytes, allowed: {}", option, file, bytes, conv::kMostElements * 8);
  corpus::Tensor tensor = corpus::load_tensor(file);
  if (tensor.dtype != corpus::raw_type(format) && tensor.dtype != corpus::value_type(format.id))
    refuse("{}: {}: dtype: found {}, allowed: {}", option, file, corpus::safetensors_name(tensor.dtype),
           corpus::types_text(format));
  const bool fits = tensor.shape.size() == 4 &&
                    std::all_of(tensor.shape.begin(), tensor.shape.end(), [](std::uint64_t extent) {
                      return extent >= 1 && extent <= std::uint64_t{conv::kMostSize};
                    });
  if (!fits)
    refuse("{}: {}: shape: found {}, allowed: four sizes of 1 to {}", option, file,
           corpus::to_string(tensor.shape), conv::kMostSize);
  return tensor;
}

void require(const std::string& reason) {
  if (!reason.empty()) throw InputError(reason);
}

/// Shape and operands, from files or from the seed.
Problem problem_of(const ConvolutionOptions& options, const Instruction& instruction,
                   const Datapath& datapath) {
  require(conv::why_not(instruction));
  Problem problem{options.shape, instruction, datapath, {}, {}};
  Shape& shape = problem.shape;
  read_pair("--stride", options.stride, shape.stride_y, shape.stride_x);
  read_pair("--padding", options.padding, shape.padding_y, shape.padding_x);
  read_pair("--dilation", options.dilation, shape.dilation_y, shape.dilation_x);
  const FormatSpec a = spec_of(instruction.a), b = spec_of(instruction.b);
  if (options.activations.empty() != options.weights.empty())
    refuse("{}: found it alone, allowed: with {}", options.weights.empty() ? "--activations" : "--weights",
           options.weights.empty() ? "--weights" : "--activations");
  if (!options.activations.empty()) {
    corpus::Tensor x = load_operand("--activations", options.activations, a),
                   w = load_operand("--weights", options.weights, b);
    const auto size = [](const corpus::Tensor& tensor, std::size_t i) {
      return static_cast<int>(tensor.shape[i]);
    };
    if (w.shape[3] != x.shape[3])
      refuse("--weights: {}: channels: found {}, allowed: {}, as --activations has", options.weights,
             w.shape[3], x.shape[3]);
    shape.images = size(x, 0);
    shape.height = size(x, 1);
    shape.width = size(x, 2);
    shape.channels = size(x, 3);
    shape.filters = size(w, 0);
    shape.rows = size(w, 1);
    shape.columns = size(w, 2);
    problem.activations = std::move(x.data);
    problem.weights = std::move(w.data);
  }
  require(conv::why_not(shape, instruction.k));
  if (options.activations.empty()) {
    std::uint64_t state = options.seed;
    problem.activations = conv::random_elements(a, bytes_of_activations(shape, instruction), state);
    problem.weights = conv::random_elements(b, bytes_of_weights(shape, instruction), state);
  }
  return problem;
}

std::string shape_text(const Shape& shape) {
  return fmt::format(
      "{} x {} x {} x {} (images, height, width, channels), {} filters of {} x {}, stride {} x {}, padding "
      "{} x {}, "
      "dilation {} x {}\n-> {} x {} x {} x {} (images, height, width, filters)\n",
      shape.images, shape.height, shape.width, shape.channels, shape.filters, shape.rows, shape.columns,
      shape.stride_y, shape.stride_x, shape.padding_y, shape.padding_x, shape.dilation_y, shape.dilation_x,
      shape.images, shape.out_height(), shape.out_width(), shape.filters);
}

std::string pixel_text(const conv::Pixel& pixel) {
  return pixel.padding() ? "zeros" : fmt::format("{}:{},{}", pixel.image, pixel.y, pixel.x);
}

/// The lanes of one tile at every place of a filter row, as "shift" has them.
std::string lane_table(const Shape& shape, const ConvolutionOptions& options) {
  if (options.table >= shape.positions())
    refuse("--table: found {}, allowed: 0 to {}", options.table, shape.positions() - 1);
  if (options.row >= shape.rows)
    refuse("--filter-row: found {}, allowed: 0 to {}", options.row, shape.rows - 1);
  const int lanes = std::min(options.lanes, shape.positions() - options.table);
  report::Table table{.title = "lanes", .columns = {{"lane", true}, {"output"}}};
  for (int lane = 0; lane < lanes; ++lane) {
    const int position = options.table + lane, row = position / shape.out_width();
    table.rows.push_back({{std::to_string(lane)},
                          {fmt::format("{}:{},{}", row / shape.out_height(), row % shape.out_height(),
                                       position % shape.out_width())}});
  }
  for (const conv::Run& run : runs_of(shape)) {
    if (run.r != options.row) continue;
    const std::vector<conv::Place> places =
        schedule_of(shape, run, conv::kAlgorithms[1], options.table, lanes);
    const auto held = lanes_at(places, true, lanes);
    for (std::size_t j = 0; j < places.size(); ++j) {
      table.columns.emplace_back(fmt::format("s = {}", places[j].s));
      for (std::size_t lane = 0; lane < held[j].size(); ++lane)
        table.rows[lane].push_back(pixel_text(held[j][lane]) + (places[j].masked[lane] ? " masked" : ""));
    }
  }
  return fmt::format("\nLanes of output positions {} to {}, filter row {}, by \"shift\" (image:y,x):\n{}",
                     options.table, options.table + lanes - 1, options.row, report::to_text(table));
}

/// One schedule compared with the reference.
struct Outcome {
  std::string name, what;
  conv::Counts counts;
  std::size_t differ = 0;
  bool right = true;
};

std::size_t differences(const std::vector<std::uint64_t>& x, const std::vector<std::uint64_t>& y) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < x.size(); ++i) count += x[i] != y[i] ? 1U : 0U;
  return count;
}

/// Equal bits say something: an output is a finite number other than 0. Any order of sums gives the others.
bool says_something(const std::vector<std::uint64_t>& outputs, const FormatSpec& format) {
  return std::any_of(outputs.begin(), outputs.end(), [&](std::uint64_t bits) {
    const double value = decode_value(bits, format);
    return std::isfinite(value) && value != 0;
  });
}

std::string outcome_table(const std::vector<Outcome>& outcomes, std::uint64_t outputs, bool compared) {
  const auto count = [](std::uint64_t conv::Counts::*which) {
    return [which](const Outcome& one) { return std::to_string(one.counts.*which); };
  };
  return to_text(report::table_of<Outcome>(
      {}, outcomes,
      {{{"schedule"}, [](const Outcome& one) { return one.name; }},
       {{"loads", true}, count(&conv::Counts::loads)},
       {{"again", true}, count(&conv::Counts::reloads)},
       {{"shifts", true}, count(&conv::Counts::shifts)},
       {{"masked", true}, count(&conv::Counts::masked)},
       {{"mma", true}, count(&conv::Counts::instructions)},
       {{fmt::format("wrong of {}", outputs), true},
        [=](const Outcome& one) {
          if (!compared && one.differ == 0) return report::Cell("-");
          return report::Cell(std::to_string(one.differ),
                              one.differ == 0 ? report::Tone::good : report::Tone::bad);
        }},
       {{"what it does"}, [](const Outcome& one) { return one.what; }}}));
}

void save(const std::string& file, const Problem& problem, const std::vector<std::uint64_t>& d) {
  const Shape& shape = problem.shape;
  const FormatSpec format = spec_of(problem.instruction.d);
  corpus::Tensor tensor;
  tensor.name = "D";
  for (const int extent : {shape.images, shape.out_height(), shape.out_width(), shape.filters})
    tensor.shape.push_back(static_cast<std::uint64_t>(extent));
  tensor.dtype = corpus::value_type(format.id);
  tensor.data.resize(d.size() * format.storage_bytes());
  for (std::size_t i = 0; i < d.size(); ++i) store_bits(tensor.data, format.storage_bytes(), i, d[i]);
  corpus::save_tensor(file, tensor);
}

int execute(const ConvolutionOptions& options, const Context& context) {
  std::string name = options.architecture;
  std::optional<Backend> gpu;
  if (options.live) {
    const device::DeviceInfo info = require_device();
    gpu = device::hardware_backend(info);
    if (name.empty() && context.own() == nullptr) name = architecture_of(info).name;
  }
  if (name.empty() && context.own() == nullptr) name = "blackwell";
  const Architecture& architecture = require_architecture(context, name);
  const Instruction instruction = require_instruction(options.instruction);
  const Datapath& datapath = require_datapath(architecture, instruction).datapath;
  try_outputs({{"--out", options.out}}, {{"--activations", options.activations},
                                         {"--weights", options.weights},
                                         {"--model", context.model_file}});
  if (!options.out.empty()) corpus::check_tensor_target(options.out);
  if (gpu)
    if (const std::string reason = gpu->why_not(instruction, 0); !reason.empty())
      throw EnvironmentError(reason);
  const Problem problem = problem_of(options, instruction, datapath);
  const std::string lanes = options.table == kNoTable ? "" : lane_table(problem.shape, options);

  const std::vector<std::uint64_t> wanted = reference(problem);
  std::vector<Outcome> outcomes;
  for (const Algorithm& one : conv::kAlgorithms) {
    const conv::Result result = convolve(problem, one, options.lanes);
    outcomes.push_back({std::string(one.name), std::string(one.what), result.counts,
                        differences(result.d, wanted), one.right});
  }
  if (gpu) {
    const conv::Result result = convolve(problem, conv::kAlgorithms[0], options.lanes, &*gpu);
    outcomes.push_back({fmt::format("{} live", conv::kAlgorithms[0].name), "the same on " + gpu->name,
                        result.counts, differences(result.d, wanted), true});
  }
  std::string left_out;
  for (const bool ashift : {false, true}) {
    const conv::InTensorMemory how{conv::kAlgorithms[2], options.lanes, ashift};
    if (const std::string reason = why_not(problem, how); !reason.empty()) {
      left_out = "In tensor memory: not run. " + reason + "\n";
      continue;
    }
    const conv::Result result = convolve(problem, how);
    outcomes.push_back(
        {ashift ? "halo .ashift" : "halo tmem",
         ashift ? "halo tmem, every second shift by the mma" : "halo in tensor memory, 4 tiles at once",
         result.counts, differences(result.d, wanted), true});
  }
  if (!options.out.empty()) save(options.out, problem, wanted);
  const bool compared = says_something(wanted, spec_of(instruction.d));
  if (!compared)
    left_out +=
        "Nothing compared: no output of the reference is a finite number other than 0, which every schedule "
        "gives. Exit code 1.\n";
  std::size_t wrong = 0;
  for (const Outcome& one : outcomes) wrong += one.right ? one.differ : 0;
  print(
      fmt::format("{}{} by the {} model, tiles of {} output positions{}\n\n{}{}\"printed\" and \"unmasked\" "
                  "are mistakes on purpose: the exit code leaves them out.{}\n{}",
                  shape_text(problem.shape), mmaudit::name_of(instruction), architecture.name, options.lanes,
                  options.activations.empty() ? fmt::format(", seed {}", options.seed) : "",
                  outcome_table(outcomes, problem.shape.outputs(), compared), left_out,
                  options.out.empty() ? "" : " Reference -> " + options.out, lanes));
  return compared && wrong == 0 ? kAllGood : kMismatch;
}

}  // namespace

void add_convolution(Command& tcgen05) {
  auto options = std::make_shared<ConvolutionOptions>();
  Command command =
      tcgen05.command("convolution", "A convolution by tensor cores, with and without reuse of activations",
                      {"mmaudit tcgen05 convolution --lanes 9",
                       "mmaudit tcgen05 convolution --width 20 --columns 5 --stride 1,2 --padding 2",
                       "mmaudit tcgen05 convolution --live --inst mma.m16n8k16.f32.f16.f16.f32"});
  Shape& shape = options->shape;
  std::vector<Option> sizes;
  const auto size = [&](const char* name, int& value, const char* text) {
    sizes.push_back(command.option(name, value, text));
  };
  size("--images", shape.images, "images");
  size("--height", shape.height, "rows of an image");
  size("--width", shape.width, "columns of an image");
  size("--channels", shape.channels, "of a pixel");
  size("--filters", shape.filters, "channels of the output");
  size("--rows", shape.rows, "of a filter");
  size("--columns", shape.columns, "of a filter");
  command.option("--stride Y,X", options->stride, "one number or two").comma_separated().default_text("1,1");
  command.option("--padding Y,X", options->padding, "zeros on each side")
      .comma_separated()
      .default_text("0,1");
  command.option("--dilation Y,X", options->dilation, "between places of the filter")
      .comma_separated()
      .default_text("1,1");
  command.option("--lanes", options->lanes, "output positions per tile").range(1, kMostLanes);
  command.option("--inst INST", options->instruction, "dense, of any unit; k is its channels per step");
  command.option("--arch ARCH", options->architecture, "whose arithmetic").default_text("blackwell");
  add_model_option(command);
  command.flag("--live", options->live,
               "also on the GPU of this machine, by the schedule that needs no shift; --inst of that GPU");
  command.option("--seed", options->seed, "of random operands");
  Option activations = command.option("--activations FILE", options->activations,
                                      "(images, height, width, channels) in place of --seed");
  Option weights = command.option("--weights FILE", options->weights, "(filters, rows, columns, channels)");
  for (const Option& one : sizes) {
    activations.excludes(one);
    weights.excludes(one);
  }
  command.option("--out FILE", options->out, "the reference: .npy or .safetensors");
  command.option("--table FIRST", options->table, "the lanes of the tile from this output position on")
      .range(0, static_cast<double>(conv::kMostElements))
      .default_text("none");
  const Option row = command.option("--filter-row", options->row, "row of the filter, for --table")
                         .range(0, conv::kMostSize);
  command.runs([options, row](const Context& context) {
    if (row.given() && options->table == kNoTable)
      refuse("--filter-row: found it alone, allowed: with --table");
    return execute(*options, context);
  });
}

}  // namespace mmaudit::cli
