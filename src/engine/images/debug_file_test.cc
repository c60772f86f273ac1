#include "engine/images/debug_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "engine/images/file_bytes.h"
#include "support/command_output.h"

namespace mixstack::images {
namespace {

/// A library with one exported and one hidden function, in the shapes distributions ship.
class DebugFile : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/mixstack-debug-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
    std::ofstream(folder_ / "a.c") << "int volatile sink;\n"
                                      "__attribute__((noinline)) static int hidden(int x) { return sink + x; }\n"
                                      "int exported(int x) { return hidden(x) + hidden(x + 1); }\n";
    if (!run("gcc -g -O1 -shared -fPIC -Wl,--build-id -o whole.so a.c")) GTEST_SKIP() << "no gcc";
    ASSERT_TRUE(run("objcopy --only-keep-debug whole.so a.debug && cp whole.so a.so && strip -s a.so"));
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] bool run(const std::string& command) const {
    return std::system(("cd " + folder_.string() + " && (" + command + ") >/dev/null 2>&1").c_str()) == 0;
  }
  [[nodiscard]] std::shared_ptr<const ElfImage> open(const std::string& name) const {
    return *ElfImage::from_file(*open_file_bytes(folder_ / name));
  }
  /// Paths as the "target" sees them: /usr/lib/debug is `folder_`/debug.
  [[nodiscard]] PathOpener opener() const {
    return [this](const std::string& path) {
      const std::string root = "/usr/lib/debug";
      return open_file_bytes(path.starts_with(root) ? folder_ / "debug" / path.substr(root.size() + 1)
                                                    : std::filesystem::path(path));
    };
  }
  [[nodiscard]] std::uint64_t address_of_hidden() const {
    const auto line = test::command_lines("nm " + (folder_ / "whole.so").string() + " | grep ' t hidden'");
    return std::stoull(line.at(0), nullptr, 16);
  }
  [[nodiscard]] std::optional<Symbol> find_hidden(const std::string& name) {
    table_ = SymbolTable::build(find_symbol_sources(open(name), folder_ / name, opener()));
    return table_->find(address_of_hidden() + 1);
  }

  std::filesystem::path folder_;
  std::shared_ptr<const SymbolTable> table_;
};

TEST_F(DebugFile, StrippedLibraryHasNoNameForItsHiddenFunction) {
  EXPECT_FALSE(find_hidden("a.so"));
  EXPECT_EQ(table_->find(*open("a.so")->dynamic_symbol("exported"))->name, "exported");
}

TEST_F(DebugFile, FoundByBuildId) {
  const auto hex = open("a.so")->build_id().hex();
  ASSERT_EQ(hex.size(), 40u);
  const std::string place = "debug/.build-id/" + hex.substr(0, 2);
  ASSERT_TRUE(run("mkdir -p " + place + " && cp a.debug " + place + "/" + hex.substr(2) + ".debug"));
  EXPECT_EQ(find_hidden("a.so")->name, "hidden");
  // A file of another build in that place is refused.
  ASSERT_TRUE(run("gcc -g -O2 -DX -shared -fPIC -Wl,--build-id -o other.so a.c && cp other.so " + place + "/" +
                  hex.substr(2) + ".debug"));
  EXPECT_FALSE(find_hidden("a.so"));
}

TEST_F(DebugFile, FoundByDebugLinkWithItsCrc) {
  ASSERT_TRUE(run("objcopy --remove-section .note.gnu.build-id --add-gnu-debuglink=a.debug a.so b.so"));
  ASSERT_TRUE(open("b.so")->build_id().empty());
  EXPECT_EQ(find_hidden("b.so")->name, "hidden");
  ASSERT_TRUE(run("mkdir .debug && mv a.debug .debug/"));
  EXPECT_EQ(find_hidden("b.so")->name, "hidden");
  ASSERT_TRUE(run("mkdir -p debug" + folder_.string() + " && mv .debug/a.debug debug" + folder_.string()));
  EXPECT_EQ(find_hidden("b.so")->name, "hidden");
  ASSERT_TRUE(run("printf x >> debug" + folder_.string() + "/a.debug"));
  EXPECT_FALSE(find_hidden("b.so"));
}

TEST_F(DebugFile, MiniDebugInfo) {
  ASSERT_TRUE(
      run("nm whole.so --format=posix --defined-only | cut -d' ' -f1 | grep hidden > keep && "
          "objcopy -S --remove-section .comment --keep-symbols=keep whole.so mini && xz -f mini && "
          "objcopy --add-section .gnu_debugdata=mini.xz a.so c.so"));
  EXPECT_EQ(find_hidden("c.so")->name, "hidden");
  // Damaged at every 16th byte: no name or the right one, never a crash.
  const auto good = *open_file_bytes(folder_ / "c.so");
  const auto section = *open("c.so")->section(".gnu_debugdata");
  for (std::uint64_t at = 0; at < section.size; at += 16) {
    std::vector<std::byte> bytes(good->bytes().begin(), good->bytes().end());
    bytes[section.offset + at] ^= std::byte{0x55};
    const auto image = *ElfImage::from_file(buffer_file_bytes(std::move(bytes)));
    const auto mini = open_mini_debug_info(*image);
    if (mini) {
      EXPECT_FALSE(mini->sections().empty());
    }
  }
}

TEST_F(DebugFile, CompressedSections) {
  for (const auto* kind : {"zlib-gnu", "zlib-gabi"}) {
    ASSERT_TRUE(run("gcc -g3 -O1 -fno-asynchronous-unwind-tables -c -o d.o a.c && objcopy --compress-debug-sections=" +
                    std::string(kind) + " d.o e.o"))
        << kind;
    const auto plain = open("d.o"), packed = open("e.o");
    const std::string name = ".debug_macro";
    const auto a = plain->section(name);
    auto b = packed->section(name);
    if (!b) b = packed->section(".zdebug_macro");
    ASSERT_TRUE(a && b) << kind;
    if (!a || !b) continue;
    EXPECT_EQ(a->size, b->size);
    EXPECT_TRUE(std::equal(a->bytes.begin(), a->bytes.end(), b->bytes.begin(), b->bytes.end())) << kind;
  }
}

}  // namespace
}  // namespace mixstack::images
