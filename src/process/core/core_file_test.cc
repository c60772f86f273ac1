#include "process/core/core_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <fstream>

#include "process/core/dumped_memory.h"
#include "support/core_builder.h"

namespace mixstack::process {
namespace {

using test::Bytes;
using test::CoreBuilder;
using test::filled;
using test::NoteBuilder;

std::shared_ptr<const CoreBytes> bytes_of(const Bytes& bytes) {
  auto core = CoreBytes::from_fd(base::ScopedFd(test::memory_file(bytes)), "core", {});
  EXPECT_TRUE(core);
  return std::move(*core);
}
Result<CoreFile> read(const Bytes& bytes) { return CoreFile::read(bytes_of(bytes)); }
Error error_of(const Bytes& bytes) {
  const auto file = read(bytes);
  return file ? Error{} : file.error();
}
const Diagnosis* diagnosis(const CoreFile& file, ErrorCode code) {
  for (const auto& d : file.diagnoses())
    if (d.error.code == code) return &d;
  return nullptr;
}

TEST(CoreFile, SegmentsAndNotesOfACoreThatIsWhole) {
  const NoteBuilder notes = NoteBuilder().thread(7);
  const auto file = read(CoreBuilder()
                             .notes(notes)
                             .segment(0x7000, filled(0x1000, 2), 0x3000, PF_R | PF_X)
                             .segment(0x1000, filled(0x2000, 1))
                             .build());
  ASSERT_TRUE(file);
  EXPECT_EQ(file->arch(), Arch::x86_64);
  EXPECT_EQ(file->notes(), notes.bytes());
  EXPECT_TRUE(file->diagnoses().empty());
  ASSERT_EQ(file->segments().size(), 2U);  // ascending, whatever the order in the file
  EXPECT_EQ(file->segments()[0].range, (AddressRange{0x1000, 0x3000}));
  EXPECT_TRUE(file->segments()[0].writable && !file->segments()[0].executable);
  EXPECT_EQ(file->segments()[1].range, (AddressRange{0x7000, 0xa000}));
  EXPECT_EQ(file->segments()[1].dumped, 0x1000U);
  EXPECT_TRUE(file->segments()[1].executable && !file->segments()[1].writable);
}

TEST(CoreFile, WhatIsNoCoreIsSaid) {
  EXPECT_EQ(error_of({}).code, ErrorCode::malformed);
  EXPECT_EQ(error_of(test::bytes_of("Nov 21 18:43:17 host kernel: this is a log and no core")).code,
            ErrorCode::malformed);
  CoreBuilder program;
  program.header().e_type = ET_DYN;
  EXPECT_EQ(error_of(program.build()), (Error{ErrorCode::unsupported, 0, ET_DYN}));
  Bytes header_only = CoreBuilder().build();
  header_only.resize(40);
  EXPECT_EQ(error_of(header_only).code, ErrorCode::truncated);
}

TEST(CoreFile, CoresOfOtherMachinesAreNamed) {
  CoreBuilder riscv;
  riscv.header().e_machine = EM_RISCV;
  EXPECT_EQ(error_of(riscv.build()), (Error{ErrorCode::unsupported_cpu, 0, EM_RISCV}));
  CoreBuilder small;
  small.header().e_ident[EI_CLASS] = ELFCLASS32;
  small.header().e_machine = EM_386;
  EXPECT_EQ(error_of(small.build()), (Error{ErrorCode::unsupported_cpu, 0, EM_386}));
  CoreBuilder big_endian;
  big_endian.header().e_ident[EI_DATA] = ELFDATA2MSB;
  big_endian.header().e_type = __builtin_bswap16(ET_CORE);
  big_endian.header().e_machine = __builtin_bswap16(EM_S390);
  EXPECT_EQ(error_of(big_endian.build()), (Error{ErrorCode::unsupported_cpu, 0, EM_S390}));
  EXPECT_EQ(read(CoreBuilder(Arch::aarch64).segment(0x1000, filled(8, 0)).build())->arch(), Arch::aarch64);
}

TEST(CoreFile, MoreHeadersThanTheHeaderCanCount) {
  CoreBuilder many;
  constexpr std::uint64_t kCount = 70'000;
  for (std::uint64_t i = 0; i < kCount; i++)
    many.lie({.p_type = PT_LOAD, .p_flags = PF_R, .p_vaddr = 0x10000 + i * 0x2000, .p_memsz = 0x1000});
  many.extended_numbering();
  const auto file = read(many.build());
  ASSERT_TRUE(file);
  EXPECT_EQ(file->segments().size(), kCount);
  EXPECT_TRUE(file->diagnoses().empty());
  // Without section header 0 nobody knows how many there are.
  Bytes cut = many.build();
  cut.resize(cut.size() - 10);
  EXPECT_EQ(error_of(cut).code, ErrorCode::truncated);
}

TEST(CoreFile, CutAtEveryByteIsReadAsFarAsItGoes) {
  const Bytes whole = CoreBuilder()
                          .notes(NoteBuilder().thread(7).thread(8))
                          .segment(0x1000, filled(200, 1))
                          .segment(0x2000, filled(300, 2))
                          .build();
  for (std::size_t size = 0; size <= whole.size(); size++) {
    const auto file = read({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)});
    if (!file) {
      EXPECT_LE(size, 64U);
      continue;
    }
    EXPECT_EQ(diagnosis(*file, ErrorCode::truncated) != nullptr, size < whole.size()) << size;
    std::uint64_t dumped = 0;
    for (const auto& s : file->segments()) dumped += s.dumped;
    EXPECT_LE(dumped + file->notes().size(), size) << size;
  }
}

TEST(CoreFile, ACutCoreTellsHowMuchIsMissing) {
  Bytes bytes = CoreBuilder().segment(0x1000, filled(0x1000, 1)).segment(0x2000, filled(0x1000, 2)).build();
  bytes.resize(bytes.size() - 0x1800);
  const auto file = read(bytes);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->segments()[0].dumped, 0x800U);
  EXPECT_EQ(file->segments()[1].dumped, 0U);
  const Diagnosis* d = diagnosis(*file, ErrorCode::truncated);
  ASSERT_NE(d, nullptr);
  EXPECT_EQ(d->error.value, 0x1800U);
  EXPECT_NE(d->text.find("2 mappings lack 6144 bytes"), std::string::npos) << d->text;
}

