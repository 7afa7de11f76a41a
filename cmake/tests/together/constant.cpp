#include "size.hpp"

namespace {

constexpr int kMost = 5;

}  // namespace

int constant() { return kMost + static_cast<int>(sizeof(Size)); }
