#include "symbolize/symbolizer.h"

#include <gtest/gtest.h>

namespace mixstack::symbolize {
namespace {

class CountingProvider final : public NameProvider {
 public:
  std::string_view provider_name() const override { return "counting"; }
  std::optional<SymbolInfo> describe(const Frame& frame) override {
    calls++;
    if (frame.kind != FrameKind::native) return std::nullopt;
    SymbolInfo s;
    s.name = "at " + std::to_string(frame.pc.lookup());
    return s;
  }
  int calls = 0;
};

Frame native_at(Address pc) { return Frame{.pc = CodeAddress::after_call(pc), .kind = FrameKind::native}; }

TEST(Symbolizer, NamesEachPlaceOnce) {
  CountingProvider p;
  Symbolizer s({&p});
  const auto a = s.name(native_at(11)), b = s.name(native_at(21));
  EXPECT_EQ(s.name(native_at(11)), a);
  EXPECT_NE(a, b);
  EXPECT_EQ(p.calls, 2);
  EXPECT_EQ(s.symbols()[a].name, "at 10");
}

TEST(Symbolizer, UnknownPlacesAreIndexZeroAndAskedOnce) {
  CountingProvider p;
  Symbolizer s({&p});
  Frame f = native_at(5);
  f.kind = FrameKind::managed;
  EXPECT_EQ(s.name(f), 0u);
  EXPECT_EQ(s.name(f), 0u);
  EXPECT_EQ(p.calls, 1);
}

TEST(Symbolizer, TheSamePlaceAsCallAndAsInterruptionIsNotConfused) {
  CountingProvider p;
  Symbolizer s({&p});
  Frame interrupted{.pc = CodeAddress::exact(10), .kind = FrameKind::native};
  EXPECT_EQ(s.name(native_at(11)), s.name(interrupted));
}

}  // namespace
}  // namespace mixstack::symbolize
