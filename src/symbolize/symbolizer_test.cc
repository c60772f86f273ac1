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

TEST(Symbolizer, OneStubCalledForTwoMethodsHasTwoNames) {
  CountingProvider p;
  Symbolizer s({&p});
  Frame open = native_at(11), launch = native_at(11);
  open.stub_target = 0x100, launch.stub_target = 0x200;
  EXPECT_NE(s.name(open), s.name(launch));
  EXPECT_NE(s.name(open), s.name(native_at(11)));
  EXPECT_EQ(s.name(open), s.name(open));
}

TEST(Symbolizer, ControlBytesOfAnyProviderAreEscaped) {
  class Hostile final : public NameProvider {
    std::string_view provider_name() const override { return "hostile"; }
    std::optional<SymbolInfo> describe(const Frame&) override {
      SymbolInfo s;
      s.name = "a\x1b[31m", s.raw_name = "\x07", s.module = "m\n", s.module_path = "/\x7f", s.file = "f\xff",
      s.note = "n\t";
      return s;
    }
  } hostile;
  Symbolizer symbolizer({&hostile});
  const SymbolInfo& s = symbolizer.symbols()[symbolizer.name(native_at(11))];
  EXPECT_EQ(s.name, "a\\x1b[31m");
  EXPECT_EQ(s.raw_name, "\\x07");
  EXPECT_EQ(s.module + s.module_path + s.file + s.note, "m\\x0a/\\x7ff\\xffn\\x09");
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
