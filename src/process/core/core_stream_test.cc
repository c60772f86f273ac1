#include "process/core/core_stream.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

#include "process/core/core_samples.h"

namespace mixstack::process {
namespace {

using test::all_of;
using test::Bytes;

Bytes joined(std::initializer_list<Bytes> parts) {
  Bytes out;
  for (const auto& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

Bytes bytes_of(std::initializer_list<int> values) {
  Bytes out;
  for (const int v : values) out.push_back(static_cast<std::byte>(v));
  return out;
}

bool is_prefix(const Bytes& part, const Bytes& whole) {
  return part.size() <= whole.size() && std::equal(part.begin(), part.end(), whole.begin());
}

std::unique_ptr<CoreBytes> opened(const test::TemporaryFolder& folder, const Bytes& bytes,
                                  const CoreBytesOptions& options = {}) {
  auto core = CoreBytes::open(folder.write("core", bytes), options);
  EXPECT_TRUE(core);
  return core ? std::move(*core) : nullptr;
}

/// The refusal of a core of which nothing can be read.
ErrorCode refusal(const test::TemporaryFolder& folder, const Bytes& bytes, const CoreBytesOptions& options = {}) {
  const auto core = CoreBytes::open(folder.write("core", bytes), options);
  return core ? ErrorCode::none : core.error().code;
}

TEST(CoreStream, SeveralFramesAreOneCore) {
  const test::TemporaryFolder folder;
  const Bytes first = test::core_like(400'000, 1), second = test::core_like(300'001, 2);
  for (const auto& tool : test::kTools) {
    SCOPED_TRACE(tool.compress);
    const Bytes a = test::compressed(folder, tool.compress, first), b = test::compressed(folder, tool.compress, second);
    const auto core = opened(folder, joined({a, b}));
    EXPECT_FALSE(core->truncated());
    EXPECT_EQ(all_of(*core), joined({first, second}));
    EXPECT_EQ(all_of(*opened(folder, joined({a, Bytes(512), b, Bytes(4096)}))), joined({first, second}));
  }
}

TEST(CoreStream, SkippableFramesArePassedOver) {
  const test::TemporaryFolder folder;
  const Bytes content = test::core_like(200'000);
  const Bytes skip = bytes_of({0x5a, 0x2a, 0x4d, 0x18, 5, 0, 0, 0, 1, 2, 3, 4, 5});
  for (const char* tool : {"zstd -q -c", "lz4 -q -c"}) {
    const Bytes frame = test::compressed(folder, tool, content);
    const auto core = opened(folder, joined({skip, skip, frame, skip, frame, skip}));
    EXPECT_FALSE(core->truncated()) << tool;
    EXPECT_EQ(all_of(*core), joined({content, content})) << tool;
  }
  // One that claims to be longer than the file.
  const Bytes frame = test::compressed(folder, "zstd -q -c", content);
  const auto core = opened(folder, joined({frame, bytes_of({0x50, 0x2a, 0x4d, 0x18, 255, 255, 255, 255, 0})}));
  EXPECT_EQ(core->stream_end(), CoreStreamEnd::cut_off);
  EXPECT_EQ(all_of(*core), content);
}

void expect_cut(const CoreBytes& core, const Bytes& content) {
  EXPECT_EQ(core.stream_end(), CoreStreamEnd::cut_off);
  EXPECT_TRUE(is_prefix(all_of(core), content));
  ASSERT_TRUE(core.diagnosis());
  EXPECT_EQ(core.diagnosis()->error.code, ErrorCode::truncated);
  EXPECT_NE(core.diagnosis()->text.find("ends early"), std::string::npos);
}

TEST(CoreStream, ACutStreamGivesWhatItHolds) {
  const test::TemporaryFolder folder;
  const Bytes content = test::core_like(600'000);
  for (const auto& tool : test::kTools) {
    const Bytes packed = test::compressed(folder, tool.compress, content);
    std::uint64_t before = 0;
    for (std::size_t size = 8; size < packed.size(); size += packed.size() / 60 + 1) {
      SCOPED_TRACE(std::string(tool.compress) + " cut at " + std::to_string(size));
      const Bytes part(packed.begin(), packed.begin() + static_cast<std::ptrdiff_t>(size));
      const auto core = CoreBytes::open(folder.write("core", part));
      if (!core) {
        EXPECT_EQ(core.error().code, ErrorCode::truncated);
        EXPECT_EQ(before, 0u);
        continue;
      }
      expect_cut((**core), content);
      EXPECT_GE((*core)->size(), before);
      before = (*core)->size();
    }
    if (tool.encoding == CoreEncoding::zstd || tool.encoding == CoreEncoding::gzip) {
      EXPECT_GT(before, 300'000u);
    }
  }
}

TEST(CoreStream, EveryLastByteIsNeeded) {
  const test::TemporaryFolder folder;
  const Bytes content = test::core_like(50'000);
  for (const auto& tool : test::kTools) {
    const Bytes packed = test::compressed(folder, tool.compress, content);
    for (std::ptrdiff_t missing = 1; missing <= 12; missing++) {
      SCOPED_TRACE(std::string(tool.compress) + " without the last " + std::to_string(missing));
      const auto core = CoreBytes::open(folder.write("core", {packed.begin(), packed.end() - missing}));
      EXPECT_EQ(core ? (*core)->diagnosis()->error.code : core.error().code, ErrorCode::truncated);
    }
  }
}

TEST(CoreStream, DamageIsSaidAndWhatPrecedesItIsKept) {
  const test::TemporaryFolder folder;
  const Bytes content = test::core_like(3'000'000);
  for (const auto& tool : test::kTools) {
    SCOPED_TRACE(tool.compress);
    Bytes packed = test::compressed(folder, tool.compress, content);
    for (std::size_t i = 0; i < 40; i++) packed[packed.size() / 2 + i] ^= std::byte{0xa5};
    // One block of 4 MiB, of which the damage may take everything.
    if (tool.encoding == CoreEncoding::lz4) packed = joined({test::compressed(folder, tool.compress, content), packed});
    const auto core = opened(folder, packed);
    EXPECT_EQ(core->stream_end(), CoreStreamEnd::damaged);
    ASSERT_TRUE(core->diagnosis());
    EXPECT_EQ(core->diagnosis()->error.code, ErrorCode::malformed);
    EXPECT_NE(core->diagnosis()->text.find("damaged"), std::string::npos) << core->diagnosis()->text;
    const Bytes got = all_of(*core);
    const std::size_t sure = 500'000;  // the place of the damage is known only in the packed bytes
    ASSERT_GT(got.size(), sure);
    EXPECT_TRUE(std::equal(content.begin(), content.begin() + sure, got.begin()));
  }
}

TEST(CoreStream, DataThatBelongsToNoFrameIsSaid) {
  const test::TemporaryFolder folder;
  const Bytes content = test::core_like(50'000);
  for (const auto& tool : test::kTools) {
    const auto core =
        opened(folder, joined({test::compressed(folder, tool.compress, content), bytes_of({'x', 'y', 'z', 0, 1})}));
    EXPECT_EQ(core->stream_end(), CoreStreamEnd::damaged) << tool.compress;
    EXPECT_EQ(all_of(*core), content) << tool.compress;
  }
}

TEST(CoreStream, ABombStopsAtTheLimit) {
  const test::TemporaryFolder folder;
  const auto plain = folder.file("plain");
  for (const auto& tool : test::kTools) {
    SCOPED_TRACE(tool.compress);
    const std::string command = "head -c 64M /dev/zero | " + std::string(tool.compress) + " > " + plain;
    ASSERT_EQ(std::system(command.c_str()), 0);
    const Bytes bomb = test::read_file(plain);
    ASSERT_LT(bomb.size(), 1u << 20);
    CoreBytesOptions options;
    options.max_size = 5'000'001;
    const auto core = opened(folder, bomb, options);
    EXPECT_EQ(core->stream_end(), CoreStreamEnd::limit);
    EXPECT_EQ(core->size(), options.max_size);
    options.max_size = 64 << 20;
    EXPECT_EQ(opened(folder, bomb, options)->stream_end(), CoreStreamEnd::whole);
    options.max_size = 0;
    EXPECT_EQ(refusal(folder, bomb, options), ErrorCode::limit_exceeded);
  }
}

TEST(CoreStream, WhatExpandsBeyondReasonIsReadNoFurther) {
  const test::TemporaryFolder folder;
  const auto plain = folder.file("plain");
  ASSERT_EQ(std::system(("head -c 64M /dev/zero | zstd -q -c > " + plain).c_str()), 0);
  const Bytes bomb = test::read_file(plain);
  CoreBytesOptions options;
  options.sparse_size = 8 << 20;
  const auto core = opened(folder, bomb, options);
  EXPECT_EQ(core->stream_end(), CoreStreamEnd::limit);
  EXPECT_LT(core->size(), 17u << 20);
  EXPECT_NE(core->diagnosis()->text.find("read no further"), std::string::npos);
  EXPECT_EQ(opened(folder, bomb, {})->stream_end(), CoreStreamEnd::whole) << "of usual size nothing is asked";
  const Bytes content = test::core_like(12'000'000);
  EXPECT_EQ(opened(folder, test::compressed(folder, "zstd -q -c", content), options)->stream_end(),
            CoreStreamEnd::whole);
}

TEST(CoreStream, AWindowBeyondTheMemoryLimitIsRefused) {
  const test::TemporaryFolder folder;
  const auto file = folder.file("long");
  ASSERT_EQ(std::system(("head -c 1M /dev/zero | zstd -q -c --long=30 > " + file).c_str()), 0);
  const Bytes large = test::read_file(file);
  EXPECT_EQ(refusal(folder, large), ErrorCode::limit_exceeded);
  const auto core = opened(folder, joined({test::compressed(folder, "zstd -q -c", test::core_like(1000)), large}));
  EXPECT_EQ(core->stream_end(), CoreStreamEnd::limit);
  EXPECT_EQ(core->size(), 1000u);
  EXPECT_NE(core->diagnosis()->text.find("needs more memory"), std::string::npos);
}

std::uint64_t on_disk(SparseSpool& spool) {
  struct stat st {};
  const auto fd = spool.take();
  EXPECT_EQ(::fstat(fd.get(), &st), 0);
  EXPECT_EQ(static_cast<std::uint64_t>(st.st_size), spool.size());
  return static_cast<std::uint64_t>(st.st_blocks) * 512;
}

TEST(CoreStream, ASparseCoreStaysSparse) {
  const test::TemporaryFolder folder;
  const auto plain = folder.file("plain"), packed = folder.file("packed");
  ASSERT_EQ(std::system(("truncate -s 300M " + plain + " && printf start | dd conv=notrunc status=none of=" + plain +
                         " && printf end | dd conv=notrunc status=none bs=1M seek=200 of=" + plain)
                            .c_str()),
            0);
  for (const char* tool : {"zstd -q -c", "lz4 -q -c", "cat"}) {
    ASSERT_EQ(std::system((std::string(tool) + " < " + plain + " > " + packed).c_str()), 0);
    auto spool = SparseSpool::create(folder.path(), {std::uint64_t{1} << 40, 0});
    ASSERT_TRUE(spool);
    const base::ScopedFd in(::open(packed.c_str(), O_RDONLY | O_CLOEXEC));
    EXPECT_EQ(spool_stream(in.get(), *spool).end, CoreStreamEnd::whole);
    EXPECT_EQ(spool->size(), std::uint64_t{300} << 20);
    EXPECT_LE(on_disk(*spool), 64u << 10) << tool;
  }
}

TEST(SparseSpool, KeepsEveryByteWhateverThePieces) {
  const test::TemporaryFolder folder;
  Bytes content = test::core_like(1'300'007, 5);
  std::fill(content.begin() + 1'290'000, content.end(), std::byte{0});
  for (const std::size_t piece : {std::size_t{1} << 20, std::size_t{4095}, std::size_t{777}}) {
    auto spool = SparseSpool::create(folder.path(), {content.size(), 0});
    ASSERT_TRUE(spool);
    for (std::size_t at = 0; at < content.size();) {
      const auto room = spool->room();
      const std::size_t n = std::min({room.size(), piece, content.size() - at});
      ASSERT_GT(n, 0u);
      std::copy_n(content.begin() + static_cast<std::ptrdiff_t>(at), n, room.begin());
      ASSERT_FALSE(spool->advance(n));
      at += n;
    }
    EXPECT_TRUE(spool->room().empty());
    ASSERT_FALSE(spool->finish());
    const auto core = CoreBytes::from_fd(spool->take(), "spool", {});
    ASSERT_TRUE(core);
    EXPECT_EQ(all_of(**core), content);
  }
}

}  // namespace
}  // namespace mixstack::process
