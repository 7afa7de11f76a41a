namespace {

struct Cat {
  int count = 4;
};
int legs(const Cat& of) { return of.count; }

}  // namespace

int cat() { return legs(Cat{}); }
