#include "engine/images/jit_images.h"

#include <gtest/gtest.h>

#include "base/memory/buffer_memory.h"
#include "support/jit_elf.h"

namespace mixstack::images {
namespace {

using test::build_jit_elf;
using test::jit_eh_frame;
using test::JitBytes;
using test::JitFunction;

constexpr Address kDescriptor = 0x10000, kCode = 0x7f0000400000;
constexpr std::size_t kPage = 4096;

struct Descriptor {
  std::uint32_t version = 1, action = 0;
  std::uint64_t relevant = 0, first = 0;
};
struct Entry {
  std::uint64_t next = 0, previous = 0, image = 0, size = 0;
};

JitBytes image_of(const std::string& name, Address code, std::uint16_t machine = EM_X86_64) {
  const std::vector<JitFunction> functions{{name, 0x40}, {name + "_two", 0x80}};
  return build_jit_elf(machine, code, kPage, functions, jit_eh_frame(machine, code, functions));
}

/// A process with a list of images.
class Program {
 public:
  /// Its entry comes behind those before.
  void add(const JitBytes& image) {
    const Address at = 0x20000 + 0x100000 * count_, entry = 0x11000 + 0x100 * count_;
    memory.add(at, image);
    entries_.push_back({0, 0, at, image.size()});
    addresses_.push_back(entry);
    count_++;
  }
  void link(std::uint32_t version = 1) {
    for (std::size_t i = 0; i < entries_.size(); i++) {
      if (i + 1 < entries_.size()) entries_[i].next = addresses_[i + 1];
      memory.add_value(addresses_[i], entries_[i]);
    }
    memory.add_value(kDescriptor, Descriptor{version, 0, 0, entries_.empty() ? 0 : addresses_[0]});
  }
  [[nodiscard]] std::shared_ptr<const JitImages> read(const JitImages* before = nullptr,
                                                      const JitImages::Limits& limits = {}) const {
    const std::vector<Address> descriptors{kDescriptor};
    return JitImages::read(memory, descriptors, Arch::x86_64, before, limits);
  }
  [[nodiscard]] std::string name(Address address) const {
    const auto images = read();
    const JitImage* image = images->find(address);
    if (image == nullptr) return "";
    const auto symbol = image->find(address);
    return symbol ? std::string(symbol->name) : "?";
  }

  memory::BufferMemory memory;
  std::vector<Entry> entries_;
  std::vector<Address> addresses_;

