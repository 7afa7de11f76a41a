#define kMost 7

int macro() { return kMost; }
