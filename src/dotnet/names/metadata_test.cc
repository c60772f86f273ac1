#include "dotnet/names/metadata.h"

#include <gtest/gtest.h>

#include "base/memory/buffer_memory.h"
#include "support/metadata_builder.h"

namespace mixstack::dotnet::names {
namespace {

using test::bytes_of;
using test::MetadataBuilder;

const auto kVoidNoArguments = bytes_of({0x20, 0x00, 0x01});

std::shared_ptr<const Metadata> open(const std::vector<std::byte>& bytes) {
  auto copy = std::make_shared<std::vector<std::byte>>(bytes);
  auto m = Metadata::open(MetadataBytes::borrow(*copy, copy));
  return m ? *m : nullptr;
}

/// Three types: <Module>, A with two methods, an empty one, A.Inner`1 with one.
MetadataBuilder sample() {
  MetadataBuilder b;
  b.module("sample.dll");
  b.assembly("sample");
  b.type_def("", "<Module>", 1);
  b.type_def("Ns", "A", 1);
  b.type_def("Ns", "Empty", 3);
  b.type_def("", "Inner`1", 3, 2);
  b.method_def("First", kVoidNoArguments, 0x16, 1);
  b.method_def("Second", bytes_of({0x00, 0x02, 0x01, 0x08, 0x0e}), 0x16, 1);
  b.method_def("Third", kVoidNoArguments, 0x16, 3);
  b.param(0, 1, "x");
  b.param(2, 2, "y");
  b.nested(4, 2);
  b.generic_param(0, 4 << 1, "T");
  return b;
}

TEST(Metadata, ReadsRowsAndHeaps) {
  const auto m = open(sample().build());
  ASSERT_NE(m, nullptr);
  EXPECT_EQ(m->version(), "v4.0.30319");
  EXPECT_EQ(m->module_name(), "sample.dll");
  EXPECT_EQ(m->assembly_name(), "sample");
  EXPECT_EQ(m->mvid()->at(0), std::byte{0x11});
  EXPECT_EQ(m->type_def(4)->name, "Inner`1");
  EXPECT_EQ(m->method_def(2)->name, "Second");
  EXPECT_EQ(m->method_def(2)->signature.size(), 5u);
  EXPECT_FALSE(m->type_def(0));
  EXPECT_FALSE(m->type_def(5));
}

TEST(Metadata, FindsOwnersAndLists) {
  const auto m = open(sample().build());
  ASSERT_NE(m, nullptr);
  EXPECT_EQ(m->type_of_method(1), 2u);
  EXPECT_EQ(m->type_of_method(2), 2u);
  EXPECT_EQ(m->type_of_method(3), 4u);
  EXPECT_EQ(m->type_of_method(4), 0u);
  EXPECT_EQ(m->methods_of(2).size(), 2u);
  EXPECT_EQ(m->methods_of(3).size(), 0u);
  EXPECT_EQ(m->enclosing_type(4), 2u);
  EXPECT_EQ(m->enclosing_type(2), 0u);
  EXPECT_EQ(m->params_of(2).size(), 2u);
  EXPECT_EQ(m->params_of(3).size(), 0u);
  const RowRange parameters = m->generic_params_of(Token(TableId::type_def, 4));
  ASSERT_EQ(parameters.size(), 1u);
  EXPECT_EQ(m->generic_param(parameters.first)->name, "T");
}

TEST(Metadata, UnsortedTablesAreScanned) {
  MetadataBuilder b = sample();
  b.sorted = 0;
  b.nested(3, 2);  // out of order
  const auto m = open(b.build());
  ASSERT_NE(m, nullptr);
  EXPECT_EQ(m->enclosing_type(4), 2u);
  EXPECT_EQ(m->enclosing_type(3), 2u);
}

TEST(Metadata, UncompressedWithPointerTables) {
  MetadataBuilder b = sample();
  b.tables_name = "#-";
  for (const unsigned rid : {3u, 1u, 2u}) b.row(0x05, {{rid}});  // MethodPtr
  const auto m = open(b.build());
  ASSERT_NE(m, nullptr);
  EXPECT_TRUE(m->is_uncompressed());
  EXPECT_EQ(m->method_at(m->methods_of(2).first), 3u);
  EXPECT_EQ(m->type_of_method(3), 2u);
  EXPECT_EQ(m->type_of_method(2), 4u);
}

TEST(Metadata, WideHeapIndices) {
  MetadataBuilder b;
  b.heap_flags = 7;
  const auto name = b.string("wide.dll");
  b.row(0x00, {{0}, {name, 4}, {b.guid(0x22), 4}, {0, 4}, {0, 4}});
  const auto m = open(b.build());
  ASSERT_NE(m, nullptr);
  EXPECT_EQ(m->module_name(), "wide.dll");
  EXPECT_EQ(m->mvid()->at(15), std::byte{0x22});
}

TEST(Metadata, CodedIndicesWidenWithTheirLargestTable) {
  TableSizes sizes;
  const Column scope{Column::Kind::coded, static_cast<std::uint8_t>(CodedIndex::resolution_scope)};
  sizes.rows[static_cast<unsigned>(TableId::type_ref)] = 0x3fff;
  EXPECT_EQ(column_width(scope, sizes), 2u);
  sizes.rows[static_cast<unsigned>(TableId::type_ref)] = 0x4000;
  EXPECT_EQ(column_width(scope, sizes), 4u);
  const Column attribute{Column::Kind::coded, static_cast<std::uint8_t>(CodedIndex::has_custom_attribute)};
  EXPECT_EQ(column_width(attribute, sizes), 4u);  // five tag bits: 2048 rows suffice
}

TEST(Metadata, EveryTruncationIsSurvived) {
  const auto whole = sample().build();
  for (std::size_t n = 0; n < whole.size(); n++) {
    const auto m = open({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n)});
    if (m == nullptr) continue;
    for (std::uint32_t rid = 0; rid < 8; rid++) {
      (void)m->type_def(rid);
      (void)m->method_def(rid);
      (void)m->enclosing_type(rid);
      (void)m->type_of_method(rid);
    }
  }
}

TEST(Metadata, RefusesForgedSizes) {
  const auto whole = sample().build();
  auto rows = whole;  // a row count larger than the stream: first count behind the two masks of the #~ stream
  std::uint32_t stream = 0;
  std::memcpy(&stream, rows.data() + 32, 4);
  rows[stream + 24] = rows[stream + 25] = rows[stream + 26] = std::byte{0xff};
  EXPECT_EQ(open(rows), nullptr);
  auto unknown = whole;  // a table that does not exist
  unknown[stream + 8 + 6] = std::byte{0x80};
  EXPECT_EQ(open(unknown), nullptr);
  auto magic = whole;
  magic[0] = std::byte{0};
  EXPECT_EQ(open(magic), nullptr);
}

TEST(MetadataBytes, LoadsOnlyWhatIsAskedFor) {
  memory::BufferMemory memory;
  const std::vector<std::byte> bytes(10 * MetadataBytes::kChunk, std::byte{7});
  memory.add(0x10000, bytes);
  const auto lazy = MetadataBytes::lazy(memory, 0x10000, bytes.size() + 100);
  ASSERT_TRUE(lazy);
  EXPECT_EQ((*lazy)->loaded(), 0u);
  ASSERT_NE((*lazy)->at(3 * MetadataBytes::kChunk - 1, 2), nullptr);
  EXPECT_EQ((*lazy)->loaded(), 2 * MetadataBytes::kChunk);
  EXPECT_EQ((*lazy)->at(bytes.size(), 1), nullptr);  // inside, but not readable
  EXPECT_TRUE((*lazy)->has_holes());
  EXPECT_EQ((*lazy)->at(bytes.size() + 100, 1), nullptr);
  EXPECT_FALSE(MetadataBytes::lazy(memory, 0, MetadataBytes::kMaxSize + 1));
  EXPECT_FALSE(MetadataBytes::lazy(memory, ~Address{0} - 10, 100));
}

TEST(MetadataBytes, TextEndsAtNulEndAndLimit) {
  const auto bytes = bytes_of({'a', 'b', 0, 'c', 'd'});
  const auto b = MetadataBytes::borrow(bytes, nullptr);
  EXPECT_EQ(b->text(0, 5, 100), "ab");
  EXPECT_EQ(b->text(3, 5, 100), "cd");
  EXPECT_EQ(b->text(0, 5, 1), "a");
  EXPECT_EQ(b->text(2, 5, 100), "");
  EXPECT_EQ(b->text(9, 20, 100), "");
}

}  // namespace
}  // namespace mixstack::dotnet::names
