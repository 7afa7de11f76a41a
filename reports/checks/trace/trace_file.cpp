// The file that mmaudit.torch.trace writes.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "mmaudit/corpus/gemm_file.hpp"
#include "mmaudit/corpus/safetensors.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/json_fields.hpp"
#include "trace/trace.hpp"

namespace mmaudit::checks {
namespace {

constexpr std::uint64_t kMost = std::uint64_t{1} << 62;

/// A number of a list that has `most` entries; none where it is not given.
std::size_t index(const JsonNode& node, std::uint64_t most) {
  if (!node.given()) return kNone;
  const std::uint64_t found = node.count(kMost);
  if (found >= most) node.refuse(fmt::format("below {}", most));
  return found;
}

std::vector<std::uint64_t> counts(const JsonNode& node, std::uint64_t most = kMost) {
  std::vector<std::uint64_t> out;
  if (!node.given()) return out;
  for (const JsonNode& each : node.list()) {
    out.push_back(each.count(kMost));
    if (out.back() >= most) each.refuse(fmt::format("below {}", most));
  }
  return out;
}

bool flag(const JsonNode& node) {
  return node.given() && node.json().is_boolean() && node.json().get<bool>();
}

/// Goes on with a CRC-32 (RFC 1952, section 8, as zlib has it).
std::uint32_t crc32(std::uint32_t sum, const std::byte* data, std::size_t size) {
  static constexpr auto kTable = [] {
    std::array<std::uint32_t, 256> out{};
    for (std::uint32_t i = 0; i < out.size(); ++i) {
      out[i] = i;
      for (int bit = 0; bit < 8; ++bit) out[i] = out[i] >> 1 ^ (out[i] % 2 == 1 ? 0xEDB88320U : 0U);
    }
    return out;
  }();
  sum = ~sum;
  for (std::size_t i = 0; i < size; ++i)
    sum = sum >> 8 ^ kTable[(sum ^ std::to_integer<std::uint32_t>(data[i])) & 0xFF];
  return ~sum;
}

TraceTensor tensor_of(const JsonNode& node, std::uint64_t operations, std::uint64_t tensors,
                      std::uint64_t rows) {
  TraceTensor out;
  out.shape = counts(node.at("shape"));
  out.stride = counts(node["stride"]);
  out.dtype = node.at("dtype").text();
  if (node["name"].given()) out.name = node["name"].text();
  out.made = index(node["made"], operations);
  out.of = index(node["of"], tensors);
  out.at = index(node["at"], rows + 1);
  if (node["hash"].given()) out.hash = node["hash"].count(~std::uint64_t{0});
  if (node["transposed"].given()) out.transposed = node["transposed"].count(~std::uint64_t{0});
  if (node["value"].given()) out.value = node["value"].text();
  out.hashed = node["hash"].given() || out.at != kNone;
  out.context = flag(node["context"]);
  if (out.at != kNone) {
    out.batch = node.at("batch").count(rows);
    out.tokens = node.at("tokens").count(rows);
    if (out.batch * out.tokens > rows - out.at) node.at("tokens").refuse("as many rows as the file has");
  }
  return out;
}

TraceGemm gemm_of(const JsonNode& node) {
  TraceGemm out;
  out.problem = corpus::gemm_problem_of(node.at("problem").json(), node.at("problem").where());
  if (node["plan"].given()) out.plan = corpus::gemm_plan_of(node["plan"].json(), node["plan"].where());
  if (node["arch"].given()) out.architecture = node["arch"].text();
  if (node["scaling"].given()) out.scaling = node["scaling"].text();
  out.rows = counts(node["rows"], out.problem.m);
  out.columns = counts(node["columns"], out.problem.n);
  return out;
}

}  // namespace

std::uint32_t trace_checksum(const corpus::SafetensorsFile& file) {
  std::uint32_t sum = 0;
  for (const corpus::Tensor& each : file.tensors) {
    const std::string about = fmt::format("{} {} [{}]", each.name, corpus::safetensors_name(each.dtype),
                                          fmt::join(each.shape, ", "));
    if (each.data.empty()) continue;
    sum = crc32(sum, reinterpret_cast<const std::byte*>(about.data()), about.size());
    sum = crc32(sum, each.data.data(), each.data.size());
  }
  return sum;
}

Trace read_trace(const std::string& file) {
  corpus::SafetensorsFile read = corpus::read_safetensors(file);
  const auto said = read.metadata.find("mmaudit");
  if (said == read.metadata.end() || said->second.find(kTraceSchema) == std::string::npos)
    refuse("{}: found no trace, allowed: a file of mmaudit.torch.trace, schema {}", file, kTraceSchema);
  const Json about = corpus::parse_bounded(said->second, file, "what a trace says of itself");
  const std::uint64_t wanted = JsonNode(about, file).at("crc32").count(~std::uint32_t{0});
  if (const std::uint32_t sum = trace_checksum(read); sum != wanted)
    refuse("{}: crc32: found {}, allowed: {}, as the file itself says; it was damaged", file, sum, wanted);
  return trace_of(std::move(read), file);
}

Trace trace_of(corpus::SafetensorsFile read, const std::string& file) {
  const corpus::Tensor& text = read.at("trace", file);
  const Json json = corpus::parse_bounded({reinterpret_cast<const char*>(text.data.data()), text.data.size()},
                                          file, "the JSON of a trace");
  const JsonNode root(json, file);
  Trace out;
  out.file = file;
  std::map<std::string_view, const corpus::Tensor*> by_name;
  for (const corpus::Tensor& each : read.tensors) by_name[each.name] = &each;
  for (std::size_t part = 0;; ++part) {
    const auto found = by_name.find(fmt::format("rows.{}", part));
    if (found == by_name.end()) break;
    const auto raw = found->second->as<std::int64_t>();
    for (std::size_t i = 0; i + 1 < raw.size(); i += 2) {
      TraceRow& row = out.rows.emplace_back();
      std::memcpy(&row.hash, &raw[i], sizeof(row.hash));
      std::memcpy(&row.norm, &raw[i + 1], sizeof(row.norm));
      std::memcpy(&row.sketch, reinterpret_cast<const char*>(&raw[i + 1]) + sizeof(float), sizeof(float));
    }
  }
  std::vector<std::string> texts;
  for (const JsonNode& each : root.at("texts").list()) texts.push_back(each.text());
  const auto text_at = [&](const JsonNode& node) { return texts[index(node, texts.size())]; };
  const JsonNode machine = root.at("machine");
  if (!machine.json().is_object()) machine.refuse("an object of names and text");
  for (const auto& [key, value] : machine.json().items())
    out.machine[key] = JsonNode(value, machine.where()).text();
  for (const JsonNode& each : root.at("flags").list()) out.flags.push_back(each.json());
  std::uint64_t tokens = 0;
  for (const JsonNode& each : root.at("calls").list()) {
    const TraceCall call{each.at("batch").count(kMostTokens), each.at("tokens").count(kMostTokens),
                         each.at("past").count(kMost)};
    tokens += call.batch * call.tokens;
    if (tokens > kMostTokens) each.refuse(fmt::format("calls of up to {} tokens in all", kMostTokens));
    out.calls.push_back(call);
  }
  const std::vector<JsonNode> operations = root.at("operations").list(), tensors = root.at("tensors").list();
  for (const JsonNode& each : tensors)
    out.tensors.push_back(tensor_of(each, operations.size(), tensors.size(), out.rows.size()));
  for (const JsonNode& each : operations) {
    TraceOperation& one = out.operations.emplace_back();
    one.module = text_at(each.at("module"));
    one.kind = text_at(each.at("kind"));
    one.name = text_at(each.at("operator"));
    if (const Json& call = each.at("call").json(); call.is_number_unsigned())
      one.call = index(each.at("call"), out.calls.size());
    one.in = counts(each.at("in"), tensors.size());
    one.out = counts(each.at("out"), tensors.size());
    one.flags = index(each["flags"], out.flags.size());
    one.by_rows = flag(each["by_rows"]);
    one.compiled = flag(each["compiled"]);
    if (each["arguments"].given()) one.arguments = each["arguments"].json();
    if (each["gemm"].given()) one.gemm = gemm_of(each["gemm"]);
    if (each["kernels"].given()) {
      Json kernels = Json::array();
      for (const JsonNode& kernel : each["kernels"].list()) {
        Json named = kernel.json();
        named["name"] = text_at(kernel.at("name"));
        kernels.push_back(std::move(named));
      }
      one.kernels = corpus::library_call_of({{"kernels", kernels}}, each.where()).kernels;
    }
  }
  for (corpus::Tensor& each : read.tensors)
    if (each.name != "trace" && each.name.rfind("rows.", 0) != 0) out.values[each.name] = std::move(each);
  return out;
}

const TraceRow* row_of(const Trace& trace, const TraceTensor& tensor, std::size_t call, TraceToken token) {
  if (tensor.at == kNone) return nullptr;
  const std::uint64_t past = tensor.context || call == kNone ? 0 : trace.calls[call].past;
  if (token.position < past || token.position - past >= tensor.tokens) return nullptr;
  const std::uint64_t entry = tensor.batch == 1 ? 0 : token.entry;
  if (entry >= tensor.batch) return nullptr;
  return &trace.rows[tensor.at + entry * tensor.tokens + token.position - past];
}

}  // namespace mmaudit::checks
