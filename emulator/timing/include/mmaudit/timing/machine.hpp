#pragma once
// GPUs as data for the timing model: one file per machine in emulator/timing/machines/, which the build puts
// into the program. Each number says how it is known and where it comes from. Behaviour code never names a
// machine.
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/model/architecture.hpp"
#include "mmaudit/model/instruction.hpp"

namespace mmaudit::timing {

// X(enumerator, name, unit, meaning)
#define MMAUDIT_TIMING_PARAMETERS(X)                                                                         \
  X(rate_f16_f16, "tensor.rate.f16_f16", "FMA/clk/sub-core",                                                 \
    "multiply-adds of 16-bit operands, sums of 16 bits")                                                     \
  X(rate_f16_f32, "tensor.rate.f16_f32", "FMA/clk/sub-core",                                                 \
    "multiply-adds of 16-bit operands, sums of 32 bits")                                                     \
  X(rate_tf32, "tensor.rate.tf32", "FMA/clk/sub-core", "multiply-adds of TF32")                              \
  X(rate_fp8_f16, "tensor.rate.fp8_f16", "FMA/clk/sub-core", "multiply-adds of FP8 by mma, sums of 16 bits") \
  X(rate_fp8_f32, "tensor.rate.fp8_f32", "FMA/clk/sub-core", "the same, sums of 32 bits")                    \
  X(rate_int8, "tensor.rate.int8", "FMA/clk/sub-core", "multiply-adds of 8-bit operands")                    \
  X(rate_int4, "tensor.rate.int4", "FMA/clk/sub-core", "multiply-adds of 4-bit operands")                    \
  X(rate_bits, "tensor.rate.bits", "FMA/clk/sub-core", "multiply-adds of single bits")                       \
  X(rate_bits_xor, "tensor.rate.bits_xor", "FMA/clk/sub-core", "the same with XOR in place of AND")          \
  X(rate_f64, "tensor.rate.f64", "FMA/clk/sub-core", "multiply-adds of binary64")                            \
  X(interval_narrow, "tensor.interval.narrow", "cycles",                                                     \
    "least time between two mma whose A takes one or two registers")                                         \
  X(interval_wide, "tensor.interval.wide", "cycles",                                                         \
    "least time between two mma whose A takes four registers")                                               \
  X(interval_sparse_narrow, "tensor.interval.sparse_narrow", "cycles",                                       \
    "the same for mma.sp, A in two registers")                                                               \
  X(interval_sparse_wide, "tensor.interval.sparse_wide", "cycles",                                           \
    "the same for mma.sp, A in four registers")                                                              \
  X(latency_tiny, "tensor.latency.tiny", "cycles", "from an mma of 8 x 8 to one that adds to its D")         \
  X(latency_narrow, "tensor.latency.narrow", "cycles", "the same, 16 x 8, A in one or two registers")        \
  X(latency_wide, "tensor.latency.wide", "cycles", "the same, A in four registers")                          \
  X(interval_f64, "tensor.interval.f64", "cycles", "least time between two mma of binary64")                 \
  X(latency_f64, "tensor.latency.f64", "cycles", "the same for binary64, beyond the time the unit is taken") \
  X(turnaround, "tensor.turnaround", "cycles",                                                               \
    "between two mma of which the second adds to the D of the first, beyond the interval")                   \
  X(gap_tiny, "plan.gap.tiny", "cycles", "that the compiler leaves between independent mma of 8 x 8")        \
  X(gap_narrow, "plan.gap.narrow", "cycles", "the same, 16 x 8, A in one or two registers")                  \
  X(gap_wide, "plan.gap.wide", "cycles", "the same, A in four registers")                                    \
  X(gap_sparse_narrow, "plan.gap.sparse_narrow", "cycles",                                                   \
    "the same for mma.sp, A in two registers; 0: as dense")                                                  \
  X(gap_sparse_wide, "plan.gap.sparse_wide", "cycles",                                                       \
    "the same for mma.sp, A in four registers; 0: as dense")                                                 \
  X(loop_tail, "plan.loop_tail", "cycles",                                                                   \
    "of a loop's counter, comparison and branch after the last instruction")                                 \
  X(tensor_queue, "tensor.queue", "entries",                                                                 \
    "mma that wait in front of the unit without holding up their warp")                                      \
  X(step_interval_f32, "step.interval.f32", "cycles",                                                        \
    "between two steps of a set of Volta's wmma, sums of 32 bits")                                           \
  X(step_interval_f16, "step.interval.f16", "cycles", "the same, sums of 16 bits")                           \
  X(step_latency_f32, "step.latency.f32", "cycles",                                                          \
    "from a step of Volta's wmma to its result, sums of 32 bits")                                            \
  X(step_latency_f16, "step.latency.f16", "cycles", "the same, sums of 16 bits")                             \
  X(clock_cost, "clock.cost", "cycles",                                                                      \
    "between two readings of the clock, beyond the instructions between them")                               \
  X(wgmma_rate, "wgmma.rate", "FMA/clk/sub-core", "multiply-adds of 16-bit operands by wgmma")               \
  X(wgmma_floor, "wgmma.floor", "cycles", "least time of a wgmma with A in registers")                       \
  X(wgmma_floor_sparse, "wgmma.floor_sparse", "cycles", "least time of a wgmma.sp with A in registers")      \
  X(wgmma_floor_sparse_short, "wgmma.floor_sparse_short", "cycles", "the same at N = 8, or D of 16 bits")    \
  X(shared_latency, "shared.latency", "cycles", "of a load of shared memory, beyond its wavefronts")         \
  X(shared_subcore, "shared.subcore", "cycles", "per wavefront, one sub-core alone")                         \
  X(shared_store, "shared.store", "cycles", "between two stores of a sub-core, at least")                    \
  X(shared_read, "shared.read", "cycles", "from an access until what it reads may be written")               \
  X(shared_sm, "shared.sm", "cycles", "per wavefront, all sub-cores together")                               \
  X(shared_queue, "shared.queue", "entries", "loads that wait in a sub-core")                                \
  X(shared_wide, "shared.wide", "cycles", "per further register that a lane loads, ldmatrix excepted")       \
  X(shared_bytes, "shared.bytes", "bytes/clk/SM", "that a wavefront moves")                                  \
  X(alu_interval, "alu.interval", "cycles", "between two integer or logic instructions")                     \
  X(fma_interval, "fma.interval", "cycles", "between two conversions of packed formats")                     \
  X(add_interval, "fma.add", "cycles",                                                                       \
    "between two additions or multiply-adds of binary16 or 32; 0: as fma.interval")                          \
  X(half_interval, "fma.half", "cycles", "between two multiply-adds of two binary16 (HFMA2); 0: as fma.add") \
  X(result_interval, "fma.result", "cycles",                                                                 \
    "of the unit of additions and conversions that an mma takes per register of its D")                      \
  X(matrix_write, "tensor.ldmatrix", "cycles",                                                               \
    "of the tensor unit that ldmatrix takes, per register that it loads and register of D")                  \
  X(special_interval, "special.interval", "cycles", "between two of POPC, MUFU and conversions to integers") \
  X(special_latency, "special.latency", "cycles",                                                            \
    "of MUFU, POPC and the like, to an instruction that waits")                                              \
  X(fixed_latency, "alu.latency", "cycles", "of an integer or binary32 instruction")                         \
  X(register_window, "register.window", "cycles",                                                            \
    "in which an instruction reads its registers, one per bank and cycle; 0: not modelled")                  \
  X(integer_window, "register.integer", "cycles", "the same, of an integer or logic instruction")            \
  X(matrix_reads, "register.matrix", "cycles",                                                               \
    "that an mma keeps a bank beyond one per register that it reads; 0: its reads are not modelled")         \
  X(constant_cold, "constant.cold", "cycles", "of the first constant that a kernel loads after the clock")   \
  X(branch_taken, "branch.taken", "cycles", "of a taken branch beyond its control word")                     \
  X(branch_least, "branch.least", "cycles", "from a taken branch to the next instruction, at least")         \
  X(branch_call, "branch.call", "cycles", "of a call and its return beyond their control words")             \
  X(call_interval, "branch.interval", "cycles", "of the integer unit that a call or a return takes")         \
  X(l1_latency, "l1.latency", "cycles", "of a load that hits L1")                                            \
  X(l1_ways, "l1.ways", "lines",                                                                             \
    "of each of the four sets of L1 where a kernel asks for all of shared memory")                           \
  X(l1_life, "l1.life", "misses",                                                                            \
    "of its set in which a line that no load uses is thrown out, by chance; at most l1.ways")                \
  X(l1_hash_low, "l1.hash.low", "bits", "of an address whose parity is the lower bit of its set in L1")      \
  X(l1_hash_high, "l1.hash.high", "bits", "of an address whose parity is the upper bit of its set in L1")    \
  X(l2_latency, "l2.latency", "cycles", "of a load that hits L2")                                            \
  X(l2_several, "l2.several", "cycles", "the same, more if it asks for several lines")                       \
  X(dram_latency, "dram.latency", "cycles", "of most accesses that miss L2")                                 \
  X(l1_bytes, "l1.bytes", "bytes/clk/SM", "that L1 delivers")                                                \
  X(l2_bytes, "l2.bytes", "bytes/clk/GPU", "that L2 delivers")                                               \
  X(dram_bytes, "dram.bytes", "bytes/clk/GPU", "that memory delivers")                                       \
  X(dram_access, "dram.access", "sectors", "of 32 bytes that a miss of L2 brings")                           \
  X(kernel_multiprocessors, "l2.sms", "SMs", "of the GPU that the numbers of L2 and memory are of")          \
  X(l2_port, "l2.port", "bytes/clk/SM", "that one multiprocessor alone reads from L2")                       \
  X(l2_capacity, "l2.capacity", "MiB", "that may be used between two uses of a line, and all of it hits")    \
  X(store_bytes, "l2.store", "bytes/clk/SM", "that a multiprocessor stores")                                 \
  X(barrier_latency, "barrier.latency", "cycles", "from the last arrival at a barrier of the block on")      \
  X(barrier_warp, "barrier.warp", "cycles", "the same, more per warp of the block")                          \
  X(block_launch, "block.launch", "cycles", "from the end of a block to the start of the next in its place") \
  X(block_apart, "block.apart", "cycles",                                                                    \
    "between the starts of two blocks that a multiprocessor gets first")                                     \
  X(partial_store, "store.partial", "cycles",                                                                \
    "that a store takes more per line where it fills sectors in part")                                       \
  X(generic_access, "shared.generic", "cycles",                                                              \
    "that an access to shared memory takes more by an address that could be of any memory")                  \
  X(line_passes, "l1.lines", "lines/clk", "of 128 bytes that a load looks up")                               \
  X(load_passes, "l1.fill", "cycles",                                                                        \
    "of the pipe of shared memory that 128 bytes take on their way into L1")                                 \
  X(copy_passes, "l1.copy", "cycles", "of the pipe of shared memory that 128 bytes of cp.async take")        \
  X(warps_of_sm, "sm.warps", "warps", "that a multiprocessor holds")                                         \
  X(multiprocessors, "sm.count", "SMs", "multiprocessors")                                                   \
  X(clock_mhz, "clock", "MHz", "that the published rates of the whole GPU were held at")

enum class Parameter : std::uint8_t {
#define MMAUDIT_ENUMERATOR(ENUMERATOR, ...) ENUMERATOR,
  MMAUDIT_TIMING_PARAMETERS(MMAUDIT_ENUMERATOR)
#undef MMAUDIT_ENUMERATOR
};
#define MMAUDIT_ONE(...) +1  // NOLINT(bugprone-macro-parentheses): the terms of a sum
inline constexpr std::size_t kParameters = MMAUDIT_TIMING_PARAMETERS(MMAUDIT_ONE);
#undef MMAUDIT_ONE

struct ParameterText {
  std::string_view name, unit, meaning;
};
/// Name, unit and meaning of each parameter, in order.
std::span<const ParameterText> parameter_texts();
std::optional<Parameter> find_parameter(std::string_view name);

/// How a number is known. `fitted`: chosen so that cells of the tables named as its source come out; those
/// cells prove nothing about the model.
enum class Known : std::uint8_t { measured, published, compiler, fitted };
std::string_view name_of(Known known);

struct Number {
  Parameter parameter;
  double value = 0;
  Known known = Known::fitted;
  std::string_view source;
};

/// Who sees to it that an instruction waits for another one's result.
enum class Dependences : std::uint8_t {
  control_words,  ///< the compiler: stall counts and barriers in each instruction
  scoreboard,     ///< the hardware: registers under way are not read (RAW) and not written (WAW)
};

struct Machine {
  std::string_view name;                      ///< what listings print
  std::string_view gpu;                       ///< what was measured
  std::span<const std::string_view> aliases;  ///< accepted besides the name
  std::string_view generation;                ///< the architecture whose arithmetic it has, by name
  std::span<const Number> numbers;
  std::string_view loop = "paper";    ///< that instructions are timed in unless told, by chain.hpp's name
  bool stands_for_generation = true;  ///< the names of its generation mean this machine: "ampere", "sm_80"
  std::array<double, kParameters> overridden{};  ///< by a file of the user; used where `is_overridden`
  std::array<bool, kParameters> is_overridden{};

