#include "dotnet/code/threads.h"

#include <functional>

#include "base/memory/buffer_memory.h"
#include "base/memory/overlay_memory.h"
#include "dotnet/code/exceptions.h"
#include "dotnet/code/supplement.h"
#include "dotnet/code/suspension.h"
#include "support/dotnet_memory.h"

namespace mixstack::dotnet {
namespace {

using test::DotnetMemory;

struct Threads : DotnetMemory {
  static constexpr Address kStore = 0x30000;
  explicit Threads(const char* descriptor) : DotnetMemory(test::load_descriptor(descriptor)) {
    (void)Supplement::apply(layouts);
    memory.map(kStore, 4096);
    memory.put_u64(layouts.globals.thread_store.value, kStore);
    memory.put_u64(layouts.globals.gc_thread.value, 0);
  }
  void add(Address at, std::uint32_t id, std::uint64_t os_id) {
    memory.map(at, 1024);
    const auto& l = layouts.thread;
    memory.put_u32(at + l.id.offset, id);
    memory.put_u64(at + l.os_id.offset, os_id);
    memory.put_u64(at + l.frame.offset, ~0ull);
    memory.put_u64(last_, link_to(at));
    last_ = at + l.link_next.offset;
    count_++;
    memory.put_u32(kStore + layouts.thread_store.thread_count.offset, count_);
  }
  // The word that a link to a Thread holds.
  [[nodiscard]] Address link_to(Address thread) const {
    const bool leads_to_link = layouts.algorithms.thread_links == ThreadLinks::link_to_link;
    return leads_to_link ? thread + layouts.thread.link_next.offset : thread;
  }
  // Where a managed Thread has its native one: .NET 11 put two references before it.
  [[nodiscard]] Address native_thread_in_object() const {
    return layouts.algorithms.thread_links == ThreadLinks::link_to_link ? 40 : 56;
  }
  Address last_ = kStore + layouts.thread_store.first_thread_link.offset;
  std::uint32_t count_ = 0;
};

class ThreadsOfReleases : public ::testing::TestWithParam<const char*> {};
class ThreadsFrom10 : public ThreadsOfReleases {};
INSTANTIATE_TEST_SUITE_P(Threads, ThreadsOfReleases, ::testing::ValuesIn(test::kDescriptorsFrom10), test::release_of);
INSTANTIATE_TEST_SUITE_P(ThreadsOf9, ThreadsOfReleases, ::testing::Values(test::kDescriptorOf9), test::release_of);
INSTANTIATE_TEST_SUITE_P(Threads, ThreadsFrom10, ::testing::ValuesIn(test::kDescriptorsFrom10), test::release_of);

TEST_P(ThreadsFrom10, AreReadInOrder) {
  Threads t(GetParam());
  t.add(0x50000, 1, 100);
  t.add(0x51000, 2, 101);
  const auto& l = t.layouts.thread;
  t.memory.put_u32(0x51000 + l.preemptive_gc_disabled.offset, 1);
  t.memory.put_u32(0x51000 + l.state.offset, 0x200 | 0x80);
  t.memory.put_u64(0x51000 + l.cached_stack_base.offset, 0x7ff000);
  t.memory.put_u64(0x51000 + l.cached_stack_limit.offset, 0x7f0000);
  t.memory.put_u64(0x51000 + l.hijacked_return_address.offset, 0x1234);
  t.memory.put_u64(0x51000 + l.hijacked_return_address_slot.offset, 0x7f8000);
  auto list = read_threads(t.runtime());
  EXPECT_EQ(list.error.code, ErrorCode::none);
  ASSERT_EQ(list.threads.size(), 2u);
  EXPECT_EQ(list.threads[0].os_id, 100u);
  EXPECT_FALSE(list.threads[0].is_hijacked());
  EXPECT_TRUE(list.threads[1].cooperative);
  EXPECT_TRUE(list.threads[1].is_background());
  EXPECT_EQ(list.threads[1].stack, (AddressRange{0x7f0000, 0x7ff000}));
  EXPECT_EQ(list.threads[1].hijacked_slot, 0x7f8000u);
  EXPECT_EQ(list.threads[1].hijacked_return, 0x1234u);
  // A slot that is not on the stack is not believed.
  t.memory.put_u64(0x51000 + l.hijacked_return_address_slot.offset, 0x123);
  EXPECT_FALSE(read_threads(t.runtime()).threads[1].is_hijacked());
}

TEST_P(ThreadsOfReleases, AreVisitedAsFarAsTheyAreWanted) {
  Threads t(GetParam());
  t.add(0x50000, 1, 100);
  t.add(0x51000, 2, 101);
  t.memory.put_u64(t.last_, 0x99999999);
  std::vector<std::uint64_t> seen;
  const auto visit = [&](std::size_t most) {
    seen.clear();
    return visit_threads(t.runtime(),
                         [&](const ManagedThread& thread) {
                           seen.push_back(thread.os_id);
                           return seen.size() < most;
                         })
        .code;
  };
  EXPECT_EQ(visit(2), ErrorCode::none) << "what follows was not looked at";
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{100, 101}));
  EXPECT_EQ(visit(3), ErrorCode::unreadable_memory);
}

