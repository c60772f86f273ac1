#include "dotnet/runtime/aot_threads.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>

#include "support/sparse_memory.h"

namespace mixstack::dotnet {
namespace {

constexpr Address kHeader = 0x10000, kTypes = 0x11000, kGlobals = 0x12000, kNames = 0x13000;
constexpr Address kRuntime = 0x20000, kStore = 0x21000;
constexpr std::uint32_t kStoreField = 8, kListField = 16, kNext = 96, kOsId = 184;

/// A runtime whose threads lie at `thread_at(0)`, `thread_at(1)`, ...
class AotThreadsTest : public testing::Test {
 protected:
  AotThreadsTest() {
    put_header("DNDH", 5, 1);
    type("Other", "m_pNext", 1);
    type("RuntimeInstance", "SIZEOF", 72);
    type("RuntimeInstance", "m_pThreadStore", kStoreField);
    type("ThreadStore", "SIZEOF", 56);
    type("ThreadStore", "m_ThreadList", kListField);
    type("RuntimeThreadLocals", "SIZEOF", 208);
    next_entry_ = types_;
    type("RuntimeThreadLocals", "m_pNext", kNext);
    os_id_entry_ = types_;
    type("RuntimeThreadLocals", "m_threadId", kOsId);
    memory.map(kTypes, 128 * 24);
    memory.map(kGlobals, 128);
    memory.put_u64(kGlobals, name("g_other"));
    memory.put_u64(kGlobals + 8, 0x666);
    memory.put_u64(kGlobals + 16, name("g_pTheRuntimeInstance"));
    memory.put_u64(kGlobals + 24, kRuntime);
    memory.put_u64(kRuntime + kStoreField, kStore);
    memory.put_u64(kStore + kListField, thread_at(0));
    for (std::uint32_t i = 0; i < 3; i++) put_thread(i, 100 + i, i == 2 ? 0 : thread_at(i + 1));
  }

  void put_header(const char* cookie, std::uint16_t major, std::uint32_t flags) {
    memory.put_bytes(kHeader, std::as_bytes(std::span(cookie, 4)));
    memory.put_u16(kHeader + 4, major);
    memory.put_u32(kHeader + 8, flags);
    memory.put_u64(kHeader + 16, kTypes);
    memory.put_u64(kHeader + 24, kGlobals);
  }
  Address name(std::string_view text) {
    const Address at = kNames + names_;
    memory.put_bytes(at, std::as_bytes(std::span(text)));
    names_ += text.size() + 1;
    return at;
  }
  void type(std::string_view type_name, std::string_view field, std::uint32_t offset) {
    memory.put_u64(types_, name(type_name));
    memory.put_u64(types_ + 8, name(field));
    memory.put_u32(types_ + 16, offset);
    types_ += 24;
  }
  static Address thread_at(std::uint32_t i) { return 0x100000 + i * 0x1000ull; }
  void put_thread(std::uint32_t i, std::uint64_t os_id, Address next) {
    memory.put_u64(thread_at(i) + kNext, next);
    memory.put_u64(thread_at(i) + kOsId, os_id);
  }
  AotThreads read() const { return read_aot_threads(memory, kHeader); }

