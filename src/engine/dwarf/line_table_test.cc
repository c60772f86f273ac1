#include "engine/dwarf/line_table.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <memory>
#include <random>
#include <sstream>

#include "engine/images/debug_file.h"
#include "engine/images/file_bytes.h"

namespace mixstack::symbols {
namespace {

constexpr const char* kProgram = "/proc/self/exe";

std::shared_ptr<const images::ElfImage> own_image() {
  auto file = images::open_file_bytes(kProgram);
  return file ? images::ElfImage::from_file(std::move(*file)).value_or(nullptr) : nullptr;
}

std::string output_of(const std::string& command) {
  struct Close {
    void operator()(FILE* f) const { ::pclose(f); }
  };
  const std::unique_ptr<FILE, Close> pipe(::popen(command.c_str(), "r"));
  std::string all;
  std::array<char, 4096> piece;
  while (std::size_t n = pipe ? std::fread(piece.data(), 1, piece.size(), pipe.get()) : 0) all.append(piece.data(), n);
  return all;
}

/// "fit.cc:12 demo.h:7": innermost first, as the witness says it.
std::string told_by_addr2line(std::uint64_t address, std::string& function) {
  std::ostringstream command;
  command << "addr2line -f -i -e $(readlink /proc/" << ::getpid() << "/exe) 0x" << std::hex << address;
  std::istringstream lines(output_of(command.str()));
  std::string name, place, all;
  while (std::getline(lines, name) && std::getline(lines, place)) {
    if (all.empty()) function = name;
    place = place.substr(0, place.find(" (discriminator"));
    all += place.substr(place.rfind('/') + 1) + " ";
  }
  return all;
}

std::string told_by(const std::vector<SourcePlace>& places) {
  std::string all;
  for (const SourcePlace& p : places) all += p.file.substr(p.file.rfind('/') + 1) + ":" + std::to_string(p.line) + " ";
  return all;
}

/// "12 7 " of "fit.cc:12 demo.h:7 ".
std::string lines_of(const std::string& told) {
  std::istringstream words(told);
  std::string word, all;
  while (words >> word) all += word.substr(word.rfind(':') + 1) + " ";
  return all;
}

[[gnu::always_inline]] inline int inner(const volatile int& x) { return x * 3; }

[[gnu::noinline]] int outer(const volatile int& x) { return inner(x) + x; }

TEST(LineTable, AgreesWithAddr2line) {
#ifdef __clang__
  GTEST_SKIP() << "addr2line of binutils 2.40 leaves out functions that Clang's line tables say were inlined";
#endif
  const auto image = own_image();
  ASSERT_NE(image, nullptr);
  LineBudget budget;
  auto table = LineTable::open(image, nullptr, DebugSections::Packed::all, budget);
  ASSERT_TRUE(table);
  const auto names = images::SymbolTable::build({image, nullptr, nullptr});
  ASSERT_GT(names->size(), 100u);
  std::mt19937 random(1);
  std::size_t compared = 0, inlined = 0, confused = 0;
  for (unsigned tries = 0; tries < 4000 && compared < 60; tries++) {
    const images::Symbol s = names->symbol(static_cast<std::uint32_t>(random() % names->size()));
    if (s.size == 0 || s.name.find("mixstack") == std::string_view::npos) continue;
    const std::uint64_t address = s.address + random() % s.size;
    const auto places = (*table)->at(address);
    std::string function;
    const std::string theirs = told_by_addr2line(address, function);
    if (theirs.find('?') != std::string::npos || theirs.find(":0") != std::string::npos) continue;
    // binutils takes the files of some lines of DWARF 5 for others.
    const bool is_confused = told_by(places) != theirs && lines_of(told_by(places)) == lines_of(theirs);
    if (is_confused && confused++ < 6) continue;
    EXPECT_EQ(told_by(places), theirs) << std::hex << address << " in " << s.name;
    // Functions with code of their own it names by their symbols.
    if (places.size() > 1 && function.starts_with("_Z") && places.front().function.starts_with("_Z")) {
      EXPECT_EQ(places.front().function, function);
    }
    compared++;
    inlined += places.size() > 1;
  }
  EXPECT_EQ(compared, 60u);
  EXPECT_GT(inlined, 10u);
}

TEST(LineTable, InlinedFunctionsAreThere) {
  const volatile int one = 1;
  EXPECT_EQ(outer(one), 4);
  const auto image = own_image();
  ASSERT_NE(image, nullptr);
  LineBudget budget;
  auto table = LineTable::open(image, nullptr, DebugSections::Packed::all, budget);
  ASSERT_TRUE(table);
  const auto names = images::SymbolTable::build({image, nullptr, nullptr});
  bool found = false;
  for (std::uint32_t i = 0; i < names->size() && !found; i++) {
    const images::Symbol s = names->symbol(i);
    if (s.name.find("5outerER") == std::string_view::npos) continue;
    for (std::uint64_t at = s.address; at < s.address + s.size && !found; at++) {
      const auto places = (*table)->at(at);
      found = places.size() == 2 && places[0].function.find("inner") != std::string::npos &&
              places[1].function.find("outer") != std::string::npos && places[0].line != 0 &&
              places[0].line < places[1].line;
    }
  }
  EXPECT_TRUE(found);
}

TEST(LineTable, TimeAndSizeAreBounded) {
  const auto image = own_image();
  ASSERT_NE(image, nullptr);
  const auto names = images::SymbolTable::build({image, nullptr, nullptr});
  const std::uint64_t address = names->symbol(0).address;
  LineBudget none{std::chrono::nanoseconds(0), 0};
  auto table = LineTable::open(image, nullptr, DebugSections::Packed::all, none);
  ASSERT_TRUE(table);
  EXPECT_TRUE((*table)->at(address).empty());
  LineBudget no_lines;
  no_lines.program_bytes = 0;
  table = LineTable::open(image, nullptr, DebugSections::Packed::all, no_lines);
  ASSERT_TRUE(table);
  for (const SourcePlace& p : (*table)->at(address)) EXPECT_EQ(p.line, 0u);
}

TEST(LineTable, ImagesWithoutDebugInformationHaveNone) {
  auto file = images::open_file_bytes("/bin/true");
  ASSERT_TRUE(file);
  auto image = images::ElfImage::from_file(std::move(*file));
  ASSERT_TRUE(image);
  LineBudget budget;
  EXPECT_FALSE(LineTable::open(*image, nullptr, DebugSections::Packed::all, budget));
  EXPECT_EQ(images::find_debug_information(*image, "/bin/true", nullptr).image, nullptr);
}

}  // namespace
}  // namespace mixstack::symbols