TEST_P(ThreadsOfReleases, HostileListsEnd) {
  Threads t(GetParam());
  t.add(0x50000, 1, 100);
  t.add(0x51000, 2, 101);
  t.memory.put_u64(t.last_, t.link_to(0x50000));
  auto cyclic = read_threads(t.runtime());
  EXPECT_EQ(cyclic.threads.size(), 2u);
  EXPECT_EQ(cyclic.error.code, ErrorCode::limit_exceeded);
  t.memory.put_u64(t.last_, 0x99999999);
  auto broken = read_threads(t.runtime());
  EXPECT_EQ(broken.threads.size(), 2u);
  EXPECT_EQ(broken.error.code, ErrorCode::unreadable_memory);
}

TEST_P(ThreadsOfReleases, RootsHoldEveryThreadOfTheList) {
  Threads t(GetParam());
  t.add(0x50000, 1, 100);
  t.add(0x51000, 2, 101);
  t.add(0x52000, 3, 102);
  ThreadRoots roots(t.layouts);
  std::vector<AddressRange> ranges;
  roots.collect(t.memory, ranges);
  ASSERT_EQ(ranges.size(), 5u);  // three threads, who suspends them, and the head of the list
  EXPECT_EQ(ranges[2].begin, 0x52000u);
  EXPECT_GE(ranges[2].size(), t.layouts.thread.exception_tracker.offset + 8);

  // The copied bytes are enough to read the list again when the process has gone on.
  memory::BufferMemory copied;
  std::vector<MemorySlice> slices;
  std::vector<std::vector<std::byte>> held;
  for (const auto& r : ranges) {
    held.emplace_back(r.size());
    ASSERT_TRUE(t.memory.read_exact(r.begin, held.back()));
    slices.push_back({r.begin, held.back()});
  }
  t.memory.put_u64(0x50000 + t.layouts.thread.link_next.offset, 0);
  const memory::OverlayMemory overlay(slices, &t.memory);
  EXPECT_EQ(read_threads(t.runtime()).threads.size(), 1u);
  EXPECT_EQ(read_threads(t.runtime().with(overlay)).threads.size(), 3u);
}

TEST_P(ThreadsOfReleases, RootsFindAThreadThatCameForOneThatWent) {
  Threads t(GetParam());
  t.add(0x50000, 1, 100);
  t.add(0x51000, 2, 101);
  ThreadRoots roots(t.layouts);
  std::vector<AddressRange> ranges;
  roots.collect(t.memory, ranges);
  ASSERT_EQ(ranges.size(), 4u);
  // The last one ends, its link stays as it was; another begins: as many as before.
  t.last_ = 0x50000 + t.layouts.thread.link_next.offset;
  t.add(0x52000, 3, 102);
  ranges.clear();
  roots.collect(t.memory, ranges);
  ASSERT_EQ(ranges.size(), 4u);
  EXPECT_EQ(ranges[0].begin, 0x50000u);
  EXPECT_EQ(ranges[1].begin, 0x52000u);
}

