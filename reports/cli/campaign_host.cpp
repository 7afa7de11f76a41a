#include <algorithm>

#include "campaign_worker.hpp"
#include "mmaudit/arithmetic/sparse.hpp"
#include "mmaudit/dot.hpp"
#include "mmaudit/matmul.hpp"
#include "mmaudit/raw_words.hpp"

namespace mmaudit::cli {
namespace {

constexpr std::uint64_t kDotsOfChunk = std::uint64_t{1} << 12, kProductsOfStretch = std::uint64_t{1} << 21;

using Bytes = std::vector<std::byte>;

struct Sizes {
  explicit Sizes(const Instruction& inst)
      : m(static_cast<std::uint64_t>(inst.m)),
        n(static_cast<std::uint64_t>(inst.n)),
        k(static_cast<std::uint64_t>(inst.k)),
        stored(static_cast<std::uint64_t>(inst.stored_k())),
        side(m * n < 1024 ? 4 : 2) {}
  [[nodiscard]] std::uint64_t rows() const { return side * m; }
  [[nodiscard]] std::uint64_t columns() const { return side * n; }
  [[nodiscard]] std::uint64_t square() const { return rows() * columns(); }
  [[nodiscard]] std::uint64_t squares() const { return std::max<std::uint64_t>(1, kDotsOfChunk / square()); }

  std::uint64_t m, n, k, stored;
  /// Tiles of A, B and C that make side * side of D: four of the narrowest fill the vectors of the quick
  /// path.
  std::uint64_t side;
};

/// One square: `side` tiles of A, B and C each and what meets where. A is (rows, stored k), B (k, columns), C
/// and D (rows, columns).
class HostSquare {
 public:
  explicit HostSquare(const CampaignInstruction& one)
      : instruction_(one.instruction),
        size_(one.instruction),
        plays_(one.plays->datapath),
        plan_(make_plan(one.instruction, one.entry->datapath)),
        generator_(gen::make_generator_plan(one.instruction, one.entry->datapath)),
        a_bytes_(plan_.a.storage_bytes()),
        b_bytes_(plan_.b.storage_bytes()),
        c_bytes_(plan_.step.addend.storage_bytes()),
        d_bytes_(plan_.d.storage_bytes()),
        vectors_(fast_serves(one.instruction, plays_)),
        a_(size_.rows() * size_.stored * a_bytes_),
        b_(size_.columns() * size_.k * b_bytes_),
        c_(size_.square() * c_bytes_),
        d_(size_.square() * d_bytes_),
        metadata_(is_sparse(instruction_.op) ? size_.rows() * size_.stored : 0),
        a_words_(size_.rows() * size_.stored),
        b_words_(size_.columns() * size_.k) {}

  void check(gen::Family family, std::uint64_t seed, std::uint64_t square, device::StretchResult& into) {
    generate(family, seed, square);
    std::fill(d_.begin(), d_.end(), std::byte{0xA5});  // an element that is not written is to be seen
    if (vectors_)
      by_matmul();
    else
      by_tiles();
    for (std::uint64_t i = 0; i < size_.rows(); ++i)
      for (std::uint64_t j = 0; j < size_.side * size_.n; ++j) compare(family, square, i, j, into);
    into.dots += size_.square();
  }

 private:
  void generate(gen::Family family, std::uint64_t seed, std::uint64_t square) {
    const auto shape = gen::tile_shape(generator_, family, seed, square);
    const auto bits = [&](gen::Matrix which, std::uint64_t tile, std::uint64_t row, std::uint64_t column) {
      return gen::generate(generator_, family, seed, which, square * size_.side + tile, static_cast<int>(row),
                           static_cast<int>(column), square, shape);
    };
    for (std::uint64_t i = 0; i < size_.rows(); ++i) {
      for (std::uint64_t k = 0; k < size_.stored; ++k) {
        std::uint64_t& word = a_words_[i * size_.stored + k];
        word = bits(gen::Matrix::a, i / size_.m, i % size_.m, k);
        store_word(a_.data(), a_bytes_, i * size_.stored + k, word);
      }
    }
    for (std::uint64_t k = 0; k < size_.k; ++k) {
      for (std::uint64_t j = 0; j < size_.columns(); ++j) {
        std::uint64_t& word = b_words_[j * size_.k + k];
        word = bits(gen::Matrix::b, j / size_.n, k, j % size_.n);
        store_word(b_.data(), b_bytes_, k * size_.columns() + j, word);
      }
    }
    for (std::uint64_t i = 0; i < size_.rows(); ++i)
      for (std::uint64_t j = 0; j < size_.columns(); ++j)
        store_word(c_.data(), c_bytes_, i * size_.columns() + j,
                   bits(gen::Matrix::c, addend_tile(i / size_.m, j / size_.n), i % size_.m, j % size_.n));
    for (std::size_t at = 0; at < metadata_.size(); ++at)
      metadata_[at] = gen::generate_metadata(
          generator_, family, seed, square * size_.side + at / (size_.m * size_.stored),
          static_cast<int>(at / size_.stored % size_.m), static_cast<int>(at % size_.stored), square);
  }

  /// Equal numbers of tile meet on the diagonal, as the families whose A, B and C belong together want it;
  /// elsewhere every tile of C comes up once a row.
  [[nodiscard]] std::uint64_t addend_tile(std::uint64_t a, std::uint64_t b) const {
    return (a + 3 * (b + size_.side - a)) % size_.side;
  }

  void by_matmul() {
    Matmul product;
    product.m = size_.rows();
    product.n = size_.columns();
    product.k = size_.k;
    product.a = a_.data();
    product.b = b_.data();
    product.c = c_.data();
    product.d = d_.data();
    matmul(instruction_, plays_, product);
  }

