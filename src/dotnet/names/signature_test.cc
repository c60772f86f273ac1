#include "dotnet/names/signature.h"

#include <gtest/gtest.h>

#include "dotnet/names/compressed.h"
#include "dotnet/names/csharp_format.h"
#include "dotnet/names/raw_format.h"
#include "support/metadata_builder.h"

namespace mixstack::dotnet::names {
namespace {

using test::bytes_of;

/// Tokens of the sample: TypeRef 1 List`1, 2 its nested Enumerator, 3 Nullable`1, 4 ValueTuple`2, 5 InAttribute.
class SignatureTest : public ::testing::Test {
 protected:
  void SetUp() override {
    test::MetadataBuilder b;
    b.module("m.dll");
    b.type_ref("System.Collections.Generic", "List`1");
    b.type_ref("", "Enumerator", 1 << 2 | 3);
    b.type_ref("System", "Nullable`1");
    b.type_ref("System", "ValueTuple`2");
    b.type_ref("System.Runtime.InteropServices", "InAttribute");
    bytes_ = b.build();
    metadata_ = *Metadata::open(MetadataBytes::borrow(bytes_, nullptr));
  }
  static std::string raw(const TypeTree& tree, TypeIndex t) {
    BoundedText out(4096);
    append_raw_parameter(out, tree, t);
    return std::move(out).take();
  }
  static std::string csharp(const TypeTree& tree, TypeIndex t) {
    BoundedText out(4096);
    append_csharp_type(out, tree, t);
    return std::move(out).take();
  }
  /// Both forms of one type, as "raw | C#".
  std::string both(std::initializer_list<unsigned> blob) {
    TypeTree tree;
    const auto bytes = bytes_of(blob);
    const TypeIndex t = read_type(bytes, {metadata_.get(), nullptr, 8}, tree);
    return raw(tree, t) + " | " + csharp(tree, t);
  }
  std::vector<std::byte> bytes_;
  std::shared_ptr<const Metadata> metadata_;
};

constexpr unsigned type_ref(unsigned rid) { return rid << 2 | 1; }

TEST_F(SignatureTest, Primitives) {
  EXPECT_EQ(both({0x08}), "Int32 | int");
  EXPECT_EQ(both({0x0e}), "System.String | string");
  EXPECT_EQ(both({0x1c}), "System.Object | object");
  EXPECT_EQ(both({0x18}), "IntPtr | nint");
  EXPECT_EQ(both({0x16}), "TypedReference | TypedReference");
}

TEST_F(SignatureTest, ArraysPointersReferences) {
  EXPECT_EQ(both({0x1d, 0x0e}), "System.String[] | string[]");
  EXPECT_EQ(both({0x14, 0x08, 2, 0, 0}), "Int32[,] | int[,]");
  EXPECT_EQ(both({0x14, 0x08, 3, 1, 4, 2, 0, 0x7f}), "Int32[,,] | int[,,]");
  EXPECT_EQ(both({0x1d, 0x14, 0x08, 2, 0, 0}), "Int32[,][] | int[][,]");
  EXPECT_EQ(both({0x0f, 0x0f, 0x01}), "Void** | void**");
  EXPECT_EQ(both({0x10, 0x0e}), "System.String ByRef | ref string");
}

TEST_F(SignatureTest, NamedAndInstances) {
  EXPECT_EQ(both({0x15, 0x12, type_ref(1), 1, 0x08}), "System.Collections.Generic.List`1<Int32> | List<int>");
  EXPECT_EQ(both({0x15, 0x11, type_ref(2), 1, 0x0e}), "Enumerator<System.String> | List<string>.Enumerator");
  EXPECT_EQ(both({0x15, 0x11, type_ref(3), 1, 0x08}), "System.Nullable`1<Int32> | int?");
  EXPECT_EQ(both({0x15, 0x11, type_ref(4), 2, 0x08, 0x0e}), "System.ValueTuple`2<Int32,System.String> | (int, string)");
  EXPECT_EQ(both({0x13, 2}), "!2 | !2");
  EXPECT_EQ(both({0x1e, 1}), "!!1 | !!1");
}

TEST_F(SignatureTest, FunctionPointers) {
  EXPECT_EQ(both({0x1b, 0x00, 2, 0x0e, 0x08, 0x09}), "System.String (Int32, UInt32) | delegate*<int, uint, string>");
  EXPECT_EQ(both({0x1b, 0x09, 0, 0x01}), "Void () | delegate* unmanaged<void>");
  EXPECT_EQ(both({0x1b, 0x05, 1, 0x01, 0x08}), "Void (Int32, ...) | delegate* unmanaged<int, void>");
}

TEST_F(SignatureTest, ModifiersAreReadOver) {
  TypeTree tree;
  const auto blob = bytes_of({0x1f, type_ref(5), 0x10, 0x08});
  const TypeIndex t = read_type(blob, {metadata_.get(), nullptr, 8}, tree);
  EXPECT_TRUE(tree[t].has_in_modifier);
  EXPECT_EQ(raw(tree, t), "Int32 ByRef");
  EXPECT_EQ(both({0x22, 1, 1, 2, 3, 4, 5, 6, 7, 8, 0x08}), "Int32 | int");  // CMOD_INTERNAL
  EXPECT_EQ(both({0x45, 0x20, type_ref(5), 0x08}), "Int32 | int");
}

/// Knows two arguments and one handle.
class FakeResolver final : public TypeResolver {
 public:
  [[nodiscard]] TypeIndex class_argument(TypeTree& tree, std::uint32_t n) const override {
    return n == 0 ? primitive(tree, ElementType::i8) : kNoType;
  }
  [[nodiscard]] TypeIndex method_argument(TypeTree& tree, std::uint32_t n) const override {
    return n == 0 ? primitive(tree, ElementType::r4) : kNoType;
  }
  [[nodiscard]] TypeIndex handle(TypeTree& tree, std::uint64_t handle) const override {
    return primitive(tree, handle == 0x1122334455667788 ? ElementType::char_ : ElementType::u2);
  }