 private:
  std::size_t count_ = 0;
};

TEST(JitImages, SymbolsAreRelativeToTheirSections) {
  Program program;
  program.add(image_of("one", kCode));
  program.add(image_of("other", kCode + kPage));
  program.link();
  EXPECT_EQ(program.read()->images().size(), 2u);
  EXPECT_EQ(program.name(kCode - 1), "");
  EXPECT_EQ(program.name(kCode), "?") << "its code, and no symbol";
  EXPECT_EQ(program.name(kCode + 0x40), "one");
  EXPECT_EQ(program.name(kCode + 0x40 + test::jit_code_size(EM_X86_64) - 1), "one");
  EXPECT_EQ(program.name(kCode + 0x40 + test::jit_code_size(EM_X86_64)), "?");
  EXPECT_EQ(program.name(kCode + 0x80), "one_two");
  EXPECT_EQ(program.name(kCode + kPage + 0x40), "other");
  EXPECT_EQ(program.name(kCode + 2 * kPage), "");
}

TEST(JitImages, TheLaterOfTwoAtOnePlaceCounts) {
  Program program;
  program.add(image_of("new", kCode + 0x100));
  program.add(image_of("old", kCode));
  program.link();
  EXPECT_EQ(program.read()->images().size(), 1u);
  EXPECT_EQ(program.name(kCode + 0x140), "new");
  EXPECT_EQ(program.name(kCode + 0x40), "") << "that memory was given back";
}

TEST(JitImages, WhatIsTheSameStillIsNotMadeAgain) {
  Program program;
  program.add(image_of("one", kCode));
  program.add(image_of("two", kCode + kPage));
  program.link();
  const auto first = program.read();
  program.memory.add(program.entries_[1].image, image_of("six", kCode + kPage));  // of the same size
  const auto second = program.read(first.get());
  ASSERT_EQ(second->images().size(), 2u);
  EXPECT_EQ(second->images()[0], first->images()[0]);
  EXPECT_NE(second->images()[1], first->images()[1]);
}

TEST(JitImages, ListsThatDoNotEndAreLeft) {
  Program program;
  program.add(image_of("one", kCode));
  program.add(image_of("two", kCode + kPage));
  program.link();
  program.entries_[1].next = program.addresses_[0];
  program.memory.add_value(program.addresses_[1], program.entries_[1]);
  EXPECT_EQ(program.read()->images().size(), 2u);
  program.entries_[1].next = 0xdead0000;
  program.memory.add_value(program.addresses_[1], program.entries_[1]);
  EXPECT_EQ(program.read()->images().size(), 2u);
  EXPECT_EQ(program.read(nullptr, {.entries = 1})->images().size(), 1u);
}

TEST(JitImages, SizesAreBounded) {
  Program program;
  program.add(image_of("one", kCode));
  program.add(image_of("two", kCode + kPage));
  program.add(image_of("three", kCode + 2 * kPage));
  program.entries_[0].size = ~std::uint64_t{0};
  program.link();
  EXPECT_EQ(program.read()->images().size(), 2u);
  const std::size_t two = program.entries_[1].size;
  EXPECT_EQ(program.read(nullptr, {.image_bytes = two - 1})->images().size(), 0u);
  EXPECT_EQ(program.read(nullptr, {.all_bytes = two + 10})->images().size(), 1u);
}

// Each section would be read again: as many times all of the file as it has sections.
TEST(JitImages, SectionsOfUnwindInformationDoNotOverlap) {
  std::vector<JitFunction> functions;
  for (std::uint64_t i = 0; i < 16; i++) functions.push_back({"f" + std::to_string(i), 0x40 * i});
  JitBytes image = build_jit_elf(EM_X86_64, kCode, kPage, functions, jit_eh_frame(EM_X86_64, kCode, functions));
  Elf64_Ehdr header;
  std::memcpy(&header, image.data(), sizeof header);
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  std::memcpy(sections.data(), image.data() + header.e_shoff, sections.size() * sizeof(Elf64_Shdr));
  const Elf64_Shdr unwind = sections[2];
  ASSERT_GT(unwind.sh_size, 500u);
  const auto with = [&](unsigned copies) {
    std::vector<Elf64_Shdr> all = sections;
    for (unsigned i = 0; i < copies; i++) {
      all.push_back(unwind);
      Elf64_Shdr relocations{};
      relocations.sh_type = SHT_RELA;
      relocations.sh_info = static_cast<Elf64_Word>(all.size() - 1);
      relocations.sh_size = 24;
      all.push_back(relocations);
    }
    JitBytes bytes = image;
    Elf64_Ehdr changed = header;
    changed.e_shoff = bytes.size();
    changed.e_shnum = static_cast<Elf64_Half>(all.size());
    std::memcpy(bytes.data(), &changed, sizeof changed);
    const auto* table = reinterpret_cast<const std::byte*>(all.data());
    bytes.insert(bytes.end(), table, table + all.size() * sizeof(Elf64_Shdr));
    return JitImage::read(std::move(bytes), Arch::x86_64, memory::BufferMemory());
  };
  EXPECT_TRUE(with(1));
  const auto many = with(50);
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().code, ErrorCode::malformed);
}

TEST(JitImages, OtherVersionsAndNoListAreEmpty) {
  Program program;
  EXPECT_EQ(program.read()->images().size(), 0u) << "nothing can be read";
  program.add(image_of("one", kCode));
  program.link(2);
  EXPECT_EQ(program.read()->images().size(), 0u);
}

TEST(JitImages, WhatIsNoImageOfThisCpuIsLeftOut) {
  Program program;
  program.add(JitBytes(100, std::byte{'x'}));
  program.add(image_of("arm", kCode, EM_AARCH64));
  program.add(build_jit_elf(EM_X86_64, 0, kPage, {{"nowhere", 0}}, {}));
  program.add(build_jit_elf(EM_X86_64, ~Address{0} - 8, kPage, {{"around_the_end", 0}}, {}));
  program.add(image_of("good", kCode));
  program.link();
  EXPECT_EQ(program.read()->images().size(), 1u);
  EXPECT_EQ(program.name(kCode + 0x40), "good");
}

/// The object file's own copy of .eh_frame has zeros where relocations will be applied.
class RelocatedEhFrame : public testing::Test {
 protected:
  static constexpr Address kLoaded = 0x7f0000500000;
  void SetUp() override {
    const std::vector<JitFunction> functions{{"f", 0x40}};
    true_frame_ = jit_eh_frame(EM_X86_64, kCode, functions);
    file_ = build_jit_elf(EM_X86_64, kCode, kPage, functions, jit_eh_frame(EM_X86_64, 0, {{"f", 0}}));
    Elf64_Ehdr header;
    std::memcpy(&header, file_.data(), sizeof header);
    // The table of symbols becomes one of relocations for section 2, which is loaded elsewhere.
    change(header, 2, [](Elf64_Shdr& s) { s.sh_addr = kLoaded; });
    change(header, 3, [](Elf64_Shdr& s) {
      s.sh_type = SHT_RELA;
      s.sh_info = 2;
    });
  }
  template <class Change>
  void change(const Elf64_Ehdr& header, std::size_t section, Change how) {
    const std::size_t at = header.e_shoff + section * sizeof(Elf64_Shdr);
    Elf64_Shdr s;
    std::memcpy(&s, file_.data() + at, sizeof s);
    how(s);
    std::memcpy(file_.data() + at, &s, sizeof s);
  }
  [[nodiscard]] JitBytes frame() const {
    const auto image = JitImage::read(file_, Arch::x86_64, memory_);
    if (!image) return {};
    const auto bytes = (*image)->elf()->unwind_sections().eh_frame.bytes;
    return {bytes.begin(), bytes.end()};
  }

