#include "process/pack/pack_reader.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/words/pack_fault.h"
#include "process/pack/manifest.h"
#include "process/pack/names.h"
#include "process/pack/pack_stream.h"
#include "process/pack/tar_header.h"
#include "process/pack/tar_index.h"

namespace mixstack::pack {
namespace {

using words::PackFault;

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

/// A tar archive in memory, each member as a test likes.
class Archive {
 public:
  Archive& add(std::string_view path, std::string_view content, char type = '0') {
    auto header = tar_header_of(path, content.size(), 0);
    header[156] = static_cast<std::byte>(type);
    mend(header);
    append(header);
    append(bytes_of(content));
    out_.resize(out_.size() + tar_padding(content.size()));
    return *this;
  }
  Archive& manifest() { return add(kManifest, manifest_json({})); }
  [[nodiscard]] std::shared_ptr<const process::CoreBytes> open() {
    out_.resize(out_.size() + 2 * kTarBlock);
    return open(out_.size());
  }
  [[nodiscard]] std::shared_ptr<const process::CoreBytes> open(std::size_t size) const {
    base::ScopedFd fd(::memfd_create("pack", MFD_CLOEXEC));
    EXPECT_EQ(::write(fd.get(), out_.data(), size), static_cast<ssize_t>(size));
    auto bytes = process::CoreBytes::from_fd(std::move(fd), "pack", {});
    EXPECT_TRUE(bytes);
    return std::move(*bytes);
  }