TEST(CoreFile, LyingSizes) {
  constexpr std::uint64_t kHalf = std::uint64_t{1} << 63;
  CoreBuilder core;
  core.segment(0x1000, filled(0x1000, 1))
      .lie({.p_type = PT_LOAD,
            .p_flags = PF_R,
            .p_offset = ~0ULL,
            .p_vaddr = 0x8000,
            .p_filesz = 0x1000,
            .p_memsz = 0x1000})
      .lie(
          {.p_type = PT_LOAD, .p_flags = PF_R, .p_offset = 64, .p_vaddr = 0xa000, .p_filesz = ~0ULL, .p_memsz = 0x1000})
      .lie({.p_type = PT_LOAD, .p_flags = PF_R, .p_vaddr = 0x10000, .p_memsz = kHalf})
      .lie({.p_type = PT_LOAD, .p_flags = PF_R, .p_vaddr = ~0ULL - 0xfff, .p_memsz = 0x2000})     // wraps
      .lie({.p_type = PT_LOAD, .p_flags = PF_R, .p_vaddr = ~0ULL - 0xffffff, .p_memsz = 0x1000})  // [vsyscall]
      .lie({.p_type = PT_LOAD, .p_flags = PF_R, .p_vaddr = 0xf000});                              // of no size
  const auto file = read(core.build());
  ASSERT_TRUE(file);
  ASSERT_EQ(file->segments().size(), 2U);
  EXPECT_EQ(file->segments()[1].range, (AddressRange{0x8000, 0x9000}));
  EXPECT_EQ(file->segments()[1].dumped, 0U);
  const Diagnosis* lying = diagnosis(*file, ErrorCode::malformed);
  ASSERT_NE(lying, nullptr);
  EXPECT_EQ(lying->error.value, 3U);  // beyond 2^63, of 2^64 bytes, around the end
}

