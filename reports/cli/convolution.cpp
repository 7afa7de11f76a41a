// mmaudit tcgen05 convolution: a convolution by one instruction, every schedule of loads against the
// reference.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "choice.hpp"
#include "common.hpp"
#include "convolution_report.hpp"
#include "mmaudit/corpus/operand.hpp"
#include "mmaudit/corpus/tensor_file.hpp"
#include "mmaudit/device/backends.hpp"
#include "outputs.hpp"

namespace mmaudit::cli {
namespace {

using conv::Problem;
using conv::Shape;

constexpr int kMostLanes = 128, kNoTable = -1;

struct ConvolutionOptions {
  Shape shape;
  std::vector<int> stride, padding, dilation;
  int lanes = 16, table = kNoTable, row = 0;
  std::string order = "image", architecture, instruction = "tcgen05.m128n16k16.kind_f16.f32.f16.f16";
  std::string activations, weights, out;
  Outputs outputs;
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
  corpus::require_elements(fmt::format("{}: {}", option, file), tensor, format);
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
  shape.rows_first = options.order == "row";
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
  try_outputs(options.outputs.files({{"--out", options.out}}), {{"--activations", options.activations},
                                                                {"--weights", options.weights},
                                                                {"--model", context.model_file}});
  if (!options.out.empty()) corpus::check_tensor_target(options.out);
  if (gpu)
    if (const std::string reason = gpu->why_not(instruction, 0); !reason.empty())
      throw EnvironmentError(reason);
  const Problem problem = problem_of(options, instruction, datapath);
  const Shape& shape = problem.shape;
  std::optional<report::Section> lanes;
  if (options.table != kNoTable) lanes = lanes_of(shape, options.table, options.row, options.lanes);
  const Schedules found = compare_schedules(problem, options.lanes, gpu ? &*gpu : nullptr);
  report::Report report =
      report_of(found, shape,
                fmt::format("{} by the {} model, tiles of {} output positions{}",
                            mmaudit::name_of(instruction), architecture.name, options.lanes,
                            options.activations.empty() ? fmt::format(", seed {}", options.seed) : ""));
  if (lanes) report.sections.push_back(*lanes);
  if (!options.out.empty()) {
    const auto size = [](int extent) { return static_cast<std::uint64_t>(extent); };
    corpus::save_tensor(options.out, corpus::tensor_of_bits(instruction.d,
                                                            {size(shape.images), size(shape.out_height()),
                                                             size(shape.out_width()), size(shape.filters)},
                                                            found.reference));
    report.sections.front().notes.push_back("Reference -> " + options.out);
  }
  return options.outputs.publish(report, context);
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
  command
      .option("--order", options->order,
              "of output positions: by image, y, x; or by y, image, x, as the note's prose")
      .one_of({"image", "row"});
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
  options->outputs.add_to(command);
  command.runs([options, row](const Context& context) {
    if (row.given() && options->table == kNoTable)
      refuse("--filter-row: found it alone, allowed: with --table");
    return execute(*options, context);
  });
}

}  // namespace mmaudit::cli