 private:
  void append(std::span<const std::byte> bytes) { out_.insert(out_.end(), bytes.begin(), bytes.end()); }
  static void mend(std::span<std::byte> header) {
    std::fill_n(header.begin() + 148, 8, std::byte{' '});
    unsigned sum = 0;
    for (const std::byte b : header) sum += std::to_integer<unsigned>(b);
    for (int i = 5; i >= 0; i--, sum /= 8) header[148 + static_cast<std::size_t>(i)] = std::byte(sum % 8 + '0');
    header[154] = std::byte{0};
  }
  std::vector<std::byte> out_;
};

PackFault fault_of(Archive archive) {
  const auto pack = open_pack(archive.open());
  EXPECT_FALSE(pack);
  return pack ? PackFault::no_core : words::pack_fault_of(pack.error()).value_or(PackFault::no_core);
}

TEST(PackReader, GivesTheCoreAndFilesByTheirPath) {
  const auto bytes = Archive()
                         .manifest()
                         .add(kCore, "the core")
                         .add("mixstack-pack/sysroot", "", '5')
                         .add("mixstack-pack/sysroot/lib/a.so", "a library")
                         .open();
  ASSERT_TRUE(is_pack(*bytes));
  const auto pack = open_pack(bytes);
  ASSERT_TRUE(pack);
  std::string core(64, '\0');
  core.resize(pack->core->read_at(0, std::as_writable_bytes(std::span(core))).value_or(0));
  EXPECT_EQ(core, "the core");
  const auto file = pack->files("/lib/a.so");
  ASSERT_TRUE(file);
  EXPECT_EQ(std::memcmp((*file)->bytes().data(), "a library", 9), 0);
  EXPECT_EQ((*file)->size(), 9u);
  EXPECT_FALSE(pack->files("/lib/b.so"));
}

TEST(PackReader, OtherFilesAreNoPacks) {
  EXPECT_FALSE(is_pack(*Archive().add("core", "x").manifest().open()));
  EXPECT_TRUE(is_pack(*Archive().add("pax", "12 path=abc\n", 'x').add("./mixstack-pack/", "", '5').open()));
  EXPECT_FALSE(is_pack(*Archive().open()));
}

TEST(PackReader, FoldersAndExtendedHeadersAreNotWithoutNumber) {
  for (const char type : {'5', 'x', 'g'}) {
    Archive archive;
    for (int i = 0; i < 1000; i++) archive.add("mixstack-pack", "", type);
    EXPECT_TRUE(index_tar(*Archive(archive).open())) << type;
    for (int i = 0; i < 100'000; i++) archive.add("mixstack-pack", "", type);
    const auto more = index_tar(*archive.open());
    ASSERT_FALSE(more) << type;
    EXPECT_EQ(words::pack_fault_of(more.error()), PackFault::too_many_members);
  }
}

TEST(PackReader, WhatLeadsOutOfThePackIsRefused) {
  EXPECT_EQ(fault_of(Archive().manifest().add("/etc/passwd", "x")), PackFault::unsafe_path);
  EXPECT_EQ(fault_of(Archive().manifest().add("mixstack-pack/../../x", "x")), PackFault::unsafe_path);
  EXPECT_EQ(fault_of(Archive().manifest().add("..", "x")), PackFault::unsafe_path);
}

TEST(PackReader, LinksAndDevicesAreRefused) {
  for (const char type : {'1', '2', '3', '4', '6', 'S'})
    EXPECT_EQ(fault_of(Archive().manifest().add("mixstack-pack/sysroot/x", "", type)), PackFault::not_a_file) << type;
}

TEST(PackReader, OneCoreAndAManifestWeKnow) {
  EXPECT_EQ(fault_of(Archive().manifest().add(kCore, "a").add(kCore, "b")), PackFault::two_cores);
  EXPECT_EQ(fault_of(Archive().manifest()), PackFault::no_core);
  for (const std::string_view bad :
       {"", "[]", "{", R"({"format":"mixstack-pack"})", R"({"format":1,"format_version":1})",
        R"({"format":"mixstack-pack","format_version":-1})"})
    EXPECT_EQ(fault_of(Archive().add(kManifest, bad).add(kCore, "a")), PackFault::bad_manifest) << bad;
  EXPECT_EQ(fault_of(Archive().add(kManifest, std::string(100'000, '[')).add(kCore, "a")), PackFault::bad_manifest);
  EXPECT_EQ(fault_of(Archive().add(kManifest, R"({"format":"mixstack-pack","format_version":2})").add(kCore, "a")),
            PackFault::newer_version);
}

TEST(PackReader, MoreMembersThanAPackHasAreRefused) {
  Archive archive;
  archive.manifest();
  for (int i = 0; i < 20'001; i++) archive.add("mixstack-pack/sysroot/" + std::to_string(i), "");
  EXPECT_EQ(fault_of(archive), PackFault::too_many_members);
}

TEST(PackReader, OneThatWasCutOffIsTakenAsFarAsItGoes) {
  Archive archive;
  archive.manifest().add(kCore, std::string(2000, 'c')).add("mixstack-pack/sysroot/a", std::string(2000, 'a'));
  const auto whole = archive.open();
  EXPECT_FALSE(open_pack(whole)->core->diagnosis());
  const std::size_t end = whole->size() - 2 * kTarBlock;  // without the end mark
  for (std::size_t size = kTarBlock; size < whole->size(); size += 100) {
    const auto pack = open_pack(archive.open(size));
    if (!pack) {
      EXPECT_EQ(pack.error().code, ErrorCode::truncated) << size;
      continue;
    }
    EXPECT_LE(pack->core->size(), 2000u);
    EXPECT_EQ(pack->core->diagnosis().has_value(), size < end + kTarBlock) << size;
    if (size < 6000) {
      EXPECT_FALSE(pack->files("/a")) << size;
    }
  }
}

TEST(PackReader, AMissingMarkOfTheEndIsACut) {
  Archive archive;
  archive.manifest().add(kCore, "the core").add("mixstack-pack/sysroot/a", std::string(512, 'a'));
  const auto whole = archive.open();
  const std::size_t end = whole->size() - 2 * kTarBlock;
  EXPECT_TRUE(open_pack(archive.open(end))->core->truncated()) << "between two files";
  EXPECT_FALSE(open_pack(archive.open(end + kTarBlock))->core->truncated()) << "tools that write one block";
  EXPECT_FALSE(open_pack(archive.open())->core->truncated()) << "more zeros, as tar's records have";
}

TEST(PackReader, ReadsWhatTheStreamWrites) {
  base::ScopedFd fd(::memfd_create("pack", MFD_CLOEXEC));
  PackStream out(fd.get(), 0);
  const std::string long_path = "mixstack-pack/sysroot/" + std::string(200, 'x');
  for (const auto& [path, content] : {std::pair<std::string, std::string>{kManifest, manifest_json({})},
                                      {std::string(kCore), std::string(5000, 'c')},
                                      {long_path, "short"}}) {
    out.begin(path, content.size());
    out.write(bytes_of(content));
    EXPECT_EQ(out.end(), 0u);
  }
  ASSERT_TRUE(out.finish());
  auto bytes = process::CoreBytes::from_fd(std::move(fd), "pack", {});
  ASSERT_TRUE(bytes);
  const std::shared_ptr<const process::CoreBytes> shared = std::move(*bytes);
  ASSERT_TRUE(is_pack(*shared));
  const auto pack = open_pack(shared);
  ASSERT_TRUE(pack);
  EXPECT_EQ(pack->core->size(), 5000u);
  EXPECT_TRUE(pack->files("/" + std::string(200, 'x')));
}

TEST(PackStream, AFullDiskIsSaid) {
  const base::ScopedFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  PackStream out(full.get(), 0);
  out.begin(kCore, 10);
  (void)out.end();
  const auto finished = out.finish();
  ASSERT_FALSE(finished);
  EXPECT_EQ(finished.error().os_error, ENOSPC);
}

}  // namespace
}  // namespace mixstack::pack