  test::SparseMemory memory;
  Address types_ = kTypes, next_entry_ = 0, os_id_entry_ = 0;
  std::size_t names_ = 0;
};

using Ids = std::vector<std::uint32_t>;

TEST_F(AotThreadsTest, AllInTheListsOrder) {
  EXPECT_EQ(read().os_ids, (Ids{100, 101, 102}));
  EXPECT_EQ(read().error.code, ErrorCode::none);
}

TEST_F(AotThreadsTest, InDotNet8TheThreadsTypeHadAnotherName) {
  put_header("DNDH", 3, 1);
  for (Address at = kTypes + 6 * 24; at < types_; at += 24) memory.put_u64(at, name("ThreadBuffer"));
  EXPECT_EQ(read().os_ids, (Ids{100, 101, 102}));
  EXPECT_EQ(read().error.code, ErrorCode::none);
  put_header("DNDH", 2, 1);
  EXPECT_EQ(read().error, (Error{ErrorCode::contract_unsupported, 0, 2}));
}

TEST_F(AotThreadsTest, NoThreadYet) {
  memory.put_u64(kStore + kListField, 0);
  EXPECT_EQ(read().os_ids, Ids{});
  EXPECT_EQ(read().error.code, ErrorCode::none);
}

TEST_F(AotThreadsTest, OnlyTheKnownContract) {
  put_header("DNDX", 5, 1);
  EXPECT_EQ(read().error.code, ErrorCode::mismatch);
  put_header("DNDH", 6, 1);
  EXPECT_EQ(read().error, (Error{ErrorCode::contract_unsupported, 0, 6}));
  put_header("DNDH", 5, 0);  // pointers of 4 bytes
  EXPECT_EQ(read().error.code, ErrorCode::mismatch);
  put_header("DNDH", 5, 3);  // big endian
  EXPECT_EQ(read().error.code, ErrorCode::mismatch);
  EXPECT_EQ(read().os_ids, Ids{});
}

TEST_F(AotThreadsTest, ARuntimeThatHasNotStarted) {
  memory.put_u64(kHeader + 16, 0);
  EXPECT_EQ(read().error.code, ErrorCode::field_unavailable);
}

TEST_F(AotThreadsTest, CyclesEnd) {
  put_thread(2, 102, thread_at(1));
  EXPECT_EQ(read().os_ids, (Ids{100, 101, 102}));
  EXPECT_EQ(read().error, (Error{ErrorCode::limit_exceeded, 0, thread_at(1)}));
  put_thread(0, 100, thread_at(0));
  EXPECT_EQ(read().os_ids, Ids{100});
  EXPECT_EQ(read().error, (Error{ErrorCode::limit_exceeded, 0, thread_at(0)}));
}

/// Answers a list without end: every thread's next one is 4 KiB further.
class EndlessList final : public MemoryReader {
 public:
  explicit EndlessList(const MemoryReader& below) : below_(below) {}
  [[nodiscard]] Result<std::size_t> read_some(Address at, std::span<std::byte> out) const override {
    if (at < thread(0)) return below_.read_some(at, out);
    const std::uint64_t value = at % 0x1000 == kNext ? at - kNext + 0x1000 : at / 0x1000;
    std::memcpy(out.data(), &value, std::min(out.size(), sizeof value));
    return out.size();
  }
  static Address thread(std::uint32_t i) { return 0x100000 + i * 0x1000ull; }

