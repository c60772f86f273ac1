#include "output/report/nameless_code.h"

#include <gtest/gtest.h>

namespace mixstack::report {
namespace {

class NamelessCode : public ::testing::Test {
 protected:
  NamelessCode() {
    const auto thread = recording_.add_thread({.process = *recording_.process({.pid = 7}), .tid = 7});
    context_ = *recording_.context({.thread = *thread});
  }
  std::uint32_t below(std::uint32_t parent, const char* name, const char* module, std::uint64_t address = 0,
                      CodeKind kind = CodeKind::native) {
    const auto number = recording_.module({.name = module});
    const auto function = recording_.function({.name = name, .module = *number, .kind = kind});
    return *recording_.node({parent, *recording_.frame({.function = *function, .address = address})});
  }
  void sample(std::uint32_t stack, std::uint32_t count) {
    ASSERT_TRUE(recording_.add({.stack = stack, .context = context_, .count = count}));
  }
  Recording recording_;
  std::uint32_t context_ = 0;
};

TEST_F(NamelessCode, ModulesComeByTheirShareOfSamples) {
  const std::uint32_t main = below(0, "main", "app");
  sample(main, 60);
  sample(below(main, "", "libsmall.so", 1), 10);
  sample(below(main, "", "liblarge.so", 1), 25);
  sample(below(below(main, "", "libcaller.so\x1b", 1), "read", "libc.so.6"), 5);
  EXPECT_EQ(nameless_words(recording_, "a.mxr"),
            "3 places of native code without a name, in the stacks of 40 of 100 samples; 35.0 % of all were taken in "
            "it: liblarge.so 25.0 %, libsmall.so 10.0 %, libcaller.so\\x1b 0.0 %; 'mixstack symbols status a.mxr' "
            "tells why");
}

TEST_F(NamelessCode, OfManyModulesSomeAreNamed) {
  for (const char* module : {"a.so", "b.so", "c.so", "d.so", "e.so"})
    sample(below(below(0, "", module, 1), "read", "libc.so.6"), 1);
  sample(below(below(0, "", "e.so", 2), "read", "libc.so.6"), 1);
  const std::string words = nameless_words(recording_, "FILE.mxr");
  EXPECT_TRUE(
      words.starts_with("6 places of native code without a name, in the stacks of 6 of 6 samples, as callers "
                        "alone: e.so, a.so, b.so and 2 more; '"))
      << words;
}

TEST_F(NamelessCode, WhatIsNotNativeNeedsNoWord) {
  sample(below(0, "main", "app"), 1);
  sample(below(0, "", "App.dll", 1, CodeKind::managed), 1);
  sample(below(0, "", "[kernel]", 1, CodeKind::kernel), 1);
  EXPECT_EQ(nameless_words(recording_, "a.mxr"), "");
  EXPECT_EQ(nameless_words(Recording(), "a.mxr"), "");
}

}  // namespace
}  // namespace mixstack::report
