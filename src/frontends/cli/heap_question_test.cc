#include "frontends/cli/heap_question.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

#include "base/system/scoped_fd.h"
#include "frontends/cli/arguments.h"
#include "frontends/cli/parsing.h"

namespace mixstack::cli {
namespace {

TEST(HeapQuestion, Sizes) {
  EXPECT_EQ(byte_size("512"), 512u);
  EXPECT_EQ(byte_size("4K"), 4096u);
  EXPECT_EQ(byte_size("512M"), std::uint64_t{512} << 20);
  EXPECT_EQ(byte_size("8G"), std::uint64_t{8} << 30);
  for (const char* bad : {"", "G", "-1G", "1T", "8g", "1.5G", "99999999999G", "G8"})
    EXPECT_FALSE(byte_size(bad)) << bad;
}

TEST(HeapQuestion, OptionsOfBothCommands) {
  const auto why = parse_arguments({"why", "7", "--heap", "--heap-limit", "8G"});
  ASSERT_EQ(why.action, Invocation::Action::why) << why.text;
  EXPECT_TRUE(why.why.heap);
  EXPECT_EQ(why.why.heap_limit, std::uint64_t{8} << 30);
  EXPECT_EQ(parse_arguments({"why", "7", "--heap"}).why.heap_limit, kHeapLimit);
  const auto dump = parse_arguments({"dump", "7", "--async", "--heap", "--heap-limit=1G"});
  ASSERT_EQ(dump.action, Invocation::Action::dump) << dump.text;
  EXPECT_TRUE(dump.dump.async && dump.dump.heap);
  EXPECT_EQ(dump.dump.heap_limit, std::uint64_t{1} << 30);
  for (const auto& bad :
       std::initializer_list<std::vector<std::string>>{{"why", "7", "--heap-limit", "8G"},
                                                       {"why", "7", "--heap", "--heap-limit", "x"},
                                                       {"dump", "7", "--heap"},
                                                       {"dump", "7", "--async", "--no-stop"},
                                                       {"dump", "7", "--async", "--heap-limit", "1G"}})
    EXPECT_EQ(parse_arguments(bad).action, Invocation::Action::usage_error) << bad.back();
}

/// The decision and the text before a stop.
struct Said {
  bool is_allowed = false;
  std::string words;
};
Said ask(bool is_process, std::uint64_t bytes) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return {};
  const base::ScopedFd out(ends[0]);
  base::ScopedFd in(ends[1]);
  Environment environment;
  environment.err = in.get();
  Said said{heap_question(is_process, kHeapLimit, environment)(bytes), {}};
  in = base::ScopedFd();
  std::array<char, 1024> text{};
  const ssize_t n = ::read(out.get(), text.data(), text.size());
  if (n > 0) said.words.assign(text.data(), static_cast<std::size_t>(n));
  return said;
}

TEST(HeapQuestion, SaysHowLongAProcessStandsStill) {
  const Said said = ask(true, 1'500'000'000);
  EXPECT_TRUE(said.is_allowed);
  EXPECT_EQ(said.words,
            "mixstack: the process stands still for about 1.0 s, with very many async methods for longer, while "
            "1.5 GB of its heap are searched\n");
}

TEST(HeapQuestion, RefusesAboveTheLimit) {
  const Said said = ask(true, kHeapLimit + 1);
  EXPECT_FALSE(said.is_allowed);
  EXPECT_NE(said.words.find("--heap-limit 2049M allows it"), std::string::npos) << said.words;
}

TEST(HeapQuestion, ACoreDoesNotStandStill) {
  const Said said = ask(false, kHeapLimit * 4);
  EXPECT_TRUE(said.is_allowed);
  EXPECT_EQ(said.words, "");
}

}  // namespace
}  // namespace mixstack::cli
