#pragma once
// Inside wmma.mma.m16n16k16 of binary16 on Volta: a warp is eight threadgroups of four lanes, two of them (t
// and t + 4) an octet that computes an 8 x 8 part of D by itself; the instruction is a chain of HMMA.884,
// four sets of four k each, a set in four steps (a sum in binary32) or two (in binary16). Source: Raihan,
// Goli, Aamodt, "Modeling Deep Learning Accelerator Enabled GPUs" (ISPASS 2019), figures 7, 9 and 10, tables
// II and III; accumulators: PTX ISA 9.0, mma.m8n8k4, whose octets these are.
#include <cstdint>
#include <span>
#include <vector>

#include "mmaudit/dot.hpp"
#include "mmaudit/fragment.hpp"

namespace mmaudit::volta {

inline constexpr int kSide = 16;  ///< m, n and k of the tile
inline constexpr int kThreadgroups = 8, kSets = 4, kDepthOfSet = 4;

enum class Layout : std::uint8_t { row, column };

constexpr int octet_of(int threadgroup) { return threadgroup % 4; }

/// A, 16 x 16: rows of a lane's threadgroup, which two threadgroups hold (each feeds its own octet). By rows
/// a lane has a row, by columns four rows of every fourth column.
FragmentMap fragment_a(Layout layout);
/// B, 16 x 16: the same with columns for rows.
FragmentMap fragment_b(Layout layout);
/// C or D, 16 x 16, in a format of 16 or 32 bits: every element once.
FragmentMap fragment_accumulator(Format format);

/// One HMMA.884.
struct Hmma {
  int set = 0, step = 0;
  constexpr bool operator==(const Hmma&) const = default;
};

/// Those of one wmma.mma in the order of issue: 16 with sums in binary32, 8 in binary16.
std::vector<Hmma> schedule(Format sum);

/// What one HMMA adds to in a threadgroup: rows x cols elements of D from (row, col) on.
struct Block {
  int row = 0, col = 0, rows = 0, cols = 0;
};
Block block_of(int threadgroup, const Hmma& hmma, Format sum);

/// What: a warp with its fragments in registers, executed HMMA by HMMA under a datapath for wmma.f16 of
/// m16n16k16 (datapath.products_per_step = 4). Shapes: matrices are 16 x 16, row-major, raw bits. Range:
/// every bit pattern. Rounding: the datapath's. Errors: std::invalid_argument for another instruction or a
/// datapath with other steps. Source: above.
class Warp {
 public:
  Warp(const Instruction& wmma, const Datapath& datapath, Layout a, Layout b);

  void load_a(std::span<const std::uint64_t> matrix);
  void load_b(std::span<const std::uint64_t> matrix);
  void load_c(std::span<const std::uint64_t> matrix);
  /// Sums so far in the format that steps run in; elements that no step has reached are still C.
  void execute(const Hmma& hmma);
  /// D, 16 x 16, row-major: converted where a step's format is not D's.
  [[nodiscard]] std::vector<std::uint64_t> store_d() const;

  [[nodiscard]] std::vector<Hmma> schedule() const { return volta::schedule(spec_.step.output.id); }
  /// A register value of A or B, to be disturbed.
  std::uint64_t& a(int lane, int value) { return a_.at(static_cast<std::size_t>(slot(a_map_, lane, value))); }
  std::uint64_t& b(int lane, int value) { return b_.at(static_cast<std::size_t>(slot(b_map_, lane, value))); }

 private:
  struct Sum {
    std::uint64_t bits = 0;
    bool stepped = false;  ///< false: still C, in C's format
  };
  static int slot(const FragmentMap& map, int lane, int value) { return lane * map.values + value; }
  [[nodiscard]] std::uint64_t held(const FragmentMap& map, const std::vector<std::uint64_t>& registers,
                                   int threadgroup, Coord at) const;

  Instruction instruction_;
  DotSpec spec_;
  FragmentMap a_map_, b_map_;
  std::vector<std::uint64_t> a_, b_;
  std::vector<Sum> sums_;  ///< by element: where it is held says fragment_accumulator()
};

}  // namespace mmaudit::volta
