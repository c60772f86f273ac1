#include "dotnet/names/aot_methods.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "support/sparse_memory.h"

namespace mixstack::dotnet::names {
namespace {

/// A blob in the format of NativeFormat metadata, written record by record.
class Blob {
 public:
  Blob() { u32(0xdeaddffd).number(0); }
  std::uint32_t at() const { return static_cast<std::uint32_t>(bytes.size()); }
  Blob& u8(std::uint32_t v) {
    bytes.push_back(static_cast<std::byte>(v));
    return *this;
  }
  Blob& u32(std::uint32_t v) {
    for (unsigned i = 0; i < 4; i++) u8(v >> (8 * i) & 0xff);
    return *this;
  }
  Blob& number(std::uint32_t v) {  // always in its longest form but one, or in one byte
    if (v < 0x80) return u8(v << 1);
    return u8((v << 4 & 0xf0) | 7).u8(v >> 4 & 0xff).u8(v >> 12 & 0xff).u8(v >> 20 & 0xff);
  }
  Blob& handle(std::uint32_t kind, std::uint32_t offset) { return number(offset << 7 | kind); }
  std::uint32_t text(std::string_view t) {
    const auto where = at();
    number(static_cast<std::uint32_t>(t.size()));
    for (const char c : t) u8(static_cast<unsigned char>(c));
    return where;
  }
  std::vector<std::byte> bytes;
};

constexpr std::uint32_t kTypeReference = 0x3d, kNamespaceReference = 0x30, kSzArray = 0x37, kInstance = 0x3c,
                        kSpecification = 0x3e, kVariable = 0x3f, kString = 0x1a;
constexpr Address kMap = 0x50000;

std::uint32_t token(std::uint32_t kind, std::uint32_t offset) { return kind << 25 | offset; }

/// Ns.Box<T>.Put<int>(T, int[]) at 0x1000, Ns.Box.<Put>b__0_1(int) at 0x2000, a hidden helper at 0x3000.
struct Sample {
  Blob metadata, map;
  Sample() {
    auto& m = metadata;
    const auto scope_name = m.text("Ns"), box = m.text("Box`1"), sys = m.text("System"), int32 = m.text("Int32"),
               t = m.text("T"), put = m.text("Put"), lambda = m.text("<Put>b__0_1"), as_int = m.text("int");
    const auto ns = at([&] { m.handle(0, 0).number(scope_name); });
    const auto system = at([&] { m.handle(0, 0).number(sys); });
    const auto type = at([&] { m.handle(kNamespaceReference, ns).number(box); });
    const auto integer = at([&] { m.handle(kNamespaceReference, system).number(int32); });
    const auto parameter = at([&] { m.handle(0, 0).number(t); });
    const auto instance = at([&] { m.handle(kTypeReference, type).number(1).handle(kTypeReference, parameter); });
    const auto owner = at([&] { m.handle(kInstance, instance); });
    const auto variable = at([&] { m.number(0); });
    const auto array = at([&] { m.handle(kTypeReference, integer); });
    const auto first = at([&] {
      m.number(0x20).number(1).handle(kTypeReference, integer).number(2).handle(kVariable, variable);
      m.handle(kSzArray, array).number(0);
    });
    const auto second = at([&] {
      m.number(0).number(0).handle(kTypeReference, integer).number(1).handle(kTypeReference, integer).number(0);
    });
    const auto arguments = at([&] { m.number(1).handle(kString, as_int); });
    map.bytes.clear();
    map.u32(3);
    map.u8(16 | 1).u32(0);
    relative(0x3000);
    map.u8(1 | 2 | 8).u32(token(kSpecification, owner)).number(put).number(first).number(arguments);
    relative(0x1000);
    map.u8(1 | 2 | 4).u32(token(kTypeReference, type)).number(lambda).number(second);
    relative(0x2000);
  }
  template <class Write>
  std::uint32_t at(Write write) {
    const auto where = metadata.at();
    write();
    return where;
  }
  void relative(Address target) { map.u32(static_cast<std::uint32_t>(target - (kMap + map.at()))); }
  [[nodiscard]] std::optional<AotMethods> parse(const AddressRange& code = {0x1000, 0x4000}) const {
    return AotMethods::parse(metadata.bytes, map.bytes, kMap, code);
  }
};

TEST(AotMethods, AreNamedByTheirStarts) {
  const auto methods = Sample().parse();
  ASSERT_TRUE(methods);
  EXPECT_EQ(methods->size(), 3u);
  EXPECT_EQ(methods->name(0x1000)->name, "Ns.Box<T>.Put<int>(T, int[])");
  EXPECT_EQ(methods->name(0x1000)->raw_name, "Ns.Box`1[T].Put<int>(T, int[])");
  EXPECT_EQ(methods->name(0x2000)->name, "Ns.Box.Put.lambda#1(int)");
  EXPECT_FALSE(methods->name(0x3000)) << "hidden: it has no owner";
  EXPECT_FALSE(methods->name(0x1001)) << "never a neighbour's";
}

/// A method whose parameters repeat its owner's first argument, a long one, a thousand times.
struct Repeating : Sample {
  Repeating() {
    auto& m = metadata;
    const auto name = m.text(std::string(4000, 'x')), box = m.text("Box`1"), put = m.text("Put");
    const auto ns = at([&] { m.handle(0, 0).number(name); });
    const auto generic = at([&] { m.handle(kNamespaceReference, ns).number(box); });
    const auto wide = at([&] { m.handle(0, 0).number(name); });
    const auto variable = at([&] { m.number(0); });
    const auto inner = instance(generic, 50, [&] { m.handle(kTypeReference, wide); });
    const auto type = instance(generic, 1, [&] { m.handle(kInstance, inner); });
    const auto repeated = instance(generic, 250, [&] { m.handle(kVariable, variable); });
    const auto signature = at([&] {
      m.number(0).number(0).handle(kTypeReference, wide).number(4);
      for (int i = 0; i < 4; i++) m.handle(kInstance, repeated);
      m.number(0);
    });
    map.bytes.clear();
    map.u32(1);
    map.u8(1 | 2 | 4).u32(token(kInstance, type)).number(put).number(signature);
    relative(0x1000);
  }
  template <class Write>
  std::uint32_t instance(std::uint32_t generic, std::uint32_t count, Write argument) {
    return at([&] {
      metadata.handle(kTypeReference, generic).number(count);
      for (std::uint32_t i = 0; i < count; i++) argument();
    });
  }
};

TEST(AotMethods, TextsThatRepeatOthersAreNotMade) {
  const auto methods = Repeating().parse();
  ASSERT_TRUE(methods);
  const pid_t child = ::fork();
  if (child == 0) {
    rusage before{}, after{};
    ::getrusage(RUSAGE_SELF, &before);
    const bool is_named = methods->name(0x1000).has_value();
    ::getrusage(RUSAGE_SELF, &after);
    ::_exit(is_named ? 1 : after.ru_maxrss - before.ru_maxrss > (16 << 10) ? 2 : 0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(AotMethods, WhatIsNotUnderstoodNamesNothing) {
  EXPECT_FALSE(Sample().parse({0x1000, 0x3000})) << "a start outside of the code";
  for (std::size_t size = 0; size < Sample().map.bytes.size(); size++) {
    Sample cut;
    cut.map.bytes.resize(size);
    EXPECT_FALSE(cut.parse()) << size;
  }
  Sample other;
  other.metadata.bytes[0] = std::byte{0};
  EXPECT_FALSE(other.parse()) << "another signature";
  Sample command;
  command.map.bytes[4] = std::byte{0x80};
  EXPECT_FALSE(command.parse()) << "a command nobody knows";
  // Metadata that ends anywhere: no name, or the right one.
  for (std::size_t size = 4; size < Sample().metadata.bytes.size(); size++) {
    Sample cut;
    cut.metadata.bytes.resize(size);
    const auto methods = cut.parse();
    ASSERT_TRUE(methods);
    if (const auto name = methods->name(0x1000)) {
      EXPECT_EQ(name->name, "Ns.Box<T>.Put<int>(T, int[])");
    }
  }
}

TEST(AotBlobs, AreFoundByTheHeaderOfNet10) {
  test::SparseMemory memory;
  constexpr Address kHeader = 0x9000;
  memory.map(kHeader, 4096);
  memory.put_u32(kHeader, 0x00525452);
  memory.put_u16(kHeader + 4, 16);
  memory.put_u16(kHeader + 12, 2);
  memory.put_u8(kHeader + 14, 24);
  const auto row = [&](unsigned i, std::uint32_t id, Address start, Address end) {
    memory.put_u32(kHeader + 16 + 24 * i, id);
    memory.put_u64(kHeader + 24 + 24 * i, start);
    memory.put_u64(kHeader + 32 + 24 * i, end);
  };
  row(0, 313, 0x100, 0x200);
  row(1, 327, 0x300, 0x380);
  const auto blobs = find_aot_blobs(memory, kHeader);
  ASSERT_TRUE(blobs);
  EXPECT_EQ(blobs->metadata.begin, 0x100u);
  EXPECT_EQ(blobs->methods.end, 0x380u);
  row(1, 327, 0x300, 0x300);
  ASSERT_TRUE(find_aot_blobs(memory, kHeader));
  EXPECT_TRUE(find_aot_blobs(memory, kHeader)->methods.empty()) << "no stack-trace metadata";
  row(1, 327, 0x300, 0x380);
  memory.put_u16(kHeader + 4, 17);
  EXPECT_FALSE(find_aot_blobs(memory, kHeader)) << "another format";
}

TEST(AotBlobs, AreFoundByTheHeaderOfNet11) {
  test::SparseMemory memory;
  constexpr Address kHeader = 0x9000;
  memory.map(kHeader, 4096);
  memory.put_u32(kHeader, 0x00525452);
  memory.put_u16(kHeader + 4, 26);
  memory.put_u16(kHeader + 6, 1);
  memory.put_u16(kHeader + 12, 4);
  memory.put_u8(kHeader + 14, 16);
  const auto row = [&](unsigned i, std::uint32_t id, Address start, std::uint32_t size) {
    memory.put_u32(kHeader + 16 + 16 * i, id);
    memory.put_u32(kHeader + 20 + 16 * i, size);
    memory.put_u64(kHeader + 24 + 16 * i, start);
  };
  row(0, 327, 0x300, 0x80);
  row(1, 313, 0x100, 0x100);
  row(2, 301, 0x400, 0x10);
  row(3, 308, 0x500, 0xffffffff);
  const auto blobs = find_aot_blobs(memory, kHeader);
  ASSERT_TRUE(blobs);
  EXPECT_EQ(blobs->metadata, (AddressRange{0x100, 0x200}));
  EXPECT_EQ(blobs->methods, (AddressRange{0x300, 0x380}));
  EXPECT_EQ(blobs->types, (AddressRange{0x400, 0x410}));
  EXPECT_TRUE(blobs->references.empty()) << "larger than any";
  memory.put_u16(kHeader + 6, 0);
  EXPECT_FALSE(find_aot_blobs(memory, kHeader)) << "another format";
  memory.put_u16(kHeader + 6, 1);
  memory.put_u8(kHeader + 14, 24);
  EXPECT_FALSE(find_aot_blobs(memory, kHeader)) << "rows of another version";
}

TEST(AotNumber, HasOneToFiveBytes) {
  const auto value = [](std::initializer_list<unsigned> list) {
    std::vector<std::byte> bytes;
    for (const unsigned b : list) bytes.push_back(static_cast<std::byte>(b));
    std::size_t at = 0;
    const auto n = aot_number(bytes, at);
    return n && at == bytes.size() ? *n : ~0u;
  };
  EXPECT_EQ(value({0xfe}), 127u);
  EXPECT_EQ(value({0x01, 0x02}), 128u);
  EXPECT_EQ(value({0xd3, 0x59, 0x24}), 297786u);
  EXPECT_EQ(value({0xc7, 0x5b, 0x91, 0x07}), 0x0791'5bcu);
  EXPECT_EQ(value({0x0f, 0x78, 0x56, 0x34, 0x12}), 0x12345678u);
  EXPECT_EQ(value({}), ~0u);
  EXPECT_EQ(value({0x0f, 1, 2, 3}), ~0u);
  EXPECT_EQ(value({0x1f, 1, 2, 3, 4}), ~0u);
}

}  // namespace
}  // namespace mixstack::dotnet::names
