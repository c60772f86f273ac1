#include "engine/symbols/demangle.h"

#include <cxxabi.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

#include "support/command_output.h"
#include "support/host_cpu.h"

namespace mixstack::symbols {
namespace {

TEST(Demangle, EqualsTheAbiLibraryAndCxxfilt) {
  const std::string list = "nm -D --defined-only --format=posix --without-symbol-versions " +
                           std::string(test::kLibstdcxx) + " | cut -d' ' -f1";
  const auto raw = test::command_lines(list);
  const auto told = test::command_lines(list + " | c++filt");
  ASSERT_GT(raw.size(), 1000u);
  ASSERT_EQ(raw.size(), told.size());
  std::size_t as_cxxfilt = 0;
  for (std::size_t i = 0; i < raw.size(); i++) {
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(raw[i].c_str(), nullptr, nullptr, &status),
                                                      std::free);
    const auto ours = demangle(raw[i]);
    // Types of one letter ("i") are names to the ABI library and plain symbols to us.
    EXPECT_EQ(ours, raw[i].starts_with("_Z") && text ? text.get() : raw[i]);
    as_cxxfilt += ours == told[i] ? 1u : 0u;
  }
  EXPECT_GT(as_cxxfilt * 10, raw.size() * 9);  // c++filt spells std::ostream out
}

TEST(Demangle, LeavesOtherNamesAlone) {
  EXPECT_EQ(demangle("malloc"), "malloc");
  EXPECT_EQ(demangle(""), "");
  EXPECT_EQ(demangle("_Z"), "_Z");
  EXPECT_EQ(demangle("_Znonsense"), "_Znonsense");
  EXPECT_EQ(demangle("_ZN3foo3barEv.cold"), "foo::bar() [clone .cold]");
}

/// "S_", "S0_", ... of the Itanium ABI: base 36, one less than the index.
std::string substitution(int index) {
  if (index == 0) return "S_";
  std::string digits;
  for (int i = index - 1; digits.empty() || i != 0; i /= 36)
    digits.insert(digits.begin(), static_cast<char>(i % 36 < 10 ? '0' + i % 36 : 'A' + i % 36 - 10));
  return "S" + digits + "_";
}

TEST(Demangle, ExpansionIsBounded) {
  // Each parameter is a template of the one before, twice: the text doubles.
  const auto doubling = [](int times) {
    std::string name = "_Z1f1AIiiE";
    for (int i = 0; i < times; i++) name += "1AI" + substitution(1 + 2 * i) + substitution(1 + 2 * i) + "E";
    return name;
  };
  EXPECT_GT(demangle(doubling(5)).size(), 1000u);
  EXPECT_EQ(demangle(doubling(35)), doubling(35));  // 2^35 letters
  EXPECT_EQ(demangle(std::string(kMaxMangled + 1, 'x')).size(), kMaxMangled + 1);
  std::string deep = "_Z1f";
  for (int i = 0; i < 4000; i++) deep += "P";
  EXPECT_FALSE(demangle(deep + "i").empty());
}

TEST(Demangle, RustLegacyNamesLoseTheirHash) {
  EXPECT_EQ(demangle("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE"), "core::fmt::Formatter::pad");
  EXPECT_EQ(demangle("_ZN51_$LT$std..io..Error$u20$as$u20$core..fmt..Debug$GT$3fmt17h0123456789abcdefE"),
            "<std::io::Error as core::fmt::Debug>::fmt");
  EXPECT_EQ(demangle("_ZN3foo4h012E"), "foo::h012");
}

TEST(Demangle, RustV0NamesHaveNoHashes) {
  EXPECT_EQ(demangle("_RNvXCs8X6F9CIgNp1_3labNtB2_1SNtB2_1T2go"), "<lab::S as lab::T>::go");
  EXPECT_EQ(demangle("_RINvNtC3std3mem8align_ofjE"), "std::mem::align_of::<usize>");
  EXPECT_EQ(demangle("_RNvC6_123foo3bar"), "123foo::bar");
  EXPECT_EQ(demangle("_RNvC6_123foo3bar.llvm.A5310EB9"), "123foo::bar");
  EXPECT_EQ(demangle("_RNvCu8gdel_5qa3foo"),
            "g\xc3\xb6"
            "del::foo");
  EXPECT_EQ(demangle("_Rnonsense"), "_Rnonsense");
  EXPECT_EQ(demangle("_R"), "_R");
}

TEST(Demangle, RustV0ExpansionIsBounded) {
  // Tuples of two back references to the tuple before: (T, T), ((T, T), (T, T)), ...
  std::string name = "_RINvC1a1bTmmE";
  std::size_t last = name.find("Tmm") - 2;
  for (int i = 0; i < 8; i++) {
    const char digit = static_cast<char>(last - 1 < 10 ? '0' + (last - 1) : 'a' + (last - 11));
    const std::size_t next = name.size() - 2;
    if (last - 1 >= 36) break;
    name += std::string("TB") + digit + "_B" + digit + "_E";
    last = next;
  }
  EXPECT_FALSE(demangle(name + "E").empty());
  std::string deep = "_RINvC1a1b";
  for (int i = 0; i < 8000; i++) deep += "R";
  EXPECT_FALSE(demangle(deep + "mE").empty());
}

TEST(Demangle, DNames) {
  EXPECT_EQ(demangle("_D8demangle4testFaZv"), "demangle.test(char)");
  EXPECT_EQ(demangle("_Dmain"), "D main");
  EXPECT_EQ(demangle("_DYNAMIC"), "_DYNAMIC");
  std::string hostile = "_D8demangle4testF";
  for (int i = 0; i < 60; i++) hostile += "QbQb";
  EXPECT_EQ(demangle(hostile + "Zv"), hostile + "Zv");
}

TEST(Printable, EscapesWhatTerminalsObey) {
  EXPECT_EQ(printable("a\x1b[31mb"), "a\\x1b[31mb");
  EXPECT_EQ(printable("\xc3\xa4\xff"), "\xc3\xa4\\xff");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");
  EXPECT_LE(printable(std::string(100000, 'x')).size(), kMaxDemangled);
}

}  // namespace
}  // namespace mixstack::symbols
