#include "agent/stack_counts.h"

#include <gtest/gtest.h>

#include <memory>

namespace mixstack::agent {
namespace {

std::string place(Address address, std::uint64_t method, bool is_exact) {
  return (method != 0 ? "m" + std::to_string(method) : std::to_string(address)) + (is_exact ? "!" : "");
}

std::unique_ptr<Sample> sample_of(std::initializer_list<std::pair<Address, std::uint64_t>> places, StopReason stop) {
  auto sample = std::make_unique<Sample>();
  for (const auto& [address, method] : places) {
    sample->addresses[sample->count] = address;
    sample->methods[sample->count++] = method;
  }
  sample->stop = stop;
  return sample;
}

TEST(StackCounts, CountsByMethodWhereThereIsOne) {
  StackCounts counts;
  counts.add(*sample_of({{10, 2}, {20, 0}}, StopReason::end_of_stack));
  counts.add(*sample_of({{11, 2}, {20, 0}}, StopReason::end_of_stack));
  counts.add(*sample_of({{10, 3}, {20, 0}}, StopReason::end_of_stack));
  counts.add(*sample_of({{10, 0}, {20, 0}}, StopReason::no_unwind_info));
  EXPECT_EQ(counts.collapsed(place), "20;10! 1\n20;m2! 2\n20;m3! 1\n");
  EXPECT_EQ(counts.samples(), 4u);
  EXPECT_EQ(counts.cut(), 1u);
}

TEST(StackCounts, NamesCannotBreakALine) {
  StackCounts counts;
  counts.add(*sample_of({{1, 0}}, StopReason::end_of_stack));
  EXPECT_EQ(counts.collapsed([](Address, std::uint64_t, bool) { return "a;b\nc"; }), "a:b c 1\n");
}

}  // namespace
}  // namespace mixstack::agent
