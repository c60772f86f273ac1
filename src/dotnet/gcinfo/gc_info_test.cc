#include "dotnet/gcinfo/gc_info.h"

#include <gtest/gtest.h>

#include <string_view>

#include "dotnet/gcinfo/bit_reader.h"
#include "support/gc_info_bits.h"

namespace mixstack::dotnet {
namespace {

using Bits = test::GcInfoBits;

Result<GcInfoHeader> decode(std::string_view text, std::uint32_t version, Arch arch = Arch::x86_64) {
  return decode_gc_info_header(test::gc_info_from_hex(text), arch, version);
}

/// Bytes of methods of living processes. The lengths are those of their unwind rows; the ends of prologues and the
/// slots are where their machine code puts the context: `mov [rbp-8], rdi` ends at 24, say.
struct Seen {
  std::string_view bytes;
  std::uint32_t version, length, prologue;
  GenericContextKind kind;
};
using K = GenericContextKind;

TEST(GcInfo, MethodsOfLivingProcesses) {
  constexpr Seen kSeen[] = {
      {"e1b874fd0004cdd3c406b8c36030180c00691a6605020241", 4, 151, 24, K::this_object},  // Repository<T>.Find
      {"a18074fd00040dd3c401ee30180c000000691a6606020282", 4, 144, 24, K::type},         // a static one
      {"c1c817063f8061d4283be101de30280c0685030000000000", 4, 249, 34, K::method_desc},  // a virtual one
      {"a130d6fd00868fd5dfc406e8cb1c0683c101000000000000", 4, 198, 30, K::type},         // of a structure
      {"c1011ac00d7e00d05e45c1c3181090048a4ca80119ac6150", 4, 320, 47, K::method_desc},  // with handlers
      {"a1112f200f7e00305d3a31c87dc283a20bc8a02f63380c0e", 4, 738, 58, K::type},         // MoveNext of an async method
      {"e1b874fd0004cdd3c406b8c36030180c691a66050204020d", 5, 151, 24, K::this_object},
      {"c16874fd00044dd2c401ee30180c0000791a66060204041a", 5, 141, 24, K::method_desc},
      {"e19829400c7e00e38da59a9bf0206918340a83c101000000", 5, 563, 35, K::this_object},
  };
  for (const Seen& seen : kSeen) {
    const auto h = decode(seen.bytes, seen.version);
    ASSERT_TRUE(h) << seen.bytes;
    EXPECT_FALSE(h->is_slim);
    EXPECT_EQ(h->code_length, seen.length);
    EXPECT_EQ(h->prologue_size, seen.prologue);
    EXPECT_EQ(h->context, seen.kind);
    EXPECT_EQ(h->context_slot, -8);
    EXPECT_EQ(h->base_register, unsigned{x86_64_reg::rbp});
  }
}

TEST(GcInfo, ACookieComesBeforeTheContext) {
  const auto h = decode("c988570660fb018836c18903cc615018002a7b09660202c6", 4);  // has a stackalloc
  ASSERT_TRUE(h);
  EXPECT_EQ(h->gs_cookie_slot, -80);
  EXPECT_EQ(h->context_slot, -8);
  EXPECT_EQ(h->prologue_size, 38u);
  EXPECT_EQ(h->epilogue_size, 0u);
  EXPECT_EQ(h->code_length, 241u);
}

TEST(GcInfo, TheShortFormHasNoContext) {
  for (const std::uint32_t version : {4u, 5u}) {
    const auto h = decode("9e80307d1800", version);
    ASSERT_TRUE(h);
    EXPECT_TRUE(h->is_slim);
    EXPECT_EQ(h->code_length, 39u);
    EXPECT_EQ(h->base_register, unsigned{x86_64_reg::rbp});
    EXPECT_EQ(h->context, K::none);
  }
}

TEST(GcInfo, MethodsOfArm64Images) {
  struct Image {
    std::string_view bytes;
    std::uint32_t version, length, prologue;
    std::int32_t slot;
  };
  // Methods of System.Collections.dll of 10.0.12 and of 11.0.0; the lengths are those of their unwind data.
  constexpr Image kImages[] = {{"e168420800836372491160065000f7074800501044004000", 4, 308, 20, 16},
                               {"e1d81aa0990094c8f0a1c40a18399a5439e3c64e1f428e2a", 4, 1388, 56, 152},
                               {"e128420800836362491160065000f707420050103e004000", 5, 276, 20, 16},
                               {"e1781aa0990094c0e061448a16369040098306ce1d3f881e", 5, 1340, 56, 152}};
  for (const Image& image : kImages) {
    const auto h = decode(image.bytes, image.version, Arch::aarch64);
    ASSERT_TRUE(h) << image.bytes;
    EXPECT_EQ(h->code_length, image.length);
    EXPECT_EQ(h->prologue_size, image.prologue);
    EXPECT_EQ(h->context, K::this_object);
    EXPECT_EQ(h->context_slot, image.slot);
    EXPECT_EQ(h->base_register, unsigned{aarch64_reg::fp});
  }
}

TEST(GcInfo, OfArm64OffsetsCountInstructions) {
  Bits bits;
  bits.put(1, 1).put(0x30 | 0x40, 10).number(50, 8).number(4, 5).number(2, 6).number(0, 2).number(1, 3);
  bits.number(0, 3).number(1, 1);
  const auto h = decode_gc_info_header(bits.bytes(), Arch::aarch64, 5);
  ASSERT_TRUE(h);
  EXPECT_EQ(h->code_length, 200u);
  EXPECT_EQ(h->prologue_size, 20u);
  EXPECT_EQ(h->context_slot, 16);
  EXPECT_EQ(h->base_register, unsigned{aarch64_reg::fp});
  EXPECT_EQ(h->outgoing_bytes, 8u);
  EXPECT_EQ(h->interruptible_ranges, 1u);
}

TEST(GcInfo, OnlyVersion4HasAPspSym) {
  Bits bits;
  bits.put(1, 1).put(0x8 | 0x10, 10).number(60, 8).number(0, 5).number(5, 6).number(3, 6).number(0, 3);
  bits.number(0, 2).number(0, 1);
  const auto old = decode_gc_info_header(bits.bytes(), Arch::x86_64, 4);
  ASSERT_TRUE(old);
  EXPECT_EQ(old->psp_sym_slot, 40);
  EXPECT_EQ(old->context_slot, 24);
  EXPECT_FALSE(old->base_register);
  const auto young = decode_gc_info_header(bits.bytes(), Arch::x86_64, 5);
  ASSERT_TRUE(young);
  EXPECT_FALSE(young->psp_sym_slot);
  EXPECT_EQ(young->context_slot, 40);
}

TEST(GcInfo, WhatCannotBeIsRefused) {
  EXPECT_EQ(decode("e1b874fd0004cd", 3).error().code, ErrorCode::unsupported);
  EXPECT_EQ(decode("e1b874fd0004cd", 6).error().code, ErrorCode::unsupported);
  EXPECT_EQ(decode("e1b874fd0004cd", 4, Arch::x86).error().code, ErrorCode::unsupported_cpu);
  EXPECT_EQ(decode("e1b8", 4).error().code, ErrorCode::truncated);
  EXPECT_EQ(decode("", 4).error().code, ErrorCode::truncated);
  EXPECT_EQ(decode("ffffffffffffffffffffffffffffffffffffffff", 4).error().code, ErrorCode::truncated);
  EXPECT_EQ(decode("00000000", 5).error().code, ErrorCode::malformed);  // code of no length
  Bits long_prologue;
  long_prologue.put(1, 1).put(0x10, 10).number(4, 8).number(9, 5).number(0, 6).number(0, 3).number(0, 2).number(0, 1);
  EXPECT_EQ(decode_gc_info_header(long_prologue.bytes(), Arch::x86_64, 4).error().code, ErrorCode::malformed);
}

TEST(BitReader, SignedNumbersTakeTheSignOfTheirLastGroup) {
  Bits bits;
  bits.number(0x3f, 6).number(0x1f, 6).put(0x7f, 7).number(0x3e, 6);
  BitReader in(bits.bytes());
  EXPECT_EQ(in.signed_number(6), -1);
  EXPECT_EQ(in.signed_number(6), 31);
  EXPECT_EQ(in.signed_number(6), -65);
  EXPECT_TRUE(in.ok());
  EXPECT_EQ(in.bits(32), 0u);
  EXPECT_FALSE(in.ok());
}

}  // namespace
}  // namespace mixstack::dotnet
