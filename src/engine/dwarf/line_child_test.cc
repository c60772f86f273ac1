#include "engine/dwarf/line_child.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>

#include "engine/images/file_bytes.h"
#include "engine/images/symbol_table.h"

namespace mixstack::symbols {
namespace {

std::shared_ptr<const images::ElfImage> own_image() {
  auto file = images::open_file_bytes("/proc/self/exe");
  return file ? images::ElfImage::from_file(std::move(*file)).value_or(nullptr) : nullptr;
}

/// Code of ours, which has debug information.
std::uint64_t some_address(const std::shared_ptr<const images::ElfImage>& image) {
  const auto names = images::SymbolTable::build({image, nullptr, nullptr});
  for (std::uint32_t i = 0; i < names->size(); i++)
    if (names->symbol(i).name == "_ZN8mixstack7symbols9LineTable2atEm") return names->symbol(i).address;
  return 0;
}

pid_t only_child() {
  pid_t child = 0;
  std::ifstream("/proc/thread-self/children") >> child;
  return child;
}

TEST(LineChild, AnswersAsTheTableDoes) {
  const auto image = own_image();
  ASSERT_NE(image, nullptr);
  LineBudget one, two;
  auto child = LineChild::start(image, nullptr, DebugSections::Packed::all, one);
  auto table = LineTable::open(image, nullptr, DebugSections::Packed::all, two);
  ASSERT_TRUE(child && table);
  std::size_t with_line = 0;
  const std::uint64_t begin = some_address(image);
  for (std::uint64_t i = 0; i < 40; i++) {
    const std::uint64_t address = begin + i * 7;
    const auto mine = (*child)->at(address), theirs = (*table)->at(address);
    ASSERT_EQ(mine.size(), theirs.size());
    for (std::size_t k = 0; k < mine.size(); k++) {
      EXPECT_EQ(mine[k].function, theirs[k].function);
      EXPECT_EQ(mine[k].file, theirs[k].file);
      EXPECT_EQ(mine[k].line, theirs[k].line);
      EXPECT_EQ(mine[k].entry, theirs[k].entry);
    }
    with_line += !mine.empty() && mine.front().line != 0;
  }
  EXPECT_GT(with_line, 20u);
}

TEST(LineChild, ItsDeathCostsItsLinesOnly) {
  const auto image = own_image();
  ASSERT_NE(image, nullptr);
  LineBudget budget;
  auto child = LineChild::start(image, nullptr, DebugSections::Packed::all, budget);
  ASSERT_TRUE(child);
  EXPECT_FALSE((*child)->at(some_address(image)).empty());
  const pid_t pid = only_child();
  ASSERT_GT(pid, 0);
  ::kill(pid, SIGSEGV);
  EXPECT_TRUE((*child)->at(some_address(image)).empty());
  EXPECT_TRUE((*child)->at(some_address(image)).empty());
  EXPECT_EQ(only_child(), 0);
}

TEST(LineChild, WhatDoesNotAnswerIsLeft) {
  const auto image = own_image();
  ASSERT_NE(image, nullptr);
  LineBudget budget;
  budget.time = std::chrono::milliseconds(300);
  auto child = LineChild::start(image, nullptr, DebugSections::Packed::all, budget);
  ASSERT_TRUE(child);
  ::kill(only_child(), SIGSTOP);
  EXPECT_TRUE((*child)->at(some_address(image)).empty());
  EXPECT_EQ(only_child(), 0);
}

}  // namespace
}  // namespace mixstack::symbols
