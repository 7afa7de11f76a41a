namespace {

struct Bird {
  int count = 2;
};
int legs(const Bird& of) { return of.count; }

}  // namespace

int bird() { return legs(Bird{}); }