  /// Tile by tile, as emulate() takes them.
  void by_tiles() {
    Bytes b(size_.k * size_.n * b_bytes_), c(size_.m * size_.n * c_bytes_), d(size_.m * size_.n * d_bytes_);
    const auto copy = [](void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); };
    for (std::uint64_t tile = 0; tile < size_.side * size_.side; ++tile) {
      const std::uint64_t top = tile / size_.side * size_.m, left = tile % size_.side * size_.n;
      for (std::uint64_t k = 0; k < size_.k; ++k)
        copy(&b[k * size_.n * b_bytes_], &b_[(k * size_.columns() + left) * b_bytes_], size_.n * b_bytes_);
      for (std::uint64_t i = 0; i < size_.m; ++i)
        copy(&c[i * size_.n * c_bytes_], &c_[((top + i) * size_.columns() + left) * c_bytes_],
             size_.n * c_bytes_);
      std::fill(d.begin(), d.end(), std::byte{0xA5});
      emulate(instruction_, plays_,
              {.tiles = 1,
               .a = &a_[top * size_.stored * a_bytes_],
               .b = b.data(),
               .c = c.data(),
               .d = d.data(),
               .metadata = metadata_.empty() ? nullptr : &metadata_[top * size_.stored]});
      for (std::uint64_t i = 0; i < size_.m; ++i)
        copy(&d_[((top + i) * size_.columns() + left) * d_bytes_], &d[i * size_.n * d_bytes_],
             size_.n * d_bytes_);
    }
  }

  void compare(gen::Family family, std::uint64_t square, std::uint64_t i, std::uint64_t j,
               device::StretchResult& into) const {
    const Strided<std::uint64_t> a{&a_words_[i * size_.stored]}, b{&b_words_[j * size_.k]};
    const std::uint64_t element = i * size_.columns() + j, c = load_word(c_.data(), c_bytes_, element);
    const std::uint64_t played = load_word(d_.data(), d_bytes_, element);
    std::uint64_t model = 0;
    if (metadata_.empty())
      model = dot(plan_, a, b, c, 0);
    else
      model = dot(plan_, a,
                  Gathered<Strided<std::uint64_t>>{plan_.sparsity, plan_.datapath.metadata, plan_.b,
                                                   &metadata_[i * size_.stored], b},
                  c, 0);
    if (played == model) return;
    ++into.mismatches;
    if (into.first.size() == device::kMostMismatchesKept) return;
    device::Mismatch found{.family = family,
                           .tile = square * size_.side * size_.side + i / size_.m * size_.side + j / size_.n,
                           .row = static_cast<int>(i % size_.m),
                           .col = static_cast<int>(j % size_.n),
                           .a = {},
                           .b = {},
                           .c = c,
                           .d_hardware = played,
                           .d_model = model,
                           .metadata = {}};
    for (int k = 0; k < instruction_.stored_k(); ++k) found.a.push_back(a(k));
    for (int k = 0; k < instruction_.k; ++k) found.b.push_back(b(k));
    if (!metadata_.empty())
      found.metadata.assign(&metadata_[i * size_.stored], &metadata_[i * size_.stored] + size_.stored);
    into.first.push_back(std::move(found));
  }

  Instruction instruction_;
  Sizes size_;
  Datapath plays_;
  DotPlan plan_;
  gen::GeneratorPlan generator_;
  std::size_t a_bytes_, b_bytes_, c_bytes_, d_bytes_;
  bool vectors_;
  Bytes a_, b_, c_, d_;
  std::vector<std::uint8_t> metadata_;
  std::vector<std::uint64_t> a_words_, b_words_;  ///< rows of A and columns of B as dot() reads them
};

class HostWorker final : public CampaignWorker {
 public:
  device::StretchResult run(const CampaignInstruction& one, const device::Stretch& stretch) override {
    HostSquare square(one);
    const std::uint64_t squares = Sizes(one.instruction).squares();
    device::StretchResult result;
    for (std::uint64_t i = stretch.first_chunk * squares;
         i < (stretch.first_chunk + stretch.chunks) * squares; ++i)
      square.check(stretch.family, stretch.seed, i, result);
    return result;
  }
};

}  // namespace

CampaignWorkerMaker host_worker() {
  return [] { return std::make_unique<HostWorker>(); };
}

CampaignInstruction host_instruction(const Instruction& instruction, const DatapathEntry& entry,
                                     const DatapathEntry& plays) {
  const Sizes size(instruction);
  return {.instruction = instruction,
          .entry = &entry,
          .engine = fast_serves(instruction, plays.datapath) ? "vectors" : "tiles",
          .chunk = size.square() * size.squares(),
          .stretch = kProductsOfStretch / size.k,
          .plays = &plays};
}

Backend quick_model(const Architecture& architecture) {
  Backend backend = model_backend(architecture);
  backend.run = [run = backend.run, &architecture](const Instruction& inst, const TileView& batch) {
    const Datapath& datapath = find_datapath(architecture, inst)->datapath;
    const bool modified =
        batch.modifiers != nullptr &&
        std::any_of(batch.modifiers, batch.modifiers + batch.tiles, [](std::uint8_t x) { return x != 0; });
    if (modified || !fast_serves(inst, datapath)) return run(inst, batch);
    Matmul product;
    product.batch = batch.tiles;
    product.m = static_cast<std::uint64_t>(inst.m);
    product.n = static_cast<std::uint64_t>(inst.n);
    product.k = static_cast<std::uint64_t>(inst.k);
    product.a = batch.a;
    product.b = batch.b;
    product.c = batch.c;
    product.d = batch.d;
    matmul(inst, datapath, product);
  };
  return backend;
}

}  // namespace mmaudit::cli
