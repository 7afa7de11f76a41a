namespace {

int kind(long) { return 2; }

}  // namespace

// Beside narrow.cpp this would call its function, and nothing would say so.
int wide() { return kind(0); }
