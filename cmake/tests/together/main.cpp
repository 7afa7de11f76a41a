#include <cstdio>

int alias();
int bird();
int cat();
int constant();
int macro();
int narrow();
int wide();

struct Table {
  int legs;
};

int main() {
  const Table table{2};
  const bool right = alias() == static_cast<int>(sizeof(long)) && bird() == table.legs && cat() == 4 &&
                     constant() == 8 && macro() == 7 && narrow() == 1 && wide() == 2;
  std::puts(right ? "every source found its own names" : "a source found the kind of another");
  return right ? 0 : 1;
}