  memory::BufferMemory memory_;
  JitBytes true_frame_, file_;
};

TEST_F(RelocatedEhFrame, IsTakenFromWhereItIsLoaded) {
  memory_.add(kLoaded, true_frame_);
  EXPECT_EQ(frame(), true_frame_);
}

TEST_F(RelocatedEhFrame, IsNoneWhereThatCannotBeRead) {
  EXPECT_EQ(frame(), JitBytes(true_frame_.size()));
  memory_.add(kLoaded, std::span(true_frame_).first(20));
  EXPECT_EQ(frame(), JitBytes(true_frame_.size()));
}

TEST(JitImage, ASymbolWithoutSizeReachesToTheNext) {
  JitBytes file = build_jit_elf(EM_X86_64, kCode, kPage, {{"first", 0x100}, {"second", 0x180}, {"last", 0xf00}}, {});
  Elf64_Ehdr header;
  std::memcpy(&header, file.data(), sizeof header);
  Elf64_Shdr table;
  std::memcpy(&table, file.data() + header.e_shoff + 3 * sizeof table, sizeof table);
  for (std::size_t i = 1; i < 4; i++)
    std::memset(file.data() + table.sh_offset + i * sizeof(Elf64_Sym) + offsetof(Elf64_Sym, st_size), 0, 8);
  const auto image = JitImage::read(file, Arch::x86_64, memory::BufferMemory());
  ASSERT_TRUE(image.has_value());
  EXPECT_FALSE((*image)->find(kCode + 0xff).has_value());
  EXPECT_EQ((*image)->find(kCode + 0x17f)->name, "first");
  EXPECT_EQ((*image)->find(kCode + 0x180)->name, "second");
  EXPECT_EQ((*image)->find(kCode + 0xfff)->name, "last");
}

}  // namespace
}  // namespace mixstack::images
