#pragma once
// How operands get to the tensor cores.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mmaudit::screen {

enum class Feed : std::uint8_t {
  loads,       ///< each round loads its tile once: to registers, or through registers to shared memory
  ldmatrix,    ///< of mma: A and B come from shared memory before each step
  bulk_l2,     ///< of wgmma: the bulk copy engine brings A and B again and again, from the second-level cache
  bulk_hbm,    ///< the same, from device memory
  tensor_hbm,  ///< the same as boxes of a tensor
  count
};
inline constexpr int kFeeds = static_cast<int>(Feed::count);

/// What differs between feeds.
struct FeedSpec {
  std::string_view name;
  std::size_t memory_bytes = 0;  ///< that copies of the tiles are spread over; 0: there is one
  bool tensor = false;           ///< copied as boxes of a tensor
};
/// Device memory: far more than any second-level cache holds. The cache: far less than that of Hopper, 50 MB.
inline constexpr FeedSpec kFeedSpecs[kFeeds] = {{"loads"},
                                                {"ldmatrix"},
                                                {"bulk_l2", std::size_t{16} << 20U},
                                                {"bulk_hbm", std::size_t{2} << 30U},
                                                {"tensor_hbm", std::size_t{2} << 30U, true}};

constexpr const FeedSpec& spec_of(Feed feed) { return kFeedSpecs[static_cast<int>(feed)]; }
constexpr std::string_view name_of(Feed feed) { return spec_of(feed).name; }
constexpr bool is_streamed(Feed feed) { return spec_of(feed).memory_bytes != 0; }

/// What: the feeds of these names. Errors: InputError where one is none of them or comes twice. Range: all of
/// them without a name.
std::vector<Feed> feeds_named(const std::vector<std::string>& names);

}  // namespace mmaudit::screen
