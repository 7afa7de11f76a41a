#pragma once
// A problem as cuBLASLt is asked for it, and what it answered.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "library/cublas_abi.hpp"
#include "library/data_types.hpp"
#include "mmaudit/device/library.hpp"

namespace mmaudit::device {

inline void require_success(int status, const char* what) {
  if (status != 0) throw EnvironmentError(std::string(what) + ": cuBLAS status " + std::to_string(status));
}

/// Largest power of two, at most 256, that divides an address of cudaMalloc plus these bytes.
inline std::uint32_t alignment_of(std::uint64_t bytes) {
  std::uint32_t out = 256;
  while (bytes % out != 0) out /= 2;
  return out;
}

inline std::uint64_t or_tight(std::uint64_t ld, std::uint64_t tight) { return ld == 0 ? tight : ld; }

/// cuBLASLt refuses a pointer to a scale that is not aligned to 16 bytes.
inline constexpr std::size_t kScaleGap = 4;

inline bool is_scaled(const GemmProblem& x) { return x.scale_a != 1 || x.scale_b != 1; }

/// A problem as the column-major library is asked: its first operand is B, its second A.
struct Request {
  cublas::Owned desc, first, second, c, d, preference;
  std::uint64_t ld_first, ld_second, ld_d;
  int op_first, op_second;
  bool c_is_d = true;  ///< C is read from D; else no C is read, but the library wants a pointer

  explicit Request(const GemmProblem& x)
      : desc(cublas::api().desc_destroy),
        first(cublas::api().layout_destroy),
        second(cublas::api().layout_destroy),
        c(cublas::api().layout_destroy),
        d(cublas::api().layout_destroy),
        preference(cublas::api().preference_destroy),
        ld_first(or_tight(x.ldb, x.transposed_b ? x.k : x.n)),
        ld_second(or_tight(x.lda, x.transposed_a ? x.m : x.k)),
        ld_d(or_tight(x.ldd, x.n)),
        op_first(x.transposed_b ? cublas::kTransposed : cublas::kNormal),
        op_second(x.transposed_a ? cublas::kTransposed : cublas::kNormal) {
    const cublas::Api& lt = cublas::api();
    const bool fp8 = is_fp8(x.type);
    const Compute compute = compute_of(x);
    require_success(lt.desc_create(desc.put(), compute.of_lt, compute.scale), "cublasLtMatmulDescCreate");
    set(cublas::kTransA, op_first);
    set(cublas::kTransB, op_second);
    if (fp8) set(cublas::kFastAccum, static_cast<std::int8_t>(x.fast_accum ? 1 : 0));
    const auto signed_of = [](std::uint64_t ld) { return static_cast<std::int64_t>(ld); };
    require_success(lt.layout_create(first.put(), data_type(b_type_of(x)), x.transposed_b ? x.k : x.n,
                                     x.transposed_b ? x.n : x.k, signed_of(ld_first)),
                    "layout of B");
    require_success(lt.layout_create(second.put(), data_type(x.type), x.transposed_a ? x.m : x.k,
                                     x.transposed_a ? x.k : x.m, signed_of(ld_second)),
                    "layout of A");
    require_success(lt.layout_create(d.put(), data_type(output_of(x)), x.n, x.m, signed_of(ld_d)),
                    "layout of D");
    const Format of_d = output_of(x);  // C of a D in FP8, which beta leaves out, is a bf16 matrix
    c_is_d = spec_of(of_d).storage_bytes() != 1;
    const Format of_c = c_is_d ? of_d : Format::bf16;
    require_success(lt.layout_create(c.put(), data_type(of_c), x.n, x.m, signed_of(ld_d)), "layout of C");
    if (x.batch != 1) {
      const GemmStrides strides = strides_of(x);
      set_batch(first, x.batch, strides.b);
      set_batch(second, x.batch, strides.a);
      set_batch(c, x.batch, strides.d);
      set_batch(d, x.batch, strides.d);
    }
    require_success(lt.preference_create(preference.put()), "cublasLtMatmulPreferenceCreate");
    prefer(cublas::kMaxWorkspace, x.workspace);
    const auto bytes = [](Format format, std::uint64_t count) {
      return count * spec_of(format).storage_bytes();
    };
    const GemmStrides strides = strides_of(x);
    const auto alignment = [&](Format format, std::uint64_t offset, std::uint64_t stride) {
      return std::min(alignment_of(bytes(format, offset)), alignment_of(bytes(format, stride)));
    };
    prefer(cublas::kAlignA, alignment(b_type_of(x), x.offset_b, strides.b));
    prefer(cublas::kAlignB, alignment(x.type, x.offset_a, strides.a));
    prefer(cublas::kAlignC, alignment(output_of(x), x.offset_d, strides.d));
    prefer(cublas::kAlignD, alignment(output_of(x), x.offset_d, strides.d));
  }

