#include "engine/dwarf/dwarf_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "support/sparse_memory.h"

namespace mixstack::symbols {
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
    .uleb128 7; .uleb128 0x16; .byte 0; .uleb128 0x49; .uleb128 0x13; .byte 0,0 # typedef
    .uleb128 8; .uleb128 0x01; .byte 1; .uleb128 0x49; .uleb128 0x13; .byte 0,0 # array
    .uleb128 9; .uleb128 0x21; .byte 0; .uleb128 0x49; .uleb128 0x13; .uleb128 0x37; .uleb128 0x0b; .byte 0,0 # its size
    .uleb128 10; .uleb128 0x24; .byte 0; .uleb128 0x0b; .uleb128 0x0b; .uleb128 0x3e; .uleb128 0x0b; .byte 0,0
    .uleb128 11; .uleb128 0x34; .byte 0; .uleb128 0x49; .uleb128 0x13; .uleb128 2; .uleb128 0x18; .byte 0,0
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

// The bound is libdw's own.
TEST_F(HostileDwarf, TypesThatNameThemselvesHaveNoSize) {
  constexpr std::string_view kTypes[] = {
      "type: .uleb128 7; .long type - unit\n", "type: .uleb128 8; .long type - unit\n.byte 0\n",
      "type: .uleb128 7; .long own - unit\nown: .uleb128 7; .long type - unit\n",
      "type: .uleb128 8; .long own - unit\n.byte 0\nown: .uleb128 7; .long own - unit\n"};
  for (const std::string_view type : kTypes) {
    const auto file = assemble(".byte 0\n" + std::string(type) + ".byte 0");
    if (file == nullptr) GTEST_SKIP() << "no assembler";
    EXPECT_EQ(ends_with([&] {
                const auto variables = file->variables(0x1000);
                return variables.size() == 1 && variables[0].size == 0;
              }),
              0)
        << type;
  }
}

TEST_F(HostileDwarf, ArraysHaveTheSizeOfTheirElements) {
  const auto file = assemble(
      ".byte 0\ntype: .uleb128 7; .long array - unit\n"
      "array: .uleb128 8; .long byte - unit\n.uleb128 9; .long byte - unit; .byte 5\n.byte 0\n"
      "byte: .uleb128 6; .byte 2\n.byte 0");
  if (file == nullptr) GTEST_SKIP() << "no assembler";
  ASSERT_EQ(file->variables(0x1000).size(), 1u);
  EXPECT_EQ(file->variables(0x1000)[0].size, 10u);
}

/// The value of a variable that is computed, of a type of eight bytes.
class TypedDwarf : public HostileDwarf {
 protected:
  [[nodiscard]] std::optional<std::uint64_t> value(const std::string& operations) const {
    const auto file = assemble(".uleb128 11; .long type - unit; .uleb128 8f - 7f\n7: " + operations +
                               "; .byte 0x9f\n8:\n.byte 0\ntype: .uleb128 6; .byte 8\n"
                               "signed4: .uleb128 10; .byte 4, 5\nunsigned4: .uleb128 10; .byte 4, 7\n"
                               "unsigned8: .uleb128 10; .byte 8, 7\nsigned8: .uleb128 10; .byte 8, 5\n.byte 0");
    if (file == nullptr) return std::nullopt;
    const auto variables = file->variables(0x1000);
    if (variables.size() != 2) return std::nullopt;
    Registers registers(Arch::x86_64);
    const test::SparseMemory memory;
    DwarfFrame frame;
    frame.pc = 0x1000;
    frame.registers = &registers;
    frame.memory = &memory;
    std::vector<std::byte> bytes;
    if (file->value(variables[1].entry, frame, 8, bytes) != VariableStatus::found) return std::nullopt;
    std::uint64_t number = 0;
    std::memcpy(&number, bytes.data(), sizeof number);
    return number;
  }
  /// DW_OP_const_type.
  static std::string typed(const std::string& type, const std::string& number) {
    const bool is_short = type.ends_with('4');
    return ".byte 0xa4; .uleb128 " + type + " - unit; .byte " + (is_short ? "4; .long " : "8; .quad ") + number;
  }
};

// Shifts fill by the operation and divisions by the type, at the size of the type.
TEST_F(TypedDwarf, ShiftsAndDivisionsAreThoseOfTheType) {
  if (assemble(".byte 0\ntype: .uleb128 6; .byte 4\n.byte 0") == nullptr) GTEST_SKIP() << "no assembler";
  constexpr const char* kLit4 = "; .byte 0x34; .byte ";
  constexpr const char *kDiv = "; .byte 0x1b", *kShr = "0x25", *kShra = "0x26";
  EXPECT_EQ(value(typed("signed4", "-16") + kLit4 + kShr), 0x0fffffffu);
  EXPECT_EQ(value(typed("signed4", "-16") + kLit4 + kShra), ~std::uint64_t{0});
  EXPECT_EQ(value(typed("unsigned4", "-16") + kLit4 + kShra), 0xffffffffu);
  EXPECT_EQ(value(typed("unsigned8", "-16") + "; " + typed("unsigned8", "16") + kDiv), 0x0fffffffffffffffu);
  EXPECT_EQ(value(typed("signed8", "-16") + "; " + typed("signed8", "16") + kDiv), ~std::uint64_t{0});
  EXPECT_EQ(value(".byte 0x11; .sleb128 -16" + std::string(kLit4) + "0x1b"), static_cast<std::uint64_t>(-4))
      << "a generic value is divided with its sign";
}

}  // namespace
}  // namespace mixstack::symbols
