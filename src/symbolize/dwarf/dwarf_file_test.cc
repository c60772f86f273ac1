#include "symbolize/dwarf/dwarf_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace mixstack::symbolize {
namespace {

// One function with the variable x; what else its block and its type are, a test says.
constexpr std::string_view kStart = R"(
    .text
f:  nop
    nop
    .section .debug_abbrev,"",@progbits
    .uleb128 1; .uleb128 0x11; .byte 1; .uleb128 0x11; .uleb128 1; .uleb128 0x12; .uleb128 7; .byte 0,0
    .uleb128 2; .uleb128 0x2e; .byte 1; .uleb128 0x11; .uleb128 1; .uleb128 0x12; .uleb128 7; .byte 0,0
    .uleb128 3; .uleb128 0x34; .byte 0; .uleb128 3; .uleb128 8; .uleb128 0x49; .uleb128 0x13; .byte 0,0
    .uleb128 5; .uleb128 0x0b; .byte 1; .uleb128 0x01; .uleb128 0x13; .byte 0,0 # block with a sibling
    .uleb128 6; .uleb128 0x24; .byte 0; .uleb128 0x0b; .uleb128 0x0b; .byte 0,0 # type of one byte of size
    .byte 0
    .section .debug_info,"",@progbits
unit:
    .long end - unit - 4
    .value 4
    .long 0
    .byte 8
    .uleb128 1; .quad f; .quad 2
    .uleb128 2; .quad f; .quad 2
    .uleb128 3; .asciz "x"; .long type - unit
)";
constexpr std::string_view kEnd = "\nend:\n";

class WholeFile final : public FileBytes {
 public:
  explicit WholeFile(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    text_.assign(std::istreambuf_iterator<char>(in), {});
  }
  [[nodiscard]] std::span<const std::byte> bytes() const override { return std::as_bytes(std::span(text_)); }

 private:
  std::string text_;
};

class HostileDwarf : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/mixstack-dwarf-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// The debug information of a file in which `rest` follows the variable.
  [[nodiscard]] std::shared_ptr<DwarfFile> assemble(std::string_view rest) const {
    std::ofstream(folder_ / "a.s") << kStart << rest << kEnd;
    const std::string command = "cd " + folder_.string() + " && as -o a.o a.s && ld -Ttext=0x1000 -e 0 -o a a.o";
    if (std::system((command + " 2>/dev/null").c_str()) != 0) return nullptr;
    auto file = DwarfFile::open(std::make_shared<WholeFile>(folder_ / "a"));
    return file ? *file : nullptr;
  }

  /// How a child ends that asks; SIGXCPU when that takes long.
  template <class Ask>
  [[nodiscard]] static int ends_with(const Ask& ask) {
    const pid_t child = ::fork();
    if (child == 0) {
      const rlimit seconds{5, 6};
      ::setrlimit(RLIMIT_CPU, &seconds);
      ::_exit(ask() ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    return status;
  }
  std::filesystem::path folder_;
};

TEST_F(HostileDwarf, AHarmlessOneIsRead) {
  const auto file = assemble(".byte 0\ntype: .uleb128 6; .byte 4\n.byte 0");
  if (file == nullptr) GTEST_SKIP() << "no assembler";
  const auto variables = file->variables(0x1000);
  ASSERT_EQ(variables.size(), 1u);
  EXPECT_EQ(variables[0].name, "x");
  EXPECT_EQ(variables[0].size, 4u);
}

// Each block calls its own child its sibling, so that each level is visited twice as often as the one around it.
TEST_F(HostileDwarf, BlocksThatAreTheirOwnSiblingsAreVisitedSomeTimesOnly) {
  std::string blocks = ".rept 40\n.uleb128 5; .long 9f - unit\n9:\n.endr\n.rept 42\n.byte 0\n.endr\n";
  const auto file = assemble(blocks + "type: .uleb128 6; .byte 4\n.byte 0");
  if (file == nullptr) GTEST_SKIP() << "no assembler";
  EXPECT_EQ(ends_with([&] {
              const auto variables = file->variables(0x1000);
              return variables.size() == 1 && variables[0].name == "x";
            }),
            0);
}

}  // namespace
}  // namespace mixstack::symbolize
