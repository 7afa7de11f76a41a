namespace {

using Size = long;

}  // namespace

int alias() { return static_cast<int>(sizeof(Size)); }