TEST_P(ThreadsOfReleases, SuspensionWhoStopsTheOthersAndWhomItWaitsFor) {
  Threads t(GetParam());
  t.add(0x50000, 1, 100);
  t.add(0x51000, 2, 101);
  t.add(0x52000, 3, 102);
  t.add(0x53000, 4, 103);
  const auto& l = t.layouts.thread;
  const auto read = [&t] { return read_suspension(t.runtime(), read_threads(t.runtime()).threads); };
  EXPECT_FALSE(read());
  t.memory.put_u64(t.layouts.globals.gc_thread.value, 0x51000);
  t.memory.put_u32(0x51000 + l.preemptive_gc_disabled.offset, 1);  // its own mode is nobody's concern
  t.memory.put_u32(0x53000 + l.preemptive_gc_disabled.offset, 1);
  t.memory.put_u32(0x53000 + l.state.offset, 0x800);  // nor is that of the dead
  auto suspension = read();
  ASSERT_TRUE(suspension);
  EXPECT_EQ(suspension->by, 101u);
  EXPECT_TRUE(suspension->waits_for.empty());
  t.memory.put_u32(0x52000 + l.preemptive_gc_disabled.offset, 1);
  suspension = read();
  ASSERT_TRUE(suspension);
  EXPECT_EQ(suspension->waits_for, std::vector<std::uint64_t>{102});
  for (const Address nobody : {Address{0x50008}, Address{0xdead0000}}) {
    t.memory.put_u64(t.layouts.globals.gc_thread.value, nobody);
    EXPECT_FALSE(read());
  }
}

TEST_P(ThreadsOfReleases, NameIsReadThroughTheHandleAndChecked) {
  Threads t(GetParam());
  t.add(0x50000, 7, 100);
  constexpr Address kHandle = 0x60000, kObject = 0x61000, kString = 0x62000, kStringType = 0x63000;
  for (const Address a : {kHandle, kObject, kString, kStringType}) t.memory.map(a, 256);
  t.memory.put_u64(0x50000 + t.layouts.thread.gc_handle.offset, kHandle);
  t.memory.put_u64(kHandle, kObject);
  t.memory.put_u64(kObject + 24, kString);
  t.memory.put_u64(kObject + t.native_thread_in_object(), 0x50000);
  t.memory.put_u32(kObject + t.native_thread_in_object() + 12, 7);
  t.memory.put_u64(t.layouts.globals.string_method_table.value, kStringType);
  t.memory.put_u64(kString, kStringType | 1);  // marked by a GC
  const std::u16string name = u"w\u00f6rker \U0001F600\xd800";
  t.memory.put_u32(kString + t.layouts.string.length.offset, static_cast<std::uint32_t>(name.size()));
  t.memory.put_bytes(kString + t.layouts.string.first_char.offset, std::as_bytes(std::span(name)));
  const auto thread = read_threads(t.runtime()).threads.at(0);
  EXPECT_EQ(thread_name(t.runtime(), thread).value(), "w\u00f6rker \U0001F600\ufffd");
  t.memory.put_u32(kObject + t.native_thread_in_object() + 12, 8);  // another thread's object
  EXPECT_EQ(thread_name(t.runtime(), thread).error().code, ErrorCode::mismatch);
  t.memory.put_u64(kHandle, 0);
  EXPECT_EQ(thread_name(t.runtime(), thread).error().code, ErrorCode::not_found);
}

// A running process: when a pointer is read, something happens.
struct Changing final : MemoryReader {
  const test::SparseMemory& memory;
  Address when;
  std::function<void()> happens;
  Changing(const test::SparseMemory& m, Address w, std::function<void()> h)
      : memory(m), when(w), happens(std::move(h)) {}
  [[nodiscard]] Result<std::size_t> read_some(Address address, std::span<std::byte> out) const override {
    const auto n = memory.read_some(address, out);
    if (address == when) happens();
    return n;
  }
};

