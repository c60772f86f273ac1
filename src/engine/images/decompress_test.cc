#include "engine/images/decompress.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>

namespace mixstack::images {
namespace {

using Bytes = std::vector<std::byte>;

Bytes sample() {
  Bytes out(300000);
  for (std::size_t i = 0; i < out.size(); i++) out[i] = static_cast<std::byte>(i * i >> 7);
  return out;
}

Bytes zlib_of(const Bytes& in) {
  Bytes out(compressBound(in.size()));
  uLongf size = out.size();
  compress(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(in.data()), in.size());
  out.resize(size);
  return out;
}
Bytes zstd_of(const Bytes& in) {
  Bytes out(ZSTD_compressBound(in.size()));
  out.resize(ZSTD_compress(out.data(), out.size(), in.data(), in.size(), 3));
  return out;
}
Bytes xz_of(const Bytes& in) {
  Bytes out(lzma_stream_buffer_bound(in.size()));
  std::size_t size = 0;
  EXPECT_EQ(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC64, nullptr, reinterpret_cast<const std::uint8_t*>(in.data()),
                                    in.size(), reinterpret_cast<std::uint8_t*>(out.data()), &size, out.size()),
            LZMA_OK);
  out.resize(size);
  return out;
}

struct Format {
  const char* name;
  Bytes (*compress)(const Bytes&);
  Result<Bytes> (*decompress)(std::span<const std::byte>, std::size_t);
};
constexpr Format kFormats[] = {
    {"zlib", zlib_of, decompress_zlib}, {"zstd", zstd_of, decompress_zstd}, {"xz", xz_of, decompress_xz}};

TEST(Decompress, GivesBackWhatWasCompressed) {
  for (const auto& f : kFormats) {
    const auto out = f.decompress(f.compress(sample()), 1 << 20);
    ASSERT_TRUE(out) << f.name;
    EXPECT_EQ(*out, sample()) << f.name;
    EXPECT_EQ(f.decompress(f.compress({}), 10)->size(), 0u) << f.name;
  }
}

TEST(Decompress, StopsAtTheLimit) {
  for (const auto& f : kFormats) {
    const auto out = f.decompress(f.compress(sample()), 100000);
    ASSERT_FALSE(out) << f.name;
    EXPECT_EQ(out.error().code, ErrorCode::limit_exceeded) << f.name;
  }
}

TEST(Decompress, TruncatedAndDamagedStreamsAreErrors) {
  for (const auto& f : kFormats) {
    const auto good = f.compress(sample());
    for (std::size_t size = 0; size < good.size(); size += good.size() / 50 + 1)
      EXPECT_FALSE(f.decompress(std::span(good).first(size), 1 << 20)) << f.name << " " << size;
    for (std::size_t at = 0; at < good.size(); at += good.size() / 50 + 1) {
      auto bad = good;
      bad[at] ^= std::byte{0xff};
      const auto out = f.decompress(bad, 1 << 20);
      if (out) {
        EXPECT_LE(out->size(), 1u << 20);
      }
    }
  }
}

Bytes with_header(std::uint32_t type, std::uint64_t size, const Bytes& body) {
  const Elf64_Chdr header{type, 0, size, 1};
  Bytes out(sizeof header + body.size());
  std::memcpy(out.data(), &header, sizeof header);
  std::copy(body.begin(), body.end(), out.begin() + sizeof header);
  return out;
}

TEST(Decompress, SectionsOfBothKinds) {
  EXPECT_EQ(*decompress_section(with_header(1, sample().size(), zlib_of(sample())), true, 1 << 20), sample());
  EXPECT_EQ(*decompress_section(with_header(2, sample().size(), zstd_of(sample())), true, 1 << 20), sample());
  EXPECT_FALSE(decompress_section(with_header(3, 10, {}), true, 1 << 20));
  EXPECT_FALSE(decompress_section(with_header(1, std::uint64_t{1} << 60, zlib_of(sample())), true, 1 << 20));
  EXPECT_FALSE(decompress_section(with_header(1, 17, zlib_of(sample())), true, 1 << 20));
  EXPECT_FALSE(decompress_section({}, true, 1 << 20));
}

}  // namespace
}  // namespace mixstack::images
