#include "engine/symbols/symbolizer.h"

#include <gtest/gtest.h>

namespace mixstack::symbols {
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

/// Code of a JIT: what an address is called changes with time.
class Jit final : public NameProvider {
 public:
  std::string_view provider_name() const override { return "jit"; }
  std::optional<SymbolInfo> describe(const Frame&) override {
    calls++;
    SymbolInfo s;
    s.name = method;
    return s;
  }
  std::vector<SymbolInfo> describe_inlined(const Frame&) override {
    std::vector<SymbolInfo> all(inlined.size());
    for (std::size_t i = 0; i < all.size(); i++) all[i].name = inlined[i];
    return all;
  }
  std::string method = "Outer";
  std::vector<std::string> inlined;
  int calls = 0;
};

Frame jitted_at(Address pc) { return Frame{.pc = CodeAddress::after_call(pc), .kind = FrameKind::managed}; }

using std::chrono::nanoseconds;

TEST(Symbolizer, AReusedAddressHasTheNameOfItsTime) {
  Jit jit;
  Symbolizer s({&jit});
  s.begin(nanoseconds(100));
  const auto first = s.name(jitted_at(11));
  s.begin(nanoseconds(200));
  EXPECT_EQ(s.name(jitted_at(11)), first) << "the same name goes on";
  jit.method = "Other";
  EXPECT_EQ(s.name(jitted_at(11)), first) << "asked once a capture";
  s.begin(nanoseconds(300));
  const auto second = s.name(jitted_at(11));
  ASSERT_NE(second, first);
  EXPECT_EQ(s.symbols()[first].name, "Outer");
  EXPECT_EQ(s.symbols()[first].seen_from, nanoseconds(100));
  EXPECT_EQ(s.symbols()[first].seen_until, nanoseconds(200));
  EXPECT_EQ(s.symbols()[second].name, "Other");
  EXPECT_EQ(s.symbols()[second].seen_from, nanoseconds(300));
  EXPECT_EQ(jit.calls, 3);
}

TEST(Symbolizer, CodeOfAnImageIsNotAskedAgain) {
  CountingProvider p;
  Symbolizer s({&p});
  Frame frame = native_at(11);
  frame.module = 3;
  s.begin(nanoseconds(100));
  const auto a = s.name(frame);
  s.begin(nanoseconds(200));
  EXPECT_EQ(s.name(frame), a);
  EXPECT_EQ(p.calls, 1);
  EXPECT_EQ(s.symbols()[a].seen_from.count(), 0);
}

TEST(Symbolizer, InlinedFunctionsAreFramesOfTheirOwn) {
  Jit jit;
  jit.inlined = {"Innermost", "Middle"};
  Symbolizer s({&jit});
  s.begin(nanoseconds(1));
  const auto a = s.name(jitted_at(11));
  s.begin(nanoseconds(2));
  EXPECT_EQ(s.name(jitted_at(11)), a);
  jit.inlined = {"Innermost"};
  s.begin(nanoseconds(3));
  EXPECT_NE(s.name(jitted_at(11)), a);
  const std::vector<SymbolInfo> all = s.take_symbols();
  std::string names;
  for (const std::uint32_t i : logical_frames(all, a)) names += all[i].name + " ";
  EXPECT_EQ(names, "Innermost Middle Outer ");
}

TEST(Symbolizer, ADamagedTableOfLogicalFramesEnds) {
  std::vector<SymbolInfo> round(3);
  round[1].inlined_into = 2, round[2].inlined_into = 1;
  EXPECT_EQ(logical_frames(round, 1).size(), 256u);
  EXPECT_EQ(logical_frames(round, 77), std::vector<std::uint32_t>{77});
}

}  // namespace
}  // namespace mixstack::symbols