struct Named : Threads {
  static constexpr Address kThread = 0x50000, kHandle = 0x60000, kObject = 0x61000, kMoved = 0x62000,
                           kStringType = 0x63000;
  ManagedThread thread;
  explicit Named(const char* descriptor) : Threads(descriptor) {
    add(kThread, 7, 100);
    for (const Address a : {kHandle, kObject, kMoved, kStringType}) memory.map(a, 256);
    memory.put_u64(kThread + layouts.thread.gc_handle.offset, kHandle);
    memory.put_u64(layouts.globals.string_method_table.value, kStringType);
    put_object(kObject, u"a");
    memory.put_u64(kHandle, kObject);
    thread = read_threads(runtime()).threads.at(0);
  }
  // With its name behind it.
  void put_object(Address object, char16_t const* name) {
    memory.put_u64(object + 24, object + 128);
    memory.put_u64(object + native_thread_in_object(), kThread);
    memory.put_u32(object + native_thread_in_object() + 12, 7);
    memory.put_u64(object + 128, kStringType);
    memory.put_u32(object + 128 + layouts.string.length.offset, 1);
    memory.put_bytes(object + 128 + layouts.string.first_char.offset, std::as_bytes(std::span(name, 1)));
  }
  ThreadNames names;
  Result<std::string> name_when(Address is_read, std::function<void()> happens) {
    const Changing changing(memory, is_read, std::move(happens));
    return thread_name(RuntimeMemory(changing, layouts), thread);
  }
  Result<std::string> read_by(const RuntimeMemory& first, const RuntimeMemory& second, const RuntimeMemory& third,
                              const RuntimeMemory& at_last, bool has_moved = true) {
    return names.read(first, second, third, at_last, std::span(&thread, 1), [=] { return has_moved; }).at(0);
  }
  // The same by the way of many threads, when the first, second or third look reads it.
  Result<std::string> name_in_look(unsigned look, Address is_read, std::function<void()> happens,
                                   bool has_moved = true) {
    const Changing changing(memory, is_read, std::move(happens));
    const auto through = [&](unsigned i) { return i == look ? RuntimeMemory(changing, layouts) : runtime(); };
    return read_by(through(1), through(2), through(3), runtime(), has_moved);
  }
};

TEST_P(ThreadsOfReleases, NameIsReadAgainWhenTheObjectMovesMeanwhile) {
  Named n(GetParam());
  // The collector moves the object and puts another thread's in its place, between the check and the name.
  unsigned moved = 0;
  const auto move = [&] {
    n.put_object(Named::kMoved, u"a");
    n.put_object(Named::kObject, u"b");
    n.memory.put_u64(Named::kHandle, Named::kMoved);
    moved++;
  };
  EXPECT_EQ(n.name_when(Named::kObject, move).value(), "a");
  EXPECT_EQ(moved, 1u);
  for (const unsigned look : {1u, 2u}) {
    Named of_many(GetParam());
    moved = 0;
    const auto name = of_many.name_in_look(look, Named::kObject, [&] {
      of_many.put_object(Named::kMoved, u"a");
      of_many.put_object(Named::kObject, u"b");
      of_many.memory.put_u64(Named::kHandle, Named::kMoved);
      moved++;
    });
    EXPECT_EQ(name.value(), "a") << look;
    EXPECT_EQ(moved, 1u);
  }
}

TEST_P(ThreadsOfReleases, NameOfManyThreadsOneAnswerForEach) {
  Named n(GetParam());
  n.add(0x52000, 8, 101);
  const auto threads = read_threads(n.runtime()).threads;
  ASSERT_EQ(threads.size(), 2u);
  const auto names =
      ThreadNames().read(n.runtime(), n.runtime(), n.runtime(), n.runtime(), threads, [] { return true; });
  ASSERT_EQ(names.size(), 2u);
  for (std::size_t i = 0; i < 2; i++) {
    const auto alone = thread_name(n.runtime(), threads[i]);
    ASSERT_EQ(names[i].has_value(), alone.has_value());
    const Error none;
    EXPECT_EQ(names[i].value_or(""), alone.value_or(""));
    EXPECT_EQ((names[i] ? none : names[i].error()).code, (alone ? none : alone.error()).code);
  }
}

