namespace {

int kind(int) { return 1; }

}  // namespace

int narrow() { return kind(0); }
