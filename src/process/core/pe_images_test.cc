// PE images of a core: proof by the pointers of their data, relocated code, and images mapped as they lie in the file.
#include <gtest/gtest.h>

#include "process/core/core_samples.h"
#include "process/core/core_target.h"
#include "support/core_builder.h"
#include "support/pe_builder.h"

namespace mixstack::process {
namespace built = mixstack::test;
namespace {

using built::Bytes;
using L = built::PeLayoutOf;

constexpr Address kBase = 0x7f0000000000;
constexpr std::uint32_t kWordInCode = 0x1800;

std::vector<std::uint32_t> words_in_data(std::uint32_t count) {
  std::vector<std::uint32_t> words{kWordInCode};
  for (std::uint32_t i = 0; i < count; i++) words.push_back(L::kData + i * 16);
  return words;
}

/// The page of data as the program left it: relocated, then `write` of its words.
Bytes data_page(const std::vector<std::uint32_t>& words, const std::function<std::uint64_t(std::uint32_t)>& write) {
  Bytes page(0x1000);
  for (const std::uint32_t rva : words)
    if (rva >= L::kData) built::put(page, rva - L::kData, write(rva));
  return page;
}
std::uint64_t as_loaded(std::uint32_t rva) { return kBase + rva; }

class PeImagesTest : public ::testing::Test {
 protected:
  std::unique_ptr<Target> open(const built::CoreBuilder& core) {
    auto bytes = CoreBytes::from_fd(base::ScopedFd(built::memory_file(core.build())), "core", {});
    FileFinderOptions files;
    files.sysroots = {folder_.path()};
    files.use_own_files = false;
    auto target = bytes ? open_core(std::move(*bytes), files) : fail(ErrorCode::not_found);
    return target ? std::move(*target) : nullptr;
  }
  /// Mapped section by section; the core holds the data and nothing else.
  std::unique_ptr<Target> open_with_data(const Bytes& data) {
    built::NoteBuilder notes;
    notes.thread(1).files({{kBase, kBase + 0x1000, 0, "/app/x.dll"},
                           {kBase + 0x1000, kBase + 0x2000, 0, "/app/x.dll"},
                           {kBase + 0x3000, kBase + 0x4000, 0x1000, "/app/x.dll"}});
    return open(built::CoreBuilder()
                    .notes(notes)
                    .segment(kBase, {}, 0x1000, PF_R)
                    .segment(kBase + 0x1000, {}, 0x1000, PF_R | PF_X)
                    .segment(kBase + 0x3000, data, 0x1000, PF_R | PF_W));
  }
  static bool serves_code(const Target& target) {
    return target.memory().read<std::uint8_t>(kBase + L::kCode).has_value();
  }
  static ErrorCode error_of(const Target& target) { return target.open_file((*target.regions())[0]).error().code; }
  static bool says(const Target& target, const std::string& text) {
    for (const auto& d : target.diagnoses())
      if (d.text.find(text) != std::string::npos) return true;
    return false;
  }
  test::TemporaryFolder folder_;
};

TEST_F(PeImagesTest, PointersOfItsDataProveAnImageAndItsCodeIsRelocated) {
  const auto words = words_in_data(32);
  folder_.write("x.dll", built::build_pe({.words = words}));
  // Cells that were resolved lead elsewhere and tell nothing.
  const auto target =
      open_with_data(data_page(words, [](std::uint32_t rva) { return rva % 64 == 0 ? 0x1234 : as_loaded(rva); }));
  ASSERT_TRUE(target);
  EXPECT_EQ(target->memory().read<std::uint8_t>(kBase + L::kCode).value_or(0), 0x90);
  EXPECT_EQ(target->memory().read<std::uint64_t>(kBase + kWordInCode).value_or(0), kBase + kWordInCode);
  EXPECT_EQ(target->memory().read<std::uint16_t>(kBase).value_or(0), 0x5a4d);
  EXPECT_FALSE(target->memory().read<std::uint8_t>(kBase + 0x2000));  // between sections there is nothing
  EXPECT_TRUE(target->diagnoses().size() <= 1);                       // of the auxiliary vector
}

TEST_F(PeImagesTest, PointersThatDifferRefuteIt) {
  const auto words = words_in_data(32);
  folder_.write("x.dll", built::build_pe({.words = words}));
  const auto target = open_with_data(data_page(words, [](std::uint32_t rva) { return as_loaded(rva) + 8; }));
  EXPECT_FALSE(serves_code(*target));
  EXPECT_EQ(error_of(*target), ErrorCode::mismatch);
  EXPECT_TRUE(says(*target, "32 of 32 pointers of its data differ"));
}

TEST_F(PeImagesTest, AFewPointersOrSomeThatDifferAreNoProof) {
  const auto few = words_in_data(7);
  folder_.write("x.dll", built::build_pe({.words = few}));
  auto target = open_with_data(data_page(few, as_loaded));
  EXPECT_FALSE(serves_code(*target));
  EXPECT_EQ(error_of(*target), ErrorCode::unsupported);
  EXPECT_TRUE(says(*target, "nothing to prove"));
  const auto enough = words_in_data(8);
  folder_.write("x.dll", built::build_pe({.words = enough}));
  EXPECT_TRUE(serves_code(*open_with_data(data_page(enough, as_loaded))));
  // One in twenty may differ, more may not.
  const auto many = words_in_data(42);
  folder_.write("x.dll", built::build_pe({.words = many}));
  for (const std::uint32_t wrong : {2U, 3U}) {
    target = open_with_data(
        data_page(many, [&](std::uint32_t rva) { return as_loaded(rva) + (rva < L::kData + wrong * 16 ? 8 : 0); }));
    EXPECT_EQ(serves_code(*target), wrong == 2) << wrong;
  }
}

TEST_F(PeImagesTest, AnotherCodeWithTheSamePointersIsRefutedByItsPages) {
  const auto words = words_in_data(32);
  Bytes file = built::build_pe({.words = words});
  folder_.write("x.dll", built::build_pe({.code = 0xcc, .words = words}));
  built::NoteBuilder notes;
  notes.thread(1).files({{kBase, kBase + 0x1000, 0, "/app/x.dll"}, {kBase + 0x1000, kBase + 0x2000, 0, "/app/x.dll"}});
  file.resize(0x1000);
  built::put(file, built::pe_offset_of(kWordInCode), kBase + kWordInCode);
  const auto target = open(built::CoreBuilder()
                               .notes(notes)
                               .segment(kBase, {}, 0x1000, PF_R)
                               .segment(kBase + 0x1000, file, 0x1000, PF_R | PF_X));
  EXPECT_EQ(error_of(*target), ErrorCode::mismatch);
  EXPECT_TRUE(says(*target, "1 of 1 pages differ"));
}

TEST_F(PeImagesTest, AnImageMappedFlatIsProvenByItsHeadersAndNotRelocated) {
  const auto words = words_in_data(32);
  const Bytes file = built::build_pe({.words = words});
  folder_.write("x.dll", file);
  built::NoteBuilder notes;
  notes.thread(1).files({{kBase, kBase + 0x3000, 0, "/app/x.dll"}});
  Bytes head(file.begin(), file.begin() + 0x1000);
  const auto target = open(built::CoreBuilder().notes(notes).segment(kBase, head, 0x3000, PF_R));
  EXPECT_EQ(target->memory().read<std::uint64_t>(kBase + L::kDataOffset).value_or(0), L::kPreferredBase + L::kData);
  EXPECT_FALSE(target->memory().read<std::uint8_t>(kBase + L::kFileSize));  // beyond the end of the file
  head[0x88] ^= std::byte{1};                                               // the timestamp
  const auto other = open(built::CoreBuilder().notes(notes).segment(kBase, head, 0x3000, PF_R));
  EXPECT_EQ(error_of(*other), ErrorCode::mismatch);
  EXPECT_TRUE(says(*other, "its headers differ"));
}

}  // namespace
}  // namespace mixstack::process