TEST_P(ThreadsOfReleases, NameIsNotThatOfTheThreadThatCameAfter) {
  Named n(GetParam());
  const auto name = n.name_when(Named::kHandle, [&] {
    n.put_object(Named::kObject, u"b");
    n.memory.put_u64(Named::kThread + n.layouts.thread.os_id.offset, 101);
  });
  ASSERT_FALSE(name.has_value());
  EXPECT_EQ(name.error().code, ErrorCode::mismatch);
  for (const unsigned look : {1u, 2u}) {
    Named many(GetParam());
    const auto late = many.name_in_look(look, Named::kHandle, [&] {
      many.put_object(Named::kObject, u"b");
      many.memory.put_u64(Named::kThread + many.layouts.thread.os_id.offset, 101);
    });
    ASSERT_FALSE(late.has_value()) << look;
    EXPECT_EQ(late.error().code, ErrorCode::mismatch);
  }
}

TEST_P(ThreadsOfReleases, NameFoundAsItWasNeedsNoSecondLook) {
  Named n(GetParam());
  const test::SparseMemory nothing;
  const RuntimeMemory none(nothing, n.layouts);
  EXPECT_EQ(n.read_by(n.runtime(), n.runtime(), n.runtime(), n.runtime()).value(), "a");
  EXPECT_EQ(n.read_by(n.runtime(), none, none, none).value(), "a");
  n.put_object(Named::kObject, u"b");
  EXPECT_FALSE(n.read_by(n.runtime(), none, none, none).has_value()) << "another text";
  EXPECT_EQ(n.read_by(n.runtime(), n.runtime(), n.runtime(), n.runtime()).value(), "b");
  n.thread.os_id++;
  EXPECT_FALSE(n.read_by(n.runtime(), none, none, none).has_value()) << "another thread";
}

TEST_P(ThreadsOfReleases, NameWhereNothingMovedOneLookIsEnoughButForTheThread) {
  const test::SparseMemory nothing;
  {
    Named n(GetParam());
    const RuntimeMemory none(nothing, n.layouts);
    EXPECT_EQ(n.read_by(n.runtime(), none, n.runtime(), none, false).value(), "a");
  }
  Named n(GetParam());
  const auto late = n.name_in_look(
      1, Named::kHandle,
      [&] {
        n.put_object(Named::kObject, u"b");
        n.memory.put_u64(Named::kThread + n.layouts.thread.os_id.offset, 101);
      },
      false);
  EXPECT_EQ(late.error().code, ErrorCode::mismatch) << "another thread has its place";
}

TEST_P(ThreadsOfReleases, ExceptionsAreFollowedThroughTheirNesting) {
  Threads t(GetParam());
  t.add(0x50000, 7, 100);
  const auto& l = t.layouts.exception_info;
  for (const Address a : {0x70000u, 0x71000u, 0x72000u, 0x73000u}) t.memory.map(a, 256);
  t.memory.put_u64(0x50000 + t.layouts.thread.exception_tracker.offset, 0x70000);
  const bool is_handle = t.layouts.algorithms.thrown_object == ThrownObject::handle;
  t.memory.put_u64(0x70000 + l.thrown_object.offset, is_handle ? 0x72000 : 0x73000);
  t.memory.put_u64(0x70000 + l.previous_nested_info.offset, 0x71000);
  t.memory.put_u64(0x72000, 0x73000);
  t.memory.put_u64(0x73000, 0xabc0 | 2);
  auto thread = read_threads(t.runtime()).threads.at(0);
  auto chain = current_exceptions(t.runtime(), thread);
  ASSERT_EQ(chain.exceptions.size(), 2u);
  EXPECT_EQ(chain.exceptions[0].object, 0x73000u);
  EXPECT_EQ(chain.exceptions[0].method_table, 0xabc0u);
  EXPECT_EQ(chain.exceptions[1].object, 0u);
  t.memory.put_u64(0x71000 + l.previous_nested_info.offset, 0x70000);
  EXPECT_EQ(current_exceptions(t.runtime(), thread).error.code, ErrorCode::limit_exceeded);
}

}  // namespace
}  // namespace mixstack::dotnet
