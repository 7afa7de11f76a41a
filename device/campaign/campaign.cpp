#include "mmaudit/device/campaign.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <tuple>

#include "campaign/campaign_kernels.hpp"
#include "campaign/tile_reader.hpp"
#include "run/device_batch.hpp"

namespace mmaudit::device {
namespace {

constexpr std::size_t kBatchBytes = std::size_t{512} << 20;

/// Buffers and plans of one check.
class Campaign {
 public:
  Campaign(const DeviceInfo& device, const Instruction& instruction, const Datapath& datapath,
           const CheckOptions& options)
      : device_(device),
        instruction_(instruction),
        options_(options),
        kernel_(require_kernel(device, instruction, options.modifiers)),
        plan_(make_plan(instruction, datapath)),
        generator_(gen::make_generator_plan(instruction, datapath)),
        bytes_(instruction),
        dots_per_tile_(static_cast<std::uint64_t>(instruction.m) * static_cast<std::uint64_t>(instruction.n)),
        families_(options.family == kEveryFamily ? static_cast<std::uint64_t>(gen::kFamilies) : 1),
        tiles_(std::max<std::uint64_t>(1, (options.dots / families_ + dots_per_tile_ - 1) / dots_per_tile_)),
        most_(std::min<std::uint64_t>(tiles_,
                                      std::max<std::size_t>(1, kBatchBytes / (bytes_.all() + bytes_.d)))),
        a_(most_ * bytes_.a),
        b_(most_ * bytes_.b),
        c_(most_ * bytes_.c),
        metadata_(most_ * bytes_.metadata),
        hardware_(most_ * bytes_.d),
        model_(most_ * bytes_.d),
        total_(sizeof(unsigned long long)),
        found_(kMostMismatchesKept * sizeof(std::uint64_t)) {}

  CheckResult run() {
    CheckResult result;
    for (int family = 0; family < gen::kFamilies; ++family) {
      if (options_.family != kEveryFamily && options_.family != family) continue;
      FamilyResult& counts = result.families.emplace_back();
      counts.family = static_cast<gen::Family>(family);
      for (std::uint64_t first = 0; first < tiles_; first += most_)
        run_chunk(counts, first, static_cast<std::uint32_t>(std::min(most_, tiles_ - first)), result.first);
      result.dots += counts.dots;
      result.mismatches += counts.mismatches;
    }
    return result;
  }

 private:
  void run_chunk(FamilyResult& counts, std::uint64_t first, std::uint32_t count,
                 std::vector<Mismatch>& kept) {
    KernelArgs args{.a = a_.data(),
                    .b = b_.data(),
                    .c = c_.data(),
                    .d = hardware_.data(),
                    .metadata = metadata_.data<std::uint8_t>(),
                    .tiles = count,
                    .n = instruction_.n,
                    .modifiers = options_.modifiers};
    const TileExtents extents = extents_of(instruction_);
    launch_generate(generator_, counts.family, options_.seed, first, extents, args, a_.data(), b_.data(),
                    c_.data(), metadata_.data<std::uint8_t>());
    cuda_check(cudaGetLastError(), "launching the generator");
    // Different fillings: an element that neither side writes is a mismatch too.
    cuda_check(cudaMemset(hardware_.data(), 0xA5, count * bytes_.d), "clearing the output");
    cuda_check(cudaMemset(model_.data(), 0x5A, count * bytes_.d), "clearing the output");
    cuda_check(cudaMemset(total_.data(), 0, sizeof(unsigned long long)), "clearing the counter");
    launch(device_, kernel_, args);
    args.d = model_.data();
    launch_model(plan_, extents, args, nullptr);
    cuda_check(cudaGetLastError(), "launching the model");
    launch_compare(hardware_.data(), model_.data(), plan_.d.storage_bits / 8, count * dots_per_tile_,
                   total_.data<unsigned long long>(), found_.data<std::uint64_t>(),
                   static_cast<unsigned>(kMostMismatchesKept));
    cuda_check(cudaGetLastError(), "launching the comparison");
    cuda_check(cudaDeviceSynchronize(), "running a chunk of the check");
    unsigned long long total = 0;
    copy_out(&total, total_.data(), sizeof(total));
    counts.dots += count * dots_per_tile_;
    counts.mismatches += total;
    args.d = hardware_.data();
    keep(args, counts.family, first, std::min<std::uint64_t>(total, kMostMismatchesKept), kept);
  }

  void keep(const KernelArgs& args, gen::Family family, std::uint64_t first, std::uint64_t recorded,
            std::vector<Mismatch>& kept) const {
    if (kept.size() == kMostMismatchesKept || recorded == 0) return;
    std::vector<std::uint64_t> elements(recorded);
    copy_out(elements.data(), found_.data(), recorded * sizeof(std::uint64_t));
    std::sort(elements.begin(), elements.end());
    for (const std::uint64_t element : elements) {
      if (kept.size() == kMostMismatchesKept) return;
      const std::uint64_t tile = element / dots_per_tile_, within = element % dots_per_tile_;
      Mismatch& one =
          kept.emplace_back(read_back(instruction_, plan_, args, {tile, tile, tile, tile}, within));
      one.family = family;
      one.tile = first + tile;
      one.d_model = TileReader(model_.data(), bytes_.d, tile, plan_.d.storage_bytes())[within];
    }
  }

  DeviceInfo device_;
  Instruction instruction_;
  CheckOptions options_;
  const KernelRow& kernel_;
  DotPlan plan_;
  gen::GeneratorPlan generator_;
  TileBytes bytes_;
  std::uint64_t dots_per_tile_, families_;
  std::uint64_t tiles_;  ///< of each family
  std::uint64_t most_;   ///< tiles of a chunk
  Buffer a_, b_, c_, metadata_, hardware_, model_, total_, found_;
};

}  // namespace

CheckResult check(const DeviceInfo& device, const Instruction& instruction, const Datapath& datapath,
                  const CheckOptions& options) {
  return Campaign(device, instruction, datapath, options).run();
}

void emulate_on_device(const DeviceInfo& device, const Instruction& instruction, const Datapath& datapath,
                       const TileView& batch) {
  if (batch.tiles == 0) return;
  require_metadata(instruction, batch);
  cuda_check(cudaSetDevice(device.ordinal), "selecting the device");
  const DotPlan plan = make_plan(instruction, datapath);
  DeviceBatch on_device(instruction, batch);
  const Buffer bytes(on_device.most());
  on_device.for_each_chunk([&](const KernelArgs& args, const std::uint8_t* modifiers) {
    if (modifiers != nullptr) copy_in(bytes.data(), modifiers, args.tiles);
    launch_model(plan, extents_of(instruction), args,
                 modifiers != nullptr ? bytes.data<std::uint8_t>() : nullptr);
    cuda_check(cudaGetLastError(), "launching the model");
  });
}

}  // namespace mmaudit::device
