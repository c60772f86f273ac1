// A native C++ program with nested calls through templates, a virtual function, a lambda and a library (qsort).
//   plain [threads]     prints READY <pid> when every thread is in its place, the main thread last
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace plain {

int threads = 3;
std::atomic<int> in_place{0};

struct Shape {
  virtual ~Shape() = default;
  virtual int stand(int depth) = 0;
};

__attribute__((noinline)) int stand_still(const std::string& name) {
  if (in_place.fetch_add(1) == threads) {
    std::printf("READY %d\n", getpid());
    std::fflush(stdout);
  }
  for (;;) {
    pause();
    asm volatile("" ::"r"(name.data()) : "memory");
  }
}

int compare_and_stand(const void* left, const void* right) {
  int result = stand_still("compare");
  return result + *static_cast<const int*>(left) - *static_cast<const int*>(right);
}

template <typename Value>
struct Square : Shape {
  explicit Square(Value side) : side_(side) {}
  __attribute__((noinline)) int stand(int depth) override {
    if (depth > 0) {
      int below = stand(depth - 1);
      asm volatile("" : "+r"(below));
      return below + 1;
    }
    int values[] = {3, 1, 2};
    qsort(values, 3, sizeof(int), compare_and_stand);
    return values[0] + static_cast<int>(side_);
  }
  Value side_;
};

int run(int depth) {
  Square<double> square(2.0);
  std::function<int(int)> call = [&square](int n) { return square.stand(n) + 1; };
  return call(depth);
}

}  // namespace plain

int main(int count, char** arguments) {
  if (count > 1) plain::threads = std::atoi(arguments[1]);
  std::vector<std::thread> pool;
  for (int i = 0; i < plain::threads; i++) {
    pool.emplace_back([i] { plain::run(i * 5); });
  }
  while (plain::in_place.load() != plain::threads) {
    usleep(1000);
  }
  return plain::run(10);
}