 private:
  static TypeIndex primitive(TypeTree& tree, ElementType e) {
    const TypeIndex t = tree.add(TypeKind::primitive);
    if (t != kNoType) tree.at(t).element = e;
    return t;
  }
};

TEST_F(SignatureTest, VariablesAndHandles) {
  const FakeResolver resolver;
  TypeTree tree;
  const auto blob =
      bytes_of({0x30, 1, 4, 0x01, 0x13, 0, 0x1e, 0, 0x1e, 7, 0x21, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11});
  const auto signature = read_method_signature(blob, {metadata_.get(), &resolver, 8}, tree);
  ASSERT_TRUE(signature);
  EXPECT_EQ(signature->generic_parameters, 1u);
  BoundedText out(100);
  append_raw_parameters(out, tree, *signature);
  EXPECT_EQ(out.text(), "(Int64, Single, !!7, Char)");
}

TEST_F(SignatureTest, SentinelEndsTheFixedParameters) {
  TypeTree tree;
  const auto blob = bytes_of({0x05, 2, 0x01, 0x08, 0x41, 0x0e});
  const auto signature = read_method_signature(blob, {metadata_.get(), nullptr, 8}, tree);
  ASSERT_TRUE(signature);
  BoundedText out(100);
  append_raw_parameters(out, tree, *signature);
  EXPECT_EQ(out.text(), "(Int32, ...)");
}

TEST_F(SignatureTest, MethodArguments) {
  TypeTree tree;
  EXPECT_EQ(read_method_arguments(bytes_of({0x0a, 2, 0x08, 0x0e}), {metadata_.get(), nullptr, 8}, tree).size(), 2u);
  EXPECT_TRUE(read_method_arguments(bytes_of({0x06, 2, 0x08}), {metadata_.get(), nullptr, 8}, tree).empty());
}

TEST_F(SignatureTest, EveryTruncationKeepsAPrefix) {
  const auto blob = bytes_of({0x20, 3, 0x01, 0x08, 0x15, 0x12, type_ref(1), 1, 0x0e, 0x14, 0x08, 2, 0, 0});
  for (std::size_t n = 0; n <= blob.size(); n++) {
    TypeTree tree;
    const auto signature = read_method_signature(std::span(blob).first(n), {metadata_.get(), nullptr, 8}, tree);
    if (!signature) continue;
    EXPECT_EQ(signature->is_cut, n < blob.size()) << n;
  }
}

TEST_F(SignatureTest, NestingIsBounded) {
  std::vector<std::byte> deep(100000, std::byte{0x0f});
  TypeTree tree;
  EXPECT_EQ(read_type(deep, {metadata_.get(), nullptr, 8}, tree), kNoType);
  EXPECT_TRUE(tree.is_cut());
  // Wide instead of deep: 4000 parameters are read, 100000 are not.
  std::vector<std::byte> wide = bytes_of({0x00, 0xc0, 0x01, 0x86, 0xa0, 0x01});
  wide.insert(wide.end(), 100000, std::byte{0x08});
  const auto signature = read_method_signature(wide, {metadata_.get(), nullptr, 8}, tree);
  ASSERT_TRUE(signature);
  EXPECT_TRUE(signature->is_cut);
}

TEST(Compressed, UnsignedAndSigned) {
  const auto value = [](std::initializer_list<unsigned> b) { return read_compressed(bytes_of(b)).value; };
  EXPECT_EQ(value({0x7f}), 0x7fu);
  EXPECT_EQ(value({0x80, 0x80}), 0x80u);
  EXPECT_EQ(value({0xbf, 0xff}), 0x3fffu);
  EXPECT_EQ(value({0xc0, 0x00, 0x40, 0x00}), 0x4000u);
  EXPECT_EQ(value({0xdf, 0xff, 0xff, 0xff}), 0x1fffffffu);
  EXPECT_EQ(read_compressed(bytes_of({0xe0, 0, 0, 0})).size, 0u);
  EXPECT_EQ(read_compressed(bytes_of({0xc0, 0, 0})).size, 0u);
  // Examples of ECMA-335 II.23.2.
  const auto number = [](std::initializer_list<unsigned> b) { return signed_of(read_compressed(bytes_of(b))); };
  EXPECT_EQ(number({0x06}), 3);
  EXPECT_EQ(number({0x7b}), -3);
  EXPECT_EQ(number({0x80, 0x80}), 64);
  EXPECT_EQ(number({0x01}), -64);
  EXPECT_EQ(number({0xc0, 0x00, 0x00, 0x01}), -268435456);
}

}  // namespace
}  // namespace mixstack::dotnet::names
