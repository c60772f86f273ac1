#include "session/core_opening.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "base/system/scoped_fd.h"
#include "base/words/pack_fault.h"
#include "process/core/core_target.h"
#include "process/pack/names.h"
#include "process/pack/pack_reader.h"
#include "process/pack/tar_header.h"

namespace mixstack::session {
namespace {

/// A file with these bytes, which exists as long as this.
class Bytes {
 public:
  explicit Bytes(std::string_view text) : fd_(::memfd_create("core", MFD_CLOEXEC)) {
    EXPECT_EQ(::write(fd_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(fd_.get()); }
  [[nodiscard]] bool is(const process::CoreFormat& format) const {
    const auto bytes = process::CoreBytes::open(path());
    return bytes && format.recognises(**bytes);
  }
  [[nodiscard]] Error error() const {
    CoreOptions options;
    options.path = path();
    const auto core = open_core_target(options, nullptr);
    return core ? Error{} : core.error();
  }

 private:
  base::ScopedFd fd_;
};

std::string a_pack() {
  const auto header = pack::tar_header_of(pack::kManifest, 0, 0);
  return std::string(reinterpret_cast<const char*>(header.data()), header.size()) + std::string(1024, '\0');
}

TEST(CoreOpening, AFileIsOneKindByItsFirstBytes) {
  const Bytes elf(std::string(ELFMAG) + std::string(100, '\0')), pack(a_pack());
  EXPECT_TRUE(elf.is(process::elf_core_format()));
  EXPECT_FALSE(elf.is(pack::pack_format()));
  EXPECT_TRUE(pack.is(pack::pack_format()));
  EXPECT_FALSE(pack.is(process::elf_core_format()));
}

TEST(CoreOpening, WhatNoFormatRecognisesIsNoCore) {
  for (const std::string_view text : {"", "E",
                                      "\x7f"
                                      "EL",
                                      "MDMP\x93\xa7", "some text that is longer than a header"}) {
    const Bytes bytes(text);
    EXPECT_EQ(bytes.error().code, ErrorCode::malformed) << text;
    EXPECT_FALSE(bytes.is(process::elf_core_format())) << text;
    EXPECT_FALSE(bytes.is(pack::pack_format())) << text;
  }
}

TEST(CoreOpening, TheErrorIsThatOfTheFormatThatRecognisedIt) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = ET_CORE;
  header.e_machine = EM_X86_64;
  const std::string_view whole(reinterpret_cast<const char*>(&header), sizeof header);
  EXPECT_EQ(Bytes(whole.substr(0, 40)).error().code, ErrorCode::truncated);
  EXPECT_EQ(words::pack_fault_of(Bytes(a_pack()).error()), words::PackFault::bad_manifest);
}

}  // namespace
}  // namespace mixstack::session
