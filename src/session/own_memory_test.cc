#include "session/own_memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "base/system/proc_status.h"
#include "dotnet/holders/holder_reader.h"
#include "session/holder_parts.h"

namespace mixstack::session {
namespace {

constexpr std::uint64_t kGigabyte = std::uint64_t{1} << 30;

TEST(OwnMemoryTest, HalfOfWhatTheTightestLimitHasLeft) {
  EXPECT_EQ(memory_to_take({}), kGigabyte / 2);
  EXPECT_EQ(memory_to_take({.machine = 8 * kGigabyte}), 4 * kGigabyte);
  EXPECT_EQ(memory_to_take({.machine = 8 * kGigabyte, .cgroup = 2 * kGigabyte}), kGigabyte);
  EXPECT_EQ(memory_to_take({.machine = 8 * kGigabyte, .cgroup = 2 * kGigabyte, .address_space = 0}), 0u);
}

/// Refused before anything is walked.
TEST(OwnMemoryTest, AHeapOfAHundredGigabytesOnAMachineOfTwo) {
  const std::uint64_t allowed = memory_to_take({.machine = 2 * kGigabyte});
  EXPECT_GT(dotnet::holders::HolderReader::memory_for(0, 100 * kGigabyte, false), allowed);
  EXPECT_LT(dotnet::holders::HolderReader::memory_for(1'000'000, kGigabyte, false), allowed);
}

/// Few large objects need little room, however many bytes they have.
TEST(OwnMemoryTest, LargeObjectsAreCountedByTheirNumber) {
  dotnet::objects::GcRegions gc;
  gc.bytes.at(static_cast<std::size_t>(HeapGeneration::large)) = 12 * kGigabyte;
  EXPECT_LT(objects_not_walked(gc), 1'000'000u);
  const std::uint64_t allowed = memory_to_take({.machine = 2 * kGigabyte});
  EXPECT_LT(dotnet::holders::HolderReader::memory_for(objects_not_walked(gc), numbered_bytes(gc), true), allowed);
  gc.bytes.at(static_cast<std::size_t>(HeapGeneration::zero)) = 3 * kGigabyte;
  EXPECT_GT(objects_not_walked(gc), 30'000'000u);
}

TEST(OwnMemoryTest, TheKernelsWords) {
  EXPECT_EQ(available_in("MemTotal:  9 kB\nMemAvailable:   2048 kB\nBuffers: 1 kB\n"), 2048U << 10);
  EXPECT_FALSE(available_in("MemTotal: 9 kB\n"));
  EXPECT_FALSE(available_in("MemAvailable:"));
  EXPECT_FALSE(available_in("MemAvailable: 99999999999999999999 kB"));
}

TEST(OwnMemoryTest, TheLimitOfOurAddressSpaceCounts) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
  constexpr std::uint64_t kRoom = 64 << 20;
  rlimit tight = before;
  tight.rlim_cur = (base::status_number(base::own_status(), "VmSize") << 10) + kRoom;
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &tight), 0);
  const std::uint64_t left = memory_to_take();
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_LE(left, kRoom / 2);
  EXPECT_GT(left, 0u);
}

}  // namespace
}  // namespace mixstack::session