  /// Pointers to the GPU: the bias, and the scales of the first and the second operand, kScaleGap apart. Null
  /// ones do for questions about the algorithm.
  void finish(const GemmProblem& x, const void* bias, const float* scales) {
    if (is_scaled(x)) {
      set(cublas::kScaleA, scales);
      set(cublas::kScaleB, scales == nullptr ? nullptr : scales + kScaleGap);
    }
    const int activation = x.activation == GemmActivation::relu   ? cublas::kRelu
                           : x.activation == GemmActivation::gelu ? cublas::kGelu
                                                                  : 0;
    const int what = activation + (x.bias ? cublas::kAddBias : 0);
    if (what == 0) return;
    set(cublas::kEpilogue, what);
    if (!x.bias) return;
    set(cublas::kBias, bias);
    set(cublas::kBiasType, static_cast<int>(data_type(bias_type_of(x))));
  }

  /// The heuristic's list, of at most `most` algorithms.
  [[nodiscard]] std::vector<cublas::HeuristicResult> list(cublas::Handle handle, std::uint64_t most,
                                                          int& status) const {
    std::vector<cublas::HeuristicResult> out(most);
    int found = 0;
    status = cublas::api().lt_heuristic(handle, desc.get(), first.get(), second.get(), c.get(), d.get(),
                                        preference.get(), static_cast<int>(most), out.data(), &found);
    out.resize(status == 0 ? static_cast<std::size_t>(found) : 0);
    return out;
  }

 private:
  static void set_batch(const cublas::Owned& layout, std::uint64_t count, std::uint64_t stride) {
    const auto matrices = static_cast<std::int32_t>(count);
    const auto elements = static_cast<std::int64_t>(stride);
    require_success(
        cublas::api().layout_set(layout.get(), cublas::kBatchCount, &matrices, sizeof matrices) |
            cublas::api().layout_set(layout.get(), cublas::kBatchStride, &elements, sizeof elements),
        "the batch of a layout");
  }
  template <typename T>
  void set(int attribute, T value) {
    require_success(cublas::api().desc_set(desc.get(), attribute, &value, sizeof value),
                    "cublasLtMatmulDesc");
  }
  template <typename T>
  void prefer(int attribute, T value) {
    require_success(cublas::api().preference_set(preference.get(), attribute, &value, sizeof value),
                    "cublasLtMatmulPreference");
  }
};

/// A problem with all that was learnt by asking for it, for each of its algorithms.
struct Asked {
  explicit Asked(const GemmProblem& x) : problem(x), request(x) {}

  /// The algorithm at this place of the list; NoAlgorithm where the list is shorter.
  cublas::HeuristicResult chosen(cublas::Handle handle, std::uint64_t algorithm) {
    constexpr std::uint64_t kListed = 8;  // who asks for a second one asks for more
    if (algorithm >= list.size() && (list.size() == most || most == 0)) {
      most = algorithm == 0 ? 1 : std::max(kListed, algorithm + 1);
      list = request.list(handle, most, status);
    }
    if (algorithm < list.size()) return list[algorithm];
    throw NoAlgorithm("cuBLASLt has " + std::to_string(list.size()) + " algorithms for " + name_of(problem) +
                      " (status " + std::to_string(status) + ")");
  }

  GemmProblem problem;  ///< with algorithm 0
  Request request;
  std::vector<cublas::HeuristicResult> list;
  std::uint64_t most = 0;  ///< algorithms that were asked for
  int status = 0;
  std::map<std::uint64_t, LibraryCall> calls;
};

}  // namespace mmaudit::device
