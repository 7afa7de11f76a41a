namespace {

constexpr int kMost = 5;
struct Size {
  char bytes[3];
};

}  // namespace

int constant() { return kMost + static_cast<int>(sizeof(Size)); }
