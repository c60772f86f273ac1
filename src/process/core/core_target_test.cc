#include "process/core/core_target.h"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "process/core/core_samples.h"
#include "process/core/own_notes.h"
#include "support/elf_builder.h"

namespace mixstack::process {
namespace built = mixstack::test;
namespace {

using built::Bytes;
using built::CoreBuilder;
using built::ElfLayout;
using built::NoteBuilder;

constexpr Address kBase = 0x7f0000000000, kStack = 0x600000;

std::unique_ptr<Target> open(const Bytes& core, const std::vector<std::string>& sysroots = {}) {
  auto bytes = CoreBytes::from_fd(base::ScopedFd(built::memory_file(core)), "core", {});
  if (!bytes) return nullptr;
  FileFinderOptions files;
  files.sysroots = sysroots;
  files.use_own_files = false;
  auto target = open_core(std::move(*bytes), files);
  return target ? std::move(*target) : nullptr;
}
bool says(const Target& target, const std::string& text) {
  for (const auto& d : target.diagnoses())
    if (d.text.find(text) != std::string::npos) return true;
  return false;
}
std::optional<CrashFacts> crash_of(const NoteBuilder& notes) {
  return open(CoreBuilder().notes(notes).build())->info().crash;
}

TEST(CoreTarget, AFaultHasAnAddress) {
  NoteBuilder notes;
  notes.thread(5, 0, 0, SIGSEGV).signal(SIGSEGV, SEGV_MAPERR, 0xdead).thread(6);
  const auto crash = crash_of(notes);
  ASSERT_TRUE(crash);
  EXPECT_EQ(crash->tid, 5U);
  EXPECT_EQ(crash->signal, SIGSEGV);
  EXPECT_EQ(crash->code, SEGV_MAPERR);
  EXPECT_EQ(crash->address, 0xdeadU);
  EXPECT_FALSE(crash->sender);
}

TEST(CoreTarget, ASignalThatWasSentHasASenderAndNoAddress) {
  for (const int code : {SI_USER, SI_TKILL, SI_QUEUE}) {
    NoteBuilder notes;
    notes.thread(5, 0, 0, SIGSEGV).signal(SIGSEGV, code, 1234);
    const auto crash = crash_of(notes);
    ASSERT_TRUE(crash);
    EXPECT_FALSE(crash->address) << code;
    EXPECT_EQ(crash->sender, 1234U) << code;
  }
}

TEST(CoreTarget, TheThreadThatCrashedComesFirst) {
  NoteBuilder notes;
  notes.signal(SIGABRT, SI_TKILL, 7).thread(5).thread(6).thread(7, 0, 0, SIGABRT).thread(8);
  auto target = open(CoreBuilder().notes(notes).build());
  EXPECT_EQ(target->info().crash->tid, 7U);
  const auto capture = target->capture({});
  ASSERT_TRUE(capture);
  std::vector<ThreadId> order;
  for (const auto& t : capture->threads) order.push_back(t.tid);
  EXPECT_EQ(order, (std::vector<ThreadId>{7, 5, 6, 8}));
  CaptureRequest some;
  some.threads = {6, 99};
  EXPECT_EQ(target->capture(some)->threads.size(), 1U);
}

TEST(CoreTarget, ACoreOfARunningProcessHasNoCrash) {
  EXPECT_FALSE(crash_of(NoteBuilder().thread(1)));
  NoteBuilder stopped;
  stopped.thread(1, 0, 0, SIGSTOP).signal(SIGSTOP, SI_USER, 9);
  EXPECT_FALSE(crash_of(stopped));
}

TEST(CoreTarget, StacksOfThreadsAreCopiedAsFarAsTheyAreHeld) {
  NoteBuilder notes;
  notes.thread(1, 0, kStack + 0x800).thread(2, 0, 0x10).thread(3, 0, kStack + 0x1800);
  auto target = open(CoreBuilder().notes(notes).segment(kStack, built::filled(0x1000, 7), 0x2000).build());
  const auto capture = target->capture({});
  ASSERT_TRUE(capture);
  ASSERT_EQ(capture->threads.size(), 3U);
  EXPECT_EQ(capture->threads[0].stack.range(), (AddressRange{kStack + 0x800 - 128, kStack + 0x1000}));
  EXPECT_TRUE(capture->threads[1].stack.bytes.empty());
  EXPECT_TRUE(capture->threads[2].stack.bytes.empty());
  EXPECT_EQ(capture->frozen, &target->memory());
}

TEST(CoreTarget, ManyThreadsOnOneStackCostNoMoreThanTheBudget) {
  NoteBuilder notes;
  for (std::uint32_t tid = 1; tid <= 3000; tid++) notes.thread(tid, 0, kStack + 0x100);
  auto target = open(CoreBuilder().notes(notes).segment(kStack, built::filled(0x10000, 7)).build());
  CaptureRequest request;
  request.stack_byte_budget = 1 << 20;
  const auto capture = target->capture(request);
  ASSERT_TRUE(capture);
  std::size_t copied = 0;
  for (const auto& t : capture->threads) copied += t.stack.bytes.size();
  EXPECT_EQ(capture->threads.size(), 3000U);
  EXPECT_GT(copied, std::size_t{1} << 19);
  EXPECT_LE(copied, std::size_t{1} << 20);
}

built::Bytes late_note(std::chrono::nanoseconds late, bool not_stopped = false) {
  return encode_late({late, not_stopped});
}

// Late threads are in captures of their own instants, as in a running process: waits are read within one instant.
TEST(CoreTarget, ThreadsThatWereLateAreInCapturesOfTheirInstants) {
  using namespace std::chrono_literals;
  const auto late = [](NoteBuilder& notes, std::uint32_t tid, const built::Bytes& note) {
    notes.thread(tid, 0, kStack + 0x800).note(kOwnNotes, kLateNote, note);
  };
  NoteBuilder notes;
  notes.thread(1, 0, kStack + 0x800);
  late(notes, 2, late_note(30ms));
  late(notes, 3, late_note(2s, true));
  late(notes, 4, late_note(30ms));
  late(notes, 5, late_note(0ms));  // no time at all: as if it were not there
  auto target = open(CoreBuilder().notes(notes).segment(kStack, built::filled(0x1000, 7)).build());
  const auto capture = target->capture({});
  ASSERT_TRUE(capture);
  const auto ids = [](const Capture& c) {
    std::vector<ThreadId> all;
    for (const ThreadCapture& t : c.threads) all.push_back(t.tid);
    return all;
  };
  EXPECT_EQ(ids(*capture), (std::vector<ThreadId>{1, 5}));
  EXPECT_EQ(capture->threads[0].late, 0ms);
  ASSERT_EQ(capture->late.size(), 2U);
  EXPECT_EQ(ids(capture->late[0]), (std::vector<ThreadId>{2, 4}));
  EXPECT_EQ(capture->late[0].threads[0].late, 30ms);
  EXPECT_EQ(capture->late[0].consistency, Consistency::all_stopped_together);
  EXPECT_EQ(ids(capture->late[1]), (std::vector<ThreadId>{3}));
  EXPECT_EQ(capture->late[1].consistency, Consistency::not_stopped);
  for (const Capture& c : capture->late) {
    EXPECT_EQ(c.frozen, &target->memory());
    ASSERT_NE(c.regions, nullptr);
    EXPECT_EQ(c.regions->size(), target->regions()->size());
    EXPECT_FALSE(c.threads[0].stack.bytes.empty());
  }
}

TEST(CoreTarget, AsManyInstantsAsALiveCaptureMayHave) {
  NoteBuilder notes;
  for (std::uint32_t tid = 1; tid <= 1000; tid++)
    notes.thread(tid, 0, kStack + 0x100).note(kOwnNotes, kLateNote, late_note(std::chrono::nanoseconds(tid)));
  auto target = open(CoreBuilder().notes(notes).segment(kStack, built::filled(0x1000, 7)).build());
  CaptureRequest request;
  request.stack_byte_budget = 1 << 16;
  const auto capture = target->capture(request);
  ASSERT_TRUE(capture);
  EXPECT_TRUE(capture->threads.empty());
  EXPECT_EQ(capture->late.size(), 64U);
  std::size_t threads = 0, copied = 0;
  for (const Capture& late : capture->late) {
    threads += late.threads.size();
    for (const ThreadCapture& t : late.threads) copied += t.stack.bytes.size();
  }
  EXPECT_EQ(threads, 1000U);
  EXPECT_LE(copied, std::size_t{1} << 16);
}

/// A library at kBase in a process whose core holds only what a test adds.
struct LibraryCore {
  Bytes file;
  CoreBuilder core;
  explicit LibraryCore(const built::ElfOptions& options = {}) : file(built::build_elf(options)) {
    NoteBuilder notes;
    notes.thread(1).files({{kBase, kBase + 0x1000, 0, "/lib/libx.so"},
                           {kBase + 0x1000, kBase + 0x2000, 0x1000, "/lib/libx.so"},
                           {kBase + 0x2000, kBase + 0x4000, 0x2000, "/lib/libx.so"}});
    core.notes(notes);
  }
  LibraryCore& hold(std::uint64_t offset, std::uint64_t size = 0x1000) {
    const auto begin = file.begin() + static_cast<std::ptrdiff_t>(offset);
    core.segment(kBase + offset, {begin, begin + static_cast<std::ptrdiff_t>(size)}, 0, PF_R);
    return *this;
  }
};

class CoreImagesTest : public ::testing::Test {
 protected:
  void install(const std::string& path, const Bytes& file) {
    std::filesystem::create_directories(std::filesystem::path(folder_.file(path)).parent_path());
    folder_.write(path, file);
  }
  std::unique_ptr<Target> open(const LibraryCore& library) {
    return process::open(library.core.build(), {folder_.path()});
  }
  static bool serves(const Target& target, Address at) {
    return target.memory().read<std::uint8_t>(kBase + at).has_value();
  }
  test::TemporaryFolder folder_;
};

TEST_F(CoreImagesTest, AFileWithTheSameBuildIdStandsInForItsPages) {
  LibraryCore library(
      {.rela = {{0x2200, ELF64_R_INFO(0, R_X86_64_RELATIVE), 0x1234}, {0x2208, ELF64_R_INFO(1, R_X86_64_64), 0}},
       .relr = {0x2300, 0x3300}});
  install("lib/libx.so", library.file);
  const auto target = open(library.hold(0));
  const MemoryReader& memory = target->memory();
  EXPECT_EQ(memory.read<std::uint8_t>(kBase + 0x1800).value_or(0), 0x90);
  // RELRO: relocated, unknown words as zero, the rest as in the file.
  EXPECT_EQ(memory.read<std::uint64_t>(kBase + 0x2200).value_or(0), kBase + 0x1234);
  EXPECT_EQ(memory.read<std::uint64_t>(kBase + 0x2208).value_or(1), 0U);
  EXPECT_EQ(memory.read<std::uint64_t>(kBase + 0x2300).value_or(0), kBase + 0x2300);
  EXPECT_EQ(memory.read<std::uint64_t>(kBase + 0x2308).value_or(0), 0x2308U);
  // Pages that the program may have written are served only to readers of constant data.
  EXPECT_FALSE(serves(*target, 0x3000));
  EXPECT_FALSE(serves(*target, 0x3ff8));
  EXPECT_EQ(target->loaded_memory().read<std::uint64_t>(kBase + 0x3300).value_or(0), kBase + 0x3300);
  EXPECT_EQ(memory.read<std::uint64_t>(kBase + 0x2ffc).has_value(), false);  // across the end of RELRO
  const auto regions = target->regions();
  ASSERT_TRUE(regions);
  for (const Region& r : *regions) EXPECT_EQ(r.executable, r.range.begin == kBase + 0x1000);
}

TEST_F(CoreImagesTest, AnotherBuildIdIsSaidAndNeverUsed) {
  LibraryCore library;
  install("lib/libx.so", built::build_elf({.build_id = "another build entire"}));
  const auto target = open(library.hold(0));
  EXPECT_FALSE(serves(*target, 0x1000));
  EXPECT_EQ(target->open_file((*target->regions())[1]).error().code, ErrorCode::mismatch);
  EXPECT_TRUE(says(*target, "not the file of the core, not used"));
  EXPECT_TRUE(says(*target, "616e6f74686572206275696c6420656e74697265"));
  install("lib/libx.so", built::build_elf({.build_id = ""}));
  EXPECT_EQ(open(library)->open_file((*target->regions())[1]).error().code, ErrorCode::mismatch);
  install("lib/libx.so", built::bytes_of("a text"));
  EXPECT_EQ(open(library)->open_file((*target->regions())[1]).error().code, ErrorCode::mismatch);
}

TEST_F(CoreImagesTest, WithoutAnythingToCompareNothingIsBelieved) {
  LibraryCore library;
  install("lib/libx.so", library.file);
  const auto target = open(library);
  EXPECT_FALSE(serves(*target, 0x1000));
  EXPECT_EQ(target->open_file((*target->regions())[0]).error().code, ErrorCode::unsupported);
  EXPECT_TRUE(says(*target, "nothing to prove"));
}

TEST_F(CoreImagesTest, AFileThatIsNowhereIsNamedWithItsBuildId) {
  LibraryCore library;
  const auto target = open(library.hold(0));
  EXPECT_EQ(target->open_file((*target->regions())[0]).error().code, ErrorCode::not_found);
  EXPECT_TRUE(says(*target, "3031323334353637383961626364656667686a") ||
              says(*target, "303132333435363738396162636465666768696a"));
}

TEST_F(CoreImagesTest, WithoutABuildIdEqualPagesProveAndDifferentOnesRefute) {
  LibraryCore library({.build_id = ""});
  install("lib/libx.so", library.file);
  EXPECT_TRUE(serves(*open(library.hold(0)), 0x1000));
  Bytes other = library.file;
  other[0x900] = std::byte{1};  // somewhere in the headers' page
  install("lib/libx.so", other);
  const auto target = open(library);
  EXPECT_FALSE(serves(*target, 0x1000));
  EXPECT_TRUE(says(*target, "its headers differ"));
  // The code alone is no proof, but one against it.
  LibraryCore code({.build_id = ""});
  install("lib/libx.so", built::build_elf({.build_id = "", .code = 0xcc}));
  const auto refuted = open(code.hold(0x1000));
  EXPECT_FALSE(serves(*refuted, 0));
  EXPECT_TRUE(says(*refuted, "1 of 1 pages differ"));
}

TEST_F(CoreImagesTest, FilesOfAnotherCpuAndFilesThatAreTooShort) {
  LibraryCore library;
  install("lib/libx.so", built::build_elf({.machine = EM_AARCH64}));
  const auto target = open(library.hold(0));
  EXPECT_FALSE(serves(*target, 0x1000));
  EXPECT_TRUE(says(*target, "it is for another CPU"));
  Bytes cut = library.file;
  cut.resize(0x1800);
  install("lib/libx.so", cut);
  const auto shorter = open(library);  // the build id is right: what the file holds is used
  EXPECT_TRUE(serves(*shorter, 0x17ff));
  EXPECT_FALSE(serves(*shorter, 0x1800));
  EXPECT_FALSE(serves(*shorter, 0x2200));
}

TEST_F(CoreImagesTest, BareNamesAndFoldersByBuildId) {
  LibraryCore library;
  const std::string id = "30/3132333435363738396162636465666768696a";
  for (const std::string place : {"libx.so", "usr/lib/debug/.build-id/ID", ".build-id/ID"}) {
    std::string path = place;
    if (const auto at = path.find("ID"); at != std::string::npos) path.replace(at, 2, id);
    install(path, library.file);
    const bool by_id = path != place;
    EXPECT_TRUE(serves(*open(by_id ? library : library.hold(0)), 0x1000)) << path;
    std::filesystem::remove(folder_.file(path));
    EXPECT_FALSE(serves(*open(library), 0x1000)) << path;
  }
}

TEST_F(CoreImagesTest, LinksStayInsideTheSysroot) {
  test::TemporaryFolder outside;
  LibraryCore library;
  library.hold(0);
  outside.write("libx.so", library.file);
  std::filesystem::create_directories(folder_.file("lib"));
  std::filesystem::create_symlink(outside.file("libx.so"), folder_.file("lib/libx.so"));
  EXPECT_FALSE(serves(*open(library), 0x1000));
  std::filesystem::remove(folder_.file("lib/libx.so"));
  std::filesystem::create_symlink("../../../../../../../.." + outside.file("libx.so"), folder_.file("lib/libx.so"));
  EXPECT_FALSE(serves(*open(library), 0x1000));
  // An absolute link means the sysroot's own root.
  install("real/libx.so.1", library.file);
  std::filesystem::remove(folder_.file("lib/libx.so"));
  std::filesystem::create_symlink("/real/libx.so.1", folder_.file("lib/libx.so"));
  EXPECT_TRUE(serves(*open(library), 0x1000));
}

TEST_F(CoreImagesTest, AFolderThatCannotBeOpenedIsSaid) {
  const auto target = process::open(CoreBuilder().notes(NoteBuilder().thread(1)).build(), {"/nowhere/at/all"});
  EXPECT_TRUE(says(*target, "cannot be opened"));
}

}  // namespace
}  // namespace mixstack::process