  [[nodiscard]] const Architecture& architecture() const { return *find_architecture(generation); }
  /// Name and aliases, and those of its generation for its own compute capability where it stands for that.
  [[nodiscard]] std::vector<std::string_view> names() const;
  /// 0 where the machine has no such number.
  [[nodiscard]] double operator[](Parameter parameter) const;
  [[nodiscard]] int cycles(Parameter parameter) const { return static_cast<int>((*this)[parameter]); }
};

/// Every machine, oldest first. Lines of a file: gpu, alias, generation and loop; like: all numbers of
/// another machine, which stands for the generation; numbers: a parameter's name, its value, how it is known,
/// its source. Of what tensor_cores.hpp documents, the second column is the type and the last says
/// asynchronous where wgmma is meant. Errors: logic_error with the line, which a test would find.
std::span<const Machine> machines();

/// By name or alias ("hopper", "sm_90a", "h200", "a100"), case-insensitive; null when unknown.
const Machine* find_machine(std::string_view name);

/// What one matrix instruction costs on a machine.
struct MatrixCost {
  int interval2 = 0;                                      ///< half cycles between two in the unit
  double interval = 0;                                    ///< the same in cycles, not rounded; 0: interval2
  int latency = 0;                                        ///< cycles to an instruction that adds to its D
  int gap = 0;                                            ///< cycles that the compiler leaves between two
  int a_registers = 0, b_registers = 0, d_registers = 0;  ///< of a lane
};

/// What: the cost of mma, mma.sp, wgmma, wgmma.sp and wmma as one SASS instruction. Range: with `n` filled
/// in. Errors: nullopt where the machine has no unit for it.
std::optional<MatrixCost> cost_of(const Machine& machine, const Instruction& instruction,
                                  bool a_from_registers = false);

/// The name of the number that cost_of() lacks on this machine; empty where no number would do.
std::string_view missing_number(const Machine& machine, const Instruction& instruction);

}  // namespace mmaudit::timing
