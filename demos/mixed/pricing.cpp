// The native half of the demo: a small pricing engine that works on orders and calls back into .NET.
// Built with -O2 -fomit-frame-pointer, as native libraries are.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace pricing {

using Quote = double (*)(std::int32_t item);
using Approve = int (*)(void* context, double total);

namespace {

template <typename T>
T keep(T value) {
  asm volatile("" : "+r"(value)::"memory");
  return value;
}

}  // namespace

class Basket {
 public:
  explicit Basket(std::int32_t items) {
    for (std::int32_t i = 0; i < items; i++) {
      items_.push_back(i);
    }
  }

  // Sorts by the price that .NET quotes: std::sort calls the lambda, the lambda calls managed code.
  __attribute__((noinline)) double cheapest(Quote quote) {
    std::sort(items_.begin(), items_.end(), [quote](std::int32_t a, std::int32_t b) { return quote(a) < quote(b); });
    return quote(items_.front());
  }

  __attribute__((noinline)) int settle(Approve approve, void* context, int retries) {
    if (retries > 0) {
      return keep(settle(approve, context, retries - 1)) + 1;
    }
    return keep(approve(context, static_cast<double>(items_.size()))) + 1;
  }

 private:
  std::vector<std::int32_t> items_;
};

__attribute__((noinline)) int wait_for_market() {
  while (keep(true)) {
    pause();
  }
  return 0;
}

__attribute__((noinline)) double simulate(double start, Quote quote) {
  double price = start;
  for (;;) {
    for (int step = 0; step < 50'000; step++) {
      price = price * 1.0000001 + 0.5;
      asm volatile("" : "+x"(price));
    }
    price += Basket(100).cheapest(quote);
  }
}

}  // namespace pricing

extern "C" {

double pricing_cheapest(std::int32_t items, pricing::Quote quote) {
  pricing::Basket basket(items);
  double price = basket.cheapest(quote);
  asm volatile("" : "+x"(price));
  return price;
}

int pricing_settle(pricing::Approve approve, void* context, int retries) {
  pricing::Basket basket(3);
  return pricing::keep(basket.settle(approve, context, retries)) + 1;
}

// A jump, not a call: no frame of its own.
int pricing_wait_for_market() { return pricing::wait_for_market(); }

double pricing_simulate(double start, pricing::Quote quote) { return pricing::simulate(start, quote); }
}
