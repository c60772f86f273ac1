#include "features/record/kernel_symbols.h"

#include <gtest/gtest.h>

namespace mixstack::record {
namespace {

TEST(KernelSymbols, FunctionsByAddress) {
  KernelSymbols names(
      "ffffffff81000100 t second\nffffffff81000000 T first\nffffffff81000080 D data\n"
      "ffffffffc0000000 t of_module\t[module]\nbroken\nffffffff81000200\n");
  EXPECT_EQ(names.name(0xffffffff81000000), "first");
  EXPECT_EQ(names.name(0xffffffff810000ff), "first");
  EXPECT_EQ(names.name(0xffffffff81000123), "second");
  EXPECT_EQ(names.name(0xffffffffc0000010), "of_module");
  EXPECT_EQ(names.name(0x1000), "");
}

TEST(KernelSymbols, AddressesThatAreHiddenNameNothing) {
  KernelSymbols names("0000000000000000 T first\n0000000000000000 t second\n");
  EXPECT_EQ(names.name(0xffffffff81000000), "");
}

}  // namespace
}  // namespace mixstack::record