TEST(CoreFile, AFilePartLargerThanTheMemoryPartCounts) {
  CoreBuilder core;
  core.segment(0x1000, filled(0x2000, 3), 0x1000);
  const auto file = read(core.build());
  ASSERT_TRUE(file);
  EXPECT_EQ(file->segments()[0].range, (AddressRange{0x1000, 0x3000}));
  EXPECT_EQ(file->segments()[0].dumped, 0x2000U);
}

TEST(CoreFile, OfOverlappingSegmentsTheLowerIsBelieved) {
  const auto file = read(CoreBuilder()
                             .segment(0x1000, filled(0x2000, 1))
                             .segment(0x2000, filled(0x2000, 2))
                             .segment(0x1800, filled(0x100, 3))  // wholly inside the first
                             .build());
  ASSERT_TRUE(file);
  ASSERT_EQ(file->segments().size(), 2U);
  EXPECT_EQ(file->segments()[1].range, (AddressRange{0x3000, 0x4000}));
  ASSERT_NE(diagnosis(*file, ErrorCode::malformed), nullptr);
  EXPECT_EQ(diagnosis(*file, ErrorCode::malformed)->error.value, 2U);
  const DumpedMemory memory(*file);
  EXPECT_EQ(*memory.read<std::uint8_t>(0x1880), 1);
  EXPECT_EQ(*memory.read<std::uint8_t>(0x2fff), 1);
  EXPECT_EQ(*memory.read<std::uint8_t>(0x3000), 2);
}

TEST(CoreFile, NotesBeyondTheEndAndNotesManyTimesOver) {
  const auto beyond = read(CoreBuilder()
                               .lie({.p_type = PT_NOTE, .p_offset = 1 << 20, .p_filesz = ~0ULL})
                               .lie({.p_type = PT_NOTE, .p_filesz = ~0ULL})
                               .build());
  ASSERT_TRUE(beyond);
  EXPECT_EQ(beyond->notes().size(), 64U + 2 * 56);
  const Diagnosis* d = diagnosis(*beyond, ErrorCode::truncated);
  ASSERT_NE(d, nullptr);
  EXPECT_EQ(d->error.value, ~0ULL);  // more than can be counted
  // The same four megabytes a thousand times: what is kept has a limit.
  CoreBuilder repeated;
  for (int i = 0; i < 1000; i++) repeated.lie({.p_type = PT_NOTE, .p_filesz = 4 << 20});
  Bytes bytes = repeated.build();
  bytes.resize(4 << 20);
  const auto file = read(bytes);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->notes().size(), std::size_t{128} << 20);
  EXPECT_NE(diagnosis(*file, ErrorCode::truncated), nullptr);
}

/// Bytes of address space that this process has.
std::uint64_t address_space() {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * 4096;
}

TEST(CoreFile, NotesAreHeldOnce) {
  if (address_space() > std::uint64_t{1} << 40) GTEST_SKIP() << "a sanitizer has reserved the address space";
  // The second is as long as may be; a buffer that grew to hold it would be there twice for a moment.
  CoreBuilder core;
  core.lie({.p_type = PT_NOTE, .p_filesz = 100 << 20}).lie({.p_type = PT_NOTE, .p_filesz = 100 << 20});
  const int fd = test::memory_file(core.build());
  ASSERT_EQ(::ftruncate(fd, 100 << 20), 0);  // a hole costs its author nothing
  auto bytes = CoreBytes::from_fd(base::ScopedFd(fd), "core", {});
  ASSERT_TRUE(bytes);
  const std::shared_ptr<const CoreBytes> shared = std::move(*bytes);
  const auto read_with_little_memory = [&] {
    const rlimit limit{address_space() + (160 << 20), RLIM_INFINITY};
    ::setrlimit(RLIMIT_AS, &limit);
    const auto file = CoreFile::read(shared);
    ::_exit(file && file->notes().size() == 128U << 20 ? 0 : 1);
  };
  EXPECT_EXIT(read_with_little_memory(), ::testing::ExitedWithCode(0), "");
}

