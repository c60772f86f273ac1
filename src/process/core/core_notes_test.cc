#include "process/core/core_notes.h"

#include <gtest/gtest.h>

#include <csignal>

#include "support/core_builder.h"

namespace mixstack::process {
namespace {

using test::Bytes;
using test::NoteBuilder;

const Diagnosis* diagnosis(const CoreNotes& notes, const std::string& subject) {
  for (const auto& d : notes.diagnoses)
    if (d.subject == subject) return &d;
  return nullptr;
}
CoreNotes read(const NoteBuilder& notes, Arch arch = Arch::x86_64) { return read_core_notes(notes.bytes(), arch); }

NoteBuilder whole(Arch arch = Arch::x86_64) {
  NoteBuilder notes(arch);
  notes.thread(41, 0x401000, 0x7000, SIGSEGV)
      .process(40, "Service.Worker0", "/app/Service --port 80 ", 'S')
      .signal(SIGSEGV, SEGV_MAPERR, 0xdead0000)
      .auxv({{AT_ENTRY, 0x401000}})
      .files({{0x400000, 0x402000, 0, "/app/Service"}, {0x500000, 0x501000, 0x3000, "/lib/libc.so.6"}})
      .thread(42, 0x402000, 0x8000);
  return notes;
}

TEST(CoreNotes, AllThatAKernelWrites) {
  const CoreNotes n = read(whole());
  EXPECT_TRUE(n.diagnoses.empty());
  ASSERT_EQ(n.threads.size(), 2U);
  EXPECT_EQ(n.threads[0].tid, 41U);
  EXPECT_EQ(n.threads[0].signal, SIGSEGV);
  ASSERT_TRUE(n.threads[0].registers && n.threads[1].registers);
  EXPECT_EQ(n.threads[0].registers->registers.pc(), 0x401000U);
  EXPECT_EQ(n.threads[1].registers->registers.sp(), 0x8000U);
  EXPECT_EQ(n.pid, 40U);
  EXPECT_EQ(n.state, 'S');
  EXPECT_EQ(n.comm, "Service.Worker0");
  EXPECT_EQ(n.arguments, "/app/Service --port 80");
  ASSERT_EQ(n.mappings.size(), 2U);
  EXPECT_EQ(n.mappings[1].range, (AddressRange{0x500000, 0x501000}));
  EXPECT_EQ(n.mappings[1].file_offset, 0x3000U);
  EXPECT_EQ(n.mappings[1].path, "/lib/libc.so.6");
  EXPECT_EQ(n.auxv.size(), 32U);
}

TEST(CoreNotes, ArmRegistersAndPointerAuthentication) {
  NoteBuilder notes(Arch::aarch64);
  Bytes masks;
  test::append(masks, std::uint64_t{0x7f0000000000});  // of data
  test::append(masks, std::uint64_t{0x7f000000000000});
  notes.thread(1, 0x1234, 0x5678).note("LINUX", 0x406, masks).thread(2);
  const CoreNotes n = read(notes, Arch::aarch64);
  ASSERT_EQ(n.threads.size(), 2U);
  EXPECT_EQ(n.threads[0].registers->registers.pc(), 0x1234U);
  EXPECT_EQ(n.threads[0].registers->registers.sp(), 0x5678U);
  EXPECT_EQ(n.threads[0].pac_mask, 0x7f000000000000U);
  EXPECT_EQ(n.threads[1].pac_mask, 0U);
  // Too short, or before any thread: of no thread.
  masks.resize(8);
  NoteBuilder early(Arch::aarch64);
  early.note("LINUX", 0x406, masks).thread(1).note("LINUX", 0x406, masks);
  EXPECT_EQ(read(early, Arch::aarch64).threads[0].pac_mask, 0U);
}

TEST(CoreNotes, HowLongVectorsAre) {
  Bytes sve;  // struct user_sve_header: size, max_size, vl, max_vl, flags
  test::append(sve, std::uint64_t{16});
  test::append(sve, std::uint64_t{32});
  NoteBuilder notes(Arch::aarch64);
  notes.thread(1).note("LINUX", 0x405, sve).thread(2);
  const CoreNotes n = read(notes, Arch::aarch64);
  EXPECT_EQ(n.threads[0].registers->registers.get(aarch64_reg::vg), 4U);
  EXPECT_FALSE(n.threads[1].registers->registers.get(aarch64_reg::vg));
  sve.resize(9);
  NoteBuilder cut(Arch::aarch64);
  cut.note("LINUX", 0x405, sve).thread(1).note("LINUX", 0x405, sve);
  EXPECT_FALSE(read(cut, Arch::aarch64).threads[0].registers->registers.get(aarch64_reg::vg));
}

TEST(CoreNotes, VectorRegistersInTheLongestFormThereIs) {
  constexpr std::size_t kXmm1 = 160 + 16, kYmm1 = 576 + 16;
  Bytes fx(512), wide(832);
  test::put(fx, kXmm1, std::uint64_t{11});
  test::put(wide, kXmm1, std::uint64_t{12});
  test::put(wide, 512, std::uint64_t{7});  // XSTATE_BV: x87, SSE, AVX
  test::put(wide, kYmm1, std::uint64_t{13});
  NoteBuilder notes;
  notes.note("CORE", NT_FPREGSET, fx).note("LINUX", NT_X86_XSTATE, wide);  // before any thread: nobody's
  notes.thread(1).note("CORE", NT_FPREGSET, fx).note("LINUX", NT_X86_XSTATE, wide);
  notes.thread(2).note("LINUX", NT_X86_XSTATE, wide).note("CORE", NT_FPREGSET, fx);
  notes.thread(3).note("CORE", NT_FPREGSET, fx).thread(4);
  notes.thread(3).note("LINUX", NT_X86_XSTATE, wide);  // listed twice: not thread 4's either
  const CoreNotes n = read(notes);
  ASSERT_EQ(n.threads.size(), 4U);
  for (const std::size_t i : {0U, 1U}) {
    ASSERT_TRUE(n.threads[i].vectors);
    EXPECT_EQ(n.threads[i].vectors->size, 32);
    EXPECT_EQ(n.threads[i].vectors->values[1][0], std::byte{12});
    EXPECT_EQ(n.threads[i].vectors->values[1][16], std::byte{13});
  }
  ASSERT_TRUE(n.threads[2].vectors);
  EXPECT_EQ(n.threads[2].vectors->size, 16);
  EXPECT_EQ(n.threads[2].vectors->values[1][0], std::byte{11});
  EXPECT_FALSE(n.threads[3].vectors);
  NoteBuilder arm(Arch::aarch64);
  arm.thread(1).note("LINUX", NT_X86_XSTATE, wide).note("CORE", NT_FPREGSET, fx).thread(2);
  arm.note("CORE", NT_FPREGSET, Bytes(100));
  const CoreNotes a = read(arm, Arch::aarch64);
  ASSERT_TRUE(a.threads[0].vectors);
  EXPECT_EQ(a.threads[0].vectors->values.size(), 32U);
  EXPECT_EQ(a.threads[0].vectors->values[11][0], std::byte{11});  // what is xmm1 there lies at v11 here
  EXPECT_FALSE(a.threads[1].vectors);
  EXPECT_EQ(diagnosis(a, "notes")->error, (Error{ErrorCode::truncated, 0, 1}));
}

TEST(CoreNotes, SignalsOfTheProcessAndOfEachThread) {
  // gdb writes a siginfo behind each thread, the kernel one behind the first.
  NoteBuilder notes;
  notes.thread(1).signal(SIGSTOP, SI_USER, 99).thread(2).signal(SIGBUS, BUS_ADRERR, 0x1000).thread(3);
  const CoreNotes n = read(notes);
  ASSERT_TRUE(n.signal_info && n.threads[0].signal_info && n.threads[1].signal_info);
  EXPECT_EQ(n.signal_info->signal, SIGSTOP);
  EXPECT_EQ(n.signal_info->code, SI_USER);
  EXPECT_EQ(n.signal_info->sender, 99U);
  EXPECT_EQ(n.threads[1].signal_info->address, 0x1000U);
  EXPECT_FALSE(n.threads[2].signal_info);
  // createdump writes it before any thread.
  NoteBuilder first;
  first.signal(SIGABRT, SI_TKILL, 7).thread(7);
  EXPECT_EQ(read(first).signal_info->signal, SIGABRT);
  EXPECT_FALSE(read(first).threads[0].signal_info);
  NoteBuilder cut;
  cut.thread(1).note("CORE", NT_SIGINFO, Bytes(20));
  EXPECT_FALSE(read(cut).signal_info);
  EXPECT_EQ(diagnosis(read(cut), "notes")->error, (Error{ErrorCode::truncated, 0, 1}));
}

TEST(CoreNotes, HundredsOfThreadsAndAThreadThatIsListedTwice) {
  NoteBuilder notes;
  for (std::uint32_t tid = 1; tid <= 700; tid++) notes.thread(tid, tid * 16, 0x1000 * tid);
  notes.thread(3, 0xbad).thread(3, 0xbad);
  const CoreNotes n = read(notes);
  ASSERT_EQ(n.threads.size(), 700U);
  EXPECT_EQ(n.threads[2].registers->registers.pc(), 48U);
  EXPECT_EQ(n.threads[699].registers->registers.sp(), 0x1000U * 700);
  ASSERT_NE(diagnosis(n, "threads"), nullptr);
  EXPECT_EQ(diagnosis(n, "threads")->error.value, 2U);
}

TEST(CoreNotes, WhatIsMissingIsSaid) {
  const CoreNotes none = read_core_notes({}, Arch::x86_64);
  for (const char* note : {"NT_PRSTATUS", "NT_AUXV", "NT_FILE"}) {
    ASSERT_NE(diagnosis(none, note), nullptr) << note;
    EXPECT_EQ(diagnosis(none, note)->error.code, ErrorCode::not_found);
  }
  EXPECT_EQ(none.diagnoses.size(), 3U);
  // Another owner's notes are not taken for Linux's.
  NoteBuilder foreign;
  foreign.note("FreeBSD", NT_PRSTATUS, foreign.status(1, 2, 3)).note("", NT_AUXV, Bytes(32));
  EXPECT_TRUE(read(foreign).threads.empty());
  EXPECT_TRUE(read(foreign).auxv.empty());
}

TEST(CoreNotes, ARegisterSetOfAnotherCpuIsTooShort) {
  NoteBuilder notes;  // x86-64's is shorter than AArch64's
  notes.thread(1);
  const CoreNotes n = read(notes, Arch::aarch64);
  EXPECT_TRUE(n.threads.empty());
  EXPECT_EQ(diagnosis(n, "notes")->error.value, 1U);
  for (const std::size_t size : {0U, 35U, 36U, 111U, 327U}) {
    NoteBuilder cut;
    cut.note("CORE", NT_PRSTATUS, Bytes(size));
    EXPECT_TRUE(read(cut).threads.empty()) << size;
  }
  NoteBuilder least;
  least.note("CORE", NT_PRSTATUS, Bytes(328));
  EXPECT_EQ(read(least).threads.size(), 1U);
}

TEST(CoreNotes, ShortProcessNotesGiveWhatTheyHold) {
  for (std::size_t size = 0; size < 136; size++) {
    NoteBuilder notes;
    notes.note("CORE", NT_PRPSINFO, Bytes(size, std::byte{'x'}));
    const CoreNotes n = read(notes);
    EXPECT_EQ(n.pid != 0, size >= 28) << size;
    EXPECT_EQ(n.comm.size(), size >= 56 ? 16U : 0U) << size;
    EXPECT_TRUE(n.arguments.empty()) << size;
  }
}

TEST(CoreNotes, FileListsWithWrongNumbers) {
  const std::vector<test::BuiltMapping> two{{0x1000, 0x2000, 0, "/a"}, {0x3000, 0x4000, 0, "/b"}};
  const auto with = [&](std::size_t at, std::uint64_t value) {
    Bytes note = NoteBuilder::file_note(two);
    test::put(note, at, value);
    NoteBuilder notes;
    notes.note("CORE", NT_FILE, note);
    return read(notes);
  };
  for (const std::uint64_t count :
       {std::uint64_t{3}, std::uint64_t{1} << 32, ~std::uint64_t{0}, std::uint64_t{1} << 63})
    EXPECT_EQ(diagnosis(with(0, count), "NT_FILE")->error.code, ErrorCode::malformed) << count;
  for (const std::uint64_t page : {std::uint64_t{0}, std::uint64_t{1} << 31})
    EXPECT_EQ(diagnosis(with(8, page), "NT_FILE")->error.code, ErrorCode::malformed) << page;
  EXPECT_EQ(with(0, 1).mappings.size(), 1U);
  EXPECT_EQ(with(16, 0x2000).mappings.size(), 1U);                          // an empty range is none
  EXPECT_EQ(with(16, 0x9000).mappings.size(), 1U);                          // nor one that ends before it begins
  EXPECT_EQ(with(32, std::uint64_t{1} << 60).mappings[0].file_offset, 0U);  // pages beyond 2^64 bytes
}

TEST(CoreNotes, ListsOfFilesHaveOneLimitTogether) {
  const std::vector<test::BuiltMapping> many(150'000, {0x1000, 0x2000, 0, "/x"});
  NoteBuilder notes;
  notes.files(many).files({{0x5000, 0x6000, 0, "/lib/in.so"}}).files(many).files({{0x7000, 0x8000, 0, "/lib/late.so"}});
  const CoreNotes n = read(notes);
  ASSERT_EQ(n.mappings.size(), 250'000U);
  EXPECT_EQ(n.mappings[150'000].path, "/lib/in.so");
  EXPECT_EQ(n.mappings.back().path, "/x");  // a list is taken as far as there is room
  ASSERT_NE(diagnosis(n, "NT_FILE"), nullptr);
  EXPECT_EQ(diagnosis(n, "NT_FILE")->error, (Error{ErrorCode::limit_exceeded, 0, 50'002}));
}

TEST(CoreNotes, WhatAMillionBadListsWouldSayIsSaidAFewTimes) {
  NoteBuilder notes;
  for (int i = 0; i < 10'000; i++) notes.note("CORE", NT_FILE, {});
  EXPECT_LE(read(notes).diagnoses.size(), 11U);
}

TEST(CoreNotes, FilesWithoutNames) {
  Bytes note =
      NoteBuilder::file_note({{0x1000, 0x2000, 0, "/a"}, {0x3000, 0x4000, 0, "/b"}, {0x5000, 0x6000, 0, "/c"}});
  note.resize(note.size() - 6);  // "/c" and "/b" are gone
  NoteBuilder notes;
  notes.note("CORE", NT_FILE, note);
  const CoreNotes n = read(notes);
  EXPECT_EQ(n.mappings.size(), 1U);
  EXPECT_EQ(diagnosis(n, "NT_FILE")->text, "2 of 3 mapped files have no name");
  NoteBuilder long_name;
  long_name.files({{0x1000, 0x2000, 0, "/" + std::string(100'000, 'x')}});
  EXPECT_EQ(read(long_name).mappings[0].path.size(), 4096U);
}

TEST(CoreNotes, CutAtEveryByteGivesAPrefix) {
  const Bytes all = whole().bytes();
  const CoreNotes complete = read(whole());
  for (std::size_t size = 0; size < all.size(); size++) {
    const CoreNotes n = read_core_notes(std::span(all).first(size), Arch::x86_64);
    EXPECT_FALSE(n.diagnoses.empty() && n.threads.size() < complete.threads.size() && n.mappings.empty()) << size;
    ASSERT_LE(n.threads.size(), complete.threads.size());
    for (std::size_t i = 0; i < n.threads.size(); i++) EXPECT_EQ(n.threads[i].tid, complete.threads[i].tid);
  }
}

TEST(CoreNotes, SizesThatLieEndTheNotes) {
  NoteBuilder notes;
  notes.thread(1);
  const std::size_t second = notes.bytes().size();
  notes.thread(2).thread(3);
  for (const std::size_t field : {0U, 4U}) {
    for (const std::uint32_t size : {0x7fffffffU, 0x80000000U, 0xfffffffdU, 0xffffffffU}) {
      Bytes bytes = notes.bytes();
      test::put(bytes, second + field, size);
      const CoreNotes n = read_core_notes(bytes, Arch::x86_64);
      EXPECT_EQ(n.threads.size(), 1U);
      ASSERT_NE(diagnosis(n, "notes"), nullptr);
      EXPECT_EQ(diagnosis(n, "notes")->error.value, second);
    }
  }
}

TEST(CoreNotes, MoreThreadsThanAnyKernelHasAreLeftOut) {
  NoteBuilder one;
  one.thread(1);
  constexpr std::size_t kThreads = 200'001;
  Bytes bytes;
  bytes.reserve(one.bytes().size() * kThreads);
  for (std::uint32_t tid = 1; tid <= kThreads; tid++) {
    bytes.insert(bytes.end(), one.bytes().begin(), one.bytes().end());
    test::put(bytes, bytes.size() - one.bytes().size() + 20 + 32, tid);
  }
  const CoreNotes n = read_core_notes(bytes, Arch::x86_64);
  EXPECT_EQ(n.threads.size(), 200'000U);
  ASSERT_NE(diagnosis(n, "threads"), nullptr);
  EXPECT_EQ(diagnosis(n, "threads")->error, (Error{ErrorCode::limit_exceeded, 0, 1}));
}

}  // namespace
}  // namespace mixstack::process
