// Boxes of tensors that the copy engine brings from memory.
#include <algorithm>

#include "sweeps/findings.hpp"

namespace mmaudit::sweeps {
namespace {

constexpr std::string_view kPlane = "cp.async.bulk.tensor.2d+inflight",
                           kSpace = "cp.async.bulk.tensor.3d+inflight", kCopyStream = "stream.ld.v4.u32";
/// Less is noise.
constexpr double kFalls = 0.99;

/// GB/s of the whole GPU from memory: the best of the points for which `wanted` holds.
Source best(std::string_view subject, std::function<bool(const Point&)> wanted) {
  return giga(most(tag::kBytesPerSecond, [=](const Point& point) {
    return point.subject == subject && point.axis("scope") == "gpu" && point.axis("level") == "memory" &&
           wanted(point);
  }));
}

/// Over all numbers of blocks per multiprocessor.
Source of_box(std::string_view subject, std::string_view box) {
  return best(subject, [=](const Point& point) { return point.axis("box") == box; });
}

/// GB/s with four blocks per multiprocessor, and the most with fewer.
Source with_blocks(std::string_view box, bool four) {
  return best(kSpace, [=](const Point& point) {
    return point.axis("box") == box && (point.number("ctas") == 4) == four;
  });
}

}  // namespace

std::vector<Statement> statements_tensor_copies() {
  return {
      {"Tensor copies of 16 KiB, 2D and 3D, read memory within 5% of loads", "Luo 5",
       judged(
           {of_box(kPlane, "64x64"), of_box(kSpace, "16x16x16"),
            giga(most(kCopyStream, tag::kBytesPerSecond, {{"level", "memory"}}))},
           [](Values& found) { return found[0] >= 0.95 * found[2] && found[1] >= 0.95 * found[2]; },
           "{:.0f} and {:.0f} GB/s; loads {:.0f} GB/s")},
      {"3D copies of more than 8 KiB are slower with four blocks per multiprocessor than with fewer", "Luo 5",
       judged(
           {with_blocks("16x16x12", true), with_blocks("16x16x12", false), with_blocks("16x16x16", true),
            with_blocks("16x16x16", false)},
           [](Values& found) { return found[0] < kFalls * found[1] && found[2] < kFalls * found[3]; },
           "12 KiB: {:.0f} GB/s with four, {:.0f} at best with fewer; 16 KiB: {:.0f} and {:.0f}")},
      {"Of boxes of 16 KiB none is faster than the one longest along x, and long ones along y and z are "
       "slower",
       "Luo 5",
       judged(
           {of_box(kSpace, "256x16x1"), of_box(kSpace, "64x64x1"), of_box(kSpace, "16x16x16"),
            of_box(kSpace, "16x256x1"), of_box(kSpace, "4x4x256")},
           [](Values& found) {
             const bool none_faster = *std::max_element(found.begin() + 1, found.end()) <= found[0] / kFalls;
             return none_faster && found[3] < kFalls * found[0] && found[4] < kFalls * found[0];
           },
           "256x16x1 {:.0f}, 64x64x1 {:.0f}, 16x16x16 {:.0f}, 16x256x1 {:.0f}, 4x4x256 {:.0f} GB/s")},
  };
}

}  // namespace mmaudit::sweeps