TEST(CoreFile, HeadersOfAnotherSizeOrPlaceAreRefused) {
  CoreBuilder core;
  core.header().e_phentsize = 32;
  core.segment(0x1000, filled(16, 0));
  EXPECT_EQ(error_of(core.build()), (Error{ErrorCode::malformed, 0, 32}));
  Bytes far = CoreBuilder().segment(0x1000, filled(16, 0)).build();
  test::put(far, offsetof(Elf64_Ehdr, e_phoff), ~std::uint64_t{0} - 8);
  EXPECT_EQ(error_of(far).code, ErrorCode::truncated);
}

TEST(DumpedMemory, ReadsThroughNeighboursAndStopsAtWhatIsMissing) {
  const auto file = read(CoreBuilder()
                             .segment(0x1000, filled(0x1000, 1))
                             .segment(0x2000, filled(0x800, 2), 0x1000)
                             .segment(0x3000, filled(0x1000, 3))
                             .segment(0x9000, {}, 0x1000)
                             .build());
  ASSERT_TRUE(file);
  const DumpedMemory memory(*file);
  Bytes buffer(0x4000);
  EXPECT_EQ(memory.read_some(0x1800, buffer).value_or(0), 0x1000U);
  EXPECT_EQ(buffer[0x7ff], std::byte{1});
  EXPECT_EQ(buffer[0x800], std::byte{2});
  EXPECT_EQ(memory.read_some(0x2800, buffer).error(), (Error{ErrorCode::unreadable_memory, 0, 0x2800}));
  EXPECT_EQ(memory.read_some(0x3fff, buffer).value_or(0), 1U);
  EXPECT_FALSE(memory.read_some(0x4000, buffer));
  EXPECT_FALSE(memory.read_some(0, buffer));
  EXPECT_FALSE(memory.read_some(~Address{0}, buffer));
  EXPECT_EQ(memory.read_some(0x1000, {}).value_or(1), 0U);
  EXPECT_EQ(memory.next_dumped(0, ~Address{0}), 0x1000U);
  EXPECT_EQ(memory.next_dumped(0x27ff, 0x9000), 0x27ffU);
  EXPECT_EQ(memory.next_dumped(0x2800, 0x9000), 0x3000U);
  EXPECT_EQ(memory.next_dumped(0x2800, 0x2900), 0x2900U);
  EXPECT_EQ(memory.next_dumped(0x4000, 0xa000), 0xa000U);
}

TEST(DumpedMemory, ACoreThatShrinksMeanwhileIsShort) {
  const base::ScopedFd fd(test::memory_file(CoreBuilder().segment(0x1000, filled(0x1000, 1)).build()));
  auto bytes = CoreBytes::from_fd(base::ScopedFd(::dup(fd.get())), "core", {});
  ASSERT_TRUE(bytes);
  const auto file = CoreFile::read(std::move(*bytes));
  ASSERT_TRUE(file);
  ASSERT_EQ(::ftruncate(fd.get(), 64 + 56 + 16), 0);
  const DumpedMemory memory(*file);
  Bytes buffer(0x100);
  EXPECT_EQ(memory.read_some(0x1000, buffer).value_or(0), 16U);
  EXPECT_FALSE(memory.read_some(0x1010, buffer));
}

}  // namespace
}  // namespace mixstack::process