 private:
  const MemoryReader& below_;
};

TEST_F(AotThreadsTest, ListsWithoutEndEnd) {
  const AotThreads found = read_aot_threads(EndlessList(memory), kHeader);
  EXPECT_EQ(found.error.code, ErrorCode::limit_exceeded);
  EXPECT_EQ(found.os_ids.size(), 65536u);
}

TEST_F(AotThreadsTest, PointersToNowhere) {
  put_thread(1, 101, 0x7fff00000000);
  EXPECT_EQ(read().os_ids, (Ids{100, 101}));
  EXPECT_EQ(read().error.code, ErrorCode::unreadable_memory);
  put_thread(1, 101, ~Address{0} - 90);  // the fields would lie beyond the end of all addresses
  EXPECT_EQ(read().os_ids, (Ids{100, 101}));
  EXPECT_NE(read().error.code, ErrorCode::none);
  memory.put_u64(kRuntime + kStoreField, 0x7fff00000000);
  EXPECT_EQ(read().os_ids, Ids{});
  EXPECT_EQ(read().error.code, ErrorCode::unreadable_memory);
  memory.put_u64(kRuntime + kStoreField, 0);
  EXPECT_EQ(read().error.code, ErrorCode::field_unavailable);
  memory.put_u64(kHeader + 16, 0x7fff00000000);
  EXPECT_EQ(read().error.code, ErrorCode::unreadable_memory);
}

TEST_F(AotThreadsTest, WhatIsNoThreadEndsTheList) {
  for (const std::uint64_t id : {std::uint64_t{0}, std::uint64_t{1} << 31, ~std::uint64_t{0}}) {
    put_thread(1, id, thread_at(2));
    EXPECT_EQ(read().os_ids, Ids{100}) << id;
    EXPECT_EQ(read().error, (Error{ErrorCode::malformed, 0, thread_at(1)})) << id;
  }
}

TEST_F(AotThreadsTest, AnIdIsToldOnce) {
  put_thread(2, 100, 0);
  EXPECT_EQ(read().os_ids, (Ids{100, 101}));
}

TEST_F(AotThreadsTest, FieldsOutsideTheirTypes) {
  memory.put_u32(os_id_entry_ + 16, 208);
  EXPECT_EQ(read().error, (Error{ErrorCode::malformed, 0, 208}));
  memory.put_u32(os_id_entry_ + 16, 0xffffffff);
  EXPECT_EQ(read().error.code, ErrorCode::malformed);
  EXPECT_EQ(read().os_ids, Ids{});
}

TEST_F(AotThreadsTest, AFieldThatIsNotTold) {
  memory.put_u64(next_entry_ + 8, 0x7fff00000000);  // its name is nowhere
  EXPECT_EQ(read().error.code, ErrorCode::field_unavailable);
  EXPECT_EQ(read().os_ids, Ids{});
}

TEST_F(AotThreadsTest, NamesWithoutEnd) {
  const std::string endless(4096, 'x');
  memory.put_bytes(0x40000, std::as_bytes(std::span(endless)));
  memory.put_u64(next_entry_, 0x40000);
  EXPECT_EQ(read().error.code, ErrorCode::field_unavailable);
}

TEST_F(AotThreadsTest, TypesWithoutEnd) {
  const Address same = name("Same");
  for (std::size_t i = 0; i < 4096; i++)
    for (const Address at : {kTypes + i * 24, kTypes + i * 24 + 8})
      if (at < kGlobals - 24) memory.put_u64(at, same);
  EXPECT_EQ(read().error.code, ErrorCode::field_unavailable);
}

/// .NET 11: a descriptor in place of the header.
class AotThreadsOf11Test : public AotThreadsTest {
 protected:
  static constexpr Address kStorePointer = 0x30000;
  AotThreadsOf11Test() {
    memory.put_u64(kStorePointer, kStore);
    memory.put_u64(kStore, thread_at(0));
  }
  [[nodiscard]] AotThreads read_by(const std::string& thread = R"({"OSId":184,"LinkNext":96})",
                                   const std::string& version = "n1") const {
    const std::string json = R"({"version":2,"types":{"Thread":)" + thread +
                             R"(,"ThreadStore":{"FirstThreadLink":0}},"globals":{"ThreadStore":[[0],"pointer"],)" +
                             R"("RuntimeFlavor":["NativeAot","string"]},"contracts":{"Thread":")" + version + "\"}}";
    const auto descriptor =
        Descriptor::parse(std::as_bytes(std::span(json)), std::array<std::uint64_t, 1>{kStorePointer});
    if (!descriptor) return {{}, descriptor.error().error};
    EXPECT_TRUE(descriptor->is_native_aot());
    return read_aot_threads(memory, *descriptor);
  }
};

TEST_F(AotThreadsOf11Test, AllInTheListsOrder) {
  EXPECT_EQ(read_by().os_ids, (Ids{100, 101, 102}));
  EXPECT_EQ(read_by().error.code, ErrorCode::none);
}

TEST_F(AotThreadsOf11Test, OnlyWhatIsKnownAndTold) {
  EXPECT_EQ(read_by(R"({"OSId":184,"LinkNext":96})", "n9").error, (Error{ErrorCode::contract_unsupported, 0, 9}));
  EXPECT_EQ(read_by(R"({"OSId":184,"LinkNext":96})", "c1").error.code, ErrorCode::contract_unsupported);
  EXPECT_EQ(read_by(R"({"OSId":184})").error.code, ErrorCode::field_unavailable);
  EXPECT_EQ(read_by(R"({"OSId":184,"LinkNext":99999999})").error.code, ErrorCode::malformed);
}

TEST_F(AotThreadsOf11Test, CyclesEndAndARuntimeMayNotHaveStarted) {
  put_thread(2, 102, thread_at(1));
  EXPECT_EQ(read_by().error, (Error{ErrorCode::limit_exceeded, 0, thread_at(1)}));
  memory.put_u64(kStorePointer, 0);
  EXPECT_EQ(read_by().error.code, ErrorCode::field_unavailable);
}

}  // namespace
}  // namespace mixstack::dotnet
