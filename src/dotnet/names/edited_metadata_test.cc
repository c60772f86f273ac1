#include "dotnet/names/edited_metadata.h"

#include <gtest/gtest.h>

#include "dotnet/names/metadata.h"
#include "support/fake_names_runtime.h"

namespace mixstack::dotnet::names {
namespace {

using test::ByteWriter;

/// A PEAssembly whose metadata an edit has added a method to, at offsets of our own.
class EditedMetadataTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto& l = runtime_.layouts;
    l.pe_assembly.md_import_is_rw.offset = 16, l.pe_assembly.md_import.offset = 24;
    auto& e = l.edited_metadata;
    e.stgdb.offset = 16, e.mini_md.offset = 0;
    e.schema.offset = 8, e.table_count.offset = 304, e.tables.offset = 512;
    e.string_heap.offset = 320, e.blob_heap.offset = 352, e.guid_heap.offset = 384;
    e.heaps.offset = 6, e.sorted.offset = 16, e.record_counts.offset = 24;
    e.table_size = 32;
    e.pool_data.offset = 0, e.pool_next.offset = 8, e.pool_used.offset = 16;
    e.segment_data.offset = 8, e.segment_next.offset = 16, e.segment_used.offset = 0;
    tables_[0x00] = {ByteWriter().u16(0).u16(1).u16(1).u16(0).u16(0)};
    tables_[0x02] = {ByteWriter().u32(0).u16(5).u16(0).u16(0).u16(1).u16(1)};
    tables_[0x06] = {method(9), method(13)};
    rows_[0x00] = 1, rows_[0x02] = 1, rows_[0x06] = 2;
    strings_ = {ByteWriter().u8(0).text("lib").u8(0).text("Lot").u8(0).text("Old").u8(0),
                ByteWriter().text("Added").u8(0)};
  }
  static ByteWriter method(unsigned name) { return ByteWriter().u32(0).u16(0).u16(0x16).u16(name).u16(1).u16(1); }

  /// The head of a pool, and the pieces that follow it.
  ByteWriter pool(const std::vector<ByteWriter>& pieces) {
    Address next = 0;
    for (std::size_t i = pieces.size(); i-- > 1;) {
      const Address data = put(pieces[i]), at = runtime_.place();
      runtime_.memory.add(at, ByteWriter().u32(pieces[i].bytes.size()).u32(0).u64(data).u64(next).bytes);
      next = at;
    }
    const Address data = pieces.empty() ? 0 : put(pieces[0]);
    return ByteWriter().u64(data).u64(next).u32(pieces.empty() ? 0 : pieces[0].bytes.size()).u32(0).u64(0);
  }
  Address put(const ByteWriter& bytes) {
    const Address at = runtime_.place(bytes.bytes.size());
    runtime_.memory.add(at, bytes.bytes);
    return at;
  }
  Result<std::vector<std::byte>> read(std::uint64_t budget = 1 << 20) {
    ByteWriter m;
    m.u64(0).u32(0).u16(0).u8(0).u8(0).u64(0).u64(0);  // the schema begins at 8
    for (unsigned t = 0; t < 64; t++) m.u32(rows_[t]);
    while (m.bytes.size() < 304) m.u8(0);
    m.u32(45).u32(0).u64(0);
    m.append(pool(strings_).bytes).append(pool({ByteWriter().u8(0).u8(3).u8(0).u8(0).u8(1)}).bytes);
    m.append(pool({ByteWriter().u64(1).u64(2)}).bytes);
    while (m.bytes.size() < 512) m.u8(0);
    for (unsigned t = 0; t < 64; t++) m.append(pool(tables_[t]).bytes);
    const Address mini = put(m), import = put(ByteWriter().u64(0).u64(0).u64(mini));
    const Address pe = put(ByteWriter().u64(0).u64(0).u32(is_written_).u32(0).u64(import));
    return EditedMetadata::read(runtime_.runtime(), runtime_.memory, pe, budget);
  }

  FakeRuntime runtime_;
  std::map<unsigned, std::vector<ByteWriter>> tables_;
  std::map<unsigned, std::uint32_t> rows_;
  std::vector<ByteWriter> strings_;
  unsigned is_written_ = 1;
};

TEST_F(EditedMetadataTest, PiecesAreOneTable) {
  const auto bytes = read();
  ASSERT_TRUE(bytes) << static_cast<int>(bytes.error().code);
  const auto metadata = Metadata::open(MetadataBytes::borrow(*bytes, nullptr));
  ASSERT_TRUE(metadata) << static_cast<int>(metadata.error().code);
  EXPECT_EQ((*metadata)->row_count(TableId::method_def), 2u);
  EXPECT_EQ((*metadata)->method_def(1)->name, "Old");
  EXPECT_EQ((*metadata)->method_def(2)->name, "Added");
  EXPECT_EQ((*metadata)->method_def(2)->signature.size(), 3u);
  EXPECT_EQ((*metadata)->type_of_method(2), 1u);
  EXPECT_EQ((*metadata)->module_name(), "lib");
  EXPECT_EQ((*metadata)->mvid().value()[0], std::byte{1});
}

TEST_F(EditedMetadataTest, AnEditMayWidenAllColumns) {
  tables_[0x00] = {ByteWriter().u16(0).u32(1).u32(1).u32(0).u32(0)};
  tables_[0x02] = {ByteWriter().u32(0).u32(5).u32(0).u32(0).u32(1).u32(1)};
  const auto wide = [](unsigned name) { return ByteWriter().u32(0).u16(0).u16(0x16).u32(name).u32(1).u32(1); };
  tables_[0x06] = {wide(9), wide(13)};
  const auto bytes = read();
  ASSERT_TRUE(bytes) << static_cast<int>(bytes.error().code);
  const auto metadata = Metadata::open(MetadataBytes::borrow(*bytes, nullptr));
  ASSERT_TRUE(metadata) << static_cast<int>(metadata.error().code);
  EXPECT_EQ((*metadata)->method_def(2)->name, "Added");
  EXPECT_EQ((*metadata)->type_of_method(2), 1u);
}

TEST_F(EditedMetadataTest, NoBytesAreReadOfWhatContradictsItself) {
  tables_[0x06].pop_back();  // a row that is counted and not there
  EXPECT_EQ(read().error().code, ErrorCode::malformed);
  tables_[0x06].push_back(method(13));
  rows_[0x3f] = 1;  // no table
  EXPECT_TRUE(read()) << "beyond the number of tables";
  rows_[0x2d] = 0x7fffffff;
  EXPECT_TRUE(read());
  rows_[0x06] = 0x7fffffff;
  EXPECT_EQ(read().error().code, ErrorCode::malformed);
}

TEST_F(EditedMetadataTest, HasBounds) {
  EXPECT_EQ(read(64).error().code, ErrorCode::limit_exceeded);
  strings_.assign(EditedMetadata::kMaxPieces + 2, ByteWriter().u8(0));
  EXPECT_EQ(read().error().code, ErrorCode::limit_exceeded);
}

TEST_F(EditedMetadataTest, OnlyWhatCanBeWrittenHasIt) {
  is_written_ = 0;
  EXPECT_EQ(read().error().code, ErrorCode::not_found);
  is_written_ = 1;
  runtime_.layouts.edited_metadata = {};
  EXPECT_EQ(read().error().code, ErrorCode::field_unavailable);
}

}  // namespace
}  // namespace mixstack::dotnet::names
