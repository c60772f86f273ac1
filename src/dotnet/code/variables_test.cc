#include "dotnet/code/variables.h"

#include <gtest/gtest.h>

#include <initializer_list>

#include "base/memory/buffer_memory.h"
#include "support/nibbles.h"

namespace mixstack::dotnet {
namespace {

using Kind = VariablePlace::Kind;

using test::nibbles;

constexpr std::uint32_t kThis = 4, kFirst = 5, kTypeContext = 1;  // numbers are kept from -4 on
constexpr std::uint32_t kInRegister = 0, kByRegister = 1, kInFloat = 2, kOnStack = 3, kByStack = 4, kTwo = 5;

std::vector<std::byte> table() {
  return nibbles({7,                                           //
                  0,   10,  kThis,        kInRegister, 7,      // rdi
                  10,  200, kThis,        kOnStack,    5, 33,  // [rbp - 16]
                  10,  90,  kFirst,       kInRegister, 3,      // rbx
                  100, 110, kFirst,       kByStack,    4, 48,  // [[rsp + 24]]
                  0,   300, kTypeContext, kOnStack,    5, 17,  //
                  5,   10,  kFirst + 1,   kTwo,        0, 2,   // rax, rdx
                  5,   10,  kFirst + 2,   kInFloat,    1});
}

TEST(Variables, PlacesOfEachKind) {
  const auto homes = decode_variables(table(), Arch::x86_64);
  ASSERT_TRUE(homes);
  ASSERT_EQ(homes->size(), 7u);
  EXPECT_EQ((*homes)[0], (VariableHome{0, 10, 0, {Kind::in_register, x86_64_reg::rdi, 0, 0}}));
  EXPECT_EQ((*homes)[1], (VariableHome{10, 210, 0, {Kind::on_stack, x86_64_reg::rbp, 0, -16}}));
  EXPECT_EQ((*homes)[2], (VariableHome{10, 100, 1, {Kind::in_register, x86_64_reg::rbx, 0, 0}}));
  EXPECT_EQ((*homes)[3], (VariableHome{100, 210, 1, {Kind::by_stack, x86_64_reg::rsp, 0, 24}}));
  EXPECT_EQ((*homes)[4].number, -3) << "the hidden argument of shared generic code";
  EXPECT_EQ((*homes)[5].place, (VariablePlace{Kind::in_registers, x86_64_reg::rax, x86_64_reg::rdx, 0}));
  EXPECT_EQ((*homes)[6].place.kind, Kind::elsewhere);
}

TEST(Variables, RegistersAreThoseOfTheCpu) {
  const auto homes =
      decode_variables(nibbles({2, 0, 9, kThis, kInRegister, 19, 0, 9, kFirst, kOnStack, 29, 33}), Arch::aarch64);
  ASSERT_TRUE(homes);
  EXPECT_EQ((*homes)[0].place.first, unsigned{aarch64_reg::x19});
  EXPECT_EQ((*homes)[1].place, (VariablePlace{Kind::on_stack, aarch64_reg::fp, 0, -16}));
  const auto vector = nibbles({1, 0, 9, kThis, kInRegister, 33});
  for (const Arch arch : {Arch::x86_64, Arch::aarch64})
    EXPECT_EQ(decode_variables(vector, arch)->front().place, VariablePlace{}) << "numbered behind the general ones";
  EXPECT_EQ(decode_variables(vector, Arch::arm).error().code, ErrorCode::unsupported_cpu);
}

TEST(Variables, WhereOneIs) {
  const auto homes = decode_variables(table(), Arch::x86_64).value();
  EXPECT_EQ(place_of(homes, 0, 0)->kind, Kind::in_register);
  EXPECT_EQ(place_of(homes, 0, 9)->kind, Kind::in_register);
  EXPECT_EQ(place_of(homes, 0, 10)->kind, Kind::on_stack);
  EXPECT_FALSE(place_of(homes, 0, 210)) << "behind its end";
  EXPECT_EQ(place_of(homes, 1, 99)->kind, Kind::in_register);
  EXPECT_EQ(place_of(homes, 1, 100)->kind, Kind::by_stack);
  EXPECT_FALSE(place_of(homes, 9, 50));
  auto twice = homes;
  twice.push_back({0, 300, 1, {Kind::in_register, x86_64_reg::r12, 0, 0}});
  EXPECT_FALSE(place_of(twice, 1, 50)) << "the table contradicts itself";
}

TEST(Variables, RegistersBehindACall) {
  EXPECT_TRUE(is_kept_across_calls(Arch::x86_64, x86_64_reg::rbx));
  EXPECT_TRUE(is_kept_across_calls(Arch::x86_64, x86_64_reg::rsp));
  EXPECT_FALSE(is_kept_across_calls(Arch::x86_64, x86_64_reg::rdi));
  EXPECT_TRUE(is_kept_across_calls(Arch::aarch64, aarch64_reg::x19));
  EXPECT_TRUE(is_kept_across_calls(Arch::aarch64, aarch64_reg::fp));
  EXPECT_FALSE(is_kept_across_calls(Arch::aarch64, aarch64_reg::x0));
  EXPECT_FALSE(is_kept_across_calls(Arch::x86_64, 100));
}

TEST(Variables, WhatCannotBeRight) {
  const auto whole = table();
  for (std::size_t cut = 1; cut < whole.size(); cut++)
    EXPECT_FALSE(decode_variables(std::span(whole).first(whole.size() - cut), Arch::x86_64)) << cut;
  EXPECT_EQ(decode_variables(nibbles({0xffffff}), Arch::x86_64).error().code, ErrorCode::limit_exceeded);
  EXPECT_EQ(decode_variables(nibbles({1000, 1, 2, 3}), Arch::x86_64).error().code, ErrorCode::truncated);
  EXPECT_EQ(decode_variables(nibbles({1, 0, 9, kThis, 77, 0}), Arch::x86_64).error().code, ErrorCode::malformed);
  EXPECT_EQ(decode_variables(nibbles({1, 0, 0x7fffffff, kThis, 0, 0}), Arch::x86_64).error().code,
            ErrorCode::malformed);
}

// .NET 11: the number first, from -6 on; what a call returned has the IL offset of the call in the place of a length.
std::vector<std::byte> table_of_11() {
  constexpr std::uint32_t kReturned = 1, kContinuation = 2, kContext = 3, kArgument = 6;
  return nibbles({5,  //
                  kArgument,
                  0,
                  10,
                  kInRegister,
                  7,  // rdi
                  kArgument,
                  10,
                  200,
                  kOnStack,
                  5,
                  33,  // [rbp - 16]
                  kReturned,
                  40,
                  300,
                  kInRegister,
                  0,  // rax
                  kContinuation,
                  0,
                  90,
                  kInRegister,
                  3,  // rbx
                  kContext,
                  0,
                  300,
                  kOnStack,
                  5,
                  17});
}

TEST(Variables, Of11BeginWithTheirNumber) {
  const auto homes = decode_variables(table_of_11(), Arch::x86_64, DebugInfoForm::headers);
  ASSERT_TRUE(homes);
  ASSERT_EQ(homes->size(), 5u);
  EXPECT_EQ((*homes)[0], (VariableHome{0, 10, 0, {Kind::in_register, x86_64_reg::rdi, 0, 0}}));
  EXPECT_EQ((*homes)[1], (VariableHome{10, 210, 0, {Kind::on_stack, x86_64_reg::rbp, 0, -16}}));
  EXPECT_EQ((*homes)[2], (VariableHome{40, 41, -5, {Kind::in_register, x86_64_reg::rax, 0, 0}}))
      << "of the call at 300";
  EXPECT_EQ((*homes)[3].number, -4) << "the continuation of a runtime-async body";
  EXPECT_EQ((*homes)[4].number, -3) << "the hidden argument of shared generic code";
  const auto whole = table_of_11();
  for (std::size_t cut = 1; cut < whole.size(); cut++)
    EXPECT_FALSE(decode_variables(std::span(whole).first(whole.size() - cut), Arch::x86_64, DebugInfoForm::headers));
  EXPECT_EQ(decode_variables(nibbles({1, 6, 0x7fffffff, 1, 0, 0}), Arch::x86_64, DebugInfoForm::headers).error().code,
            ErrorCode::malformed);
}

TEST(Variables, Of11LieWhereTheHeaderSays) {
  constexpr Address kBlob = 0x10000;
  const auto read = [](std::vector<std::byte> bytes, std::size_t before, std::size_t behind) {
    memory::BufferMemory memory;
    bytes.resize(bytes.size() + before, std::byte{0xee});
    const auto homes = table_of_11();
    bytes.insert(bytes.end(), homes.begin(), homes.end());
    bytes.resize(bytes.size() + behind, std::byte{0xdd});
    memory.add(kBlob, bytes);
    return read_variables(memory, kBlob, DebugInfoWriter::jit, DebugInfoForm::headers, Arch::x86_64);
  };
  const auto size = static_cast<std::uint32_t>(table_of_11().size());
  EXPECT_EQ(read(nibbles({3, size}), 3, 0)->size(), 5u) << "slim";
  EXPECT_EQ(read(nibbles({0, 3, size, 4, 60, 9, 2}), 3, 75)->size(), 5u) << "fat";
  EXPECT_EQ(read(nibbles({0, 0, size, 0, 0, 0, 0}), 0, 0)->size(), 5u);
  EXPECT_TRUE(read(nibbles({3, 0}), 3, 0)->empty());
  EXPECT_EQ(read(nibbles({3, 0x7fffffff}), 3, 0).error().code, ErrorCode::limit_exceeded);
}

TEST(Variables, LieBehindTheBounds) {
  constexpr Address kBlob = 0x10000;
  const auto read = [](std::vector<std::byte> header, std::size_t before) {
    memory::BufferMemory memory;
    header.resize(header.size() + before, std::byte{0xee});
    const auto homes = table();
    header.insert(header.end(), homes.begin(), homes.end());
    memory.add(kBlob, header);
    return read_variables(memory, kBlob, DebugInfoWriter::ready_to_run, DebugInfoForm::bits, Arch::x86_64);
  };
  const auto size = static_cast<std::uint32_t>(table().size());
  EXPECT_EQ(read(nibbles({3, size}), 3)->size(), 7u);
  EXPECT_EQ(read(nibbles({0xffffffff, 3, 5, size}), 8)->size(), 7u) << "of instrumented code there are two of these";
  EXPECT_TRUE(read(nibbles({3, 0}), 3)->empty());
}

}  // namespace
}  // namespace mixstack::dotnet
