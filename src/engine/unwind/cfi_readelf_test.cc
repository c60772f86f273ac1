// Every row of real images, as the table and as the interpreter give it, against readelf's.
#include <gtest/gtest.h>

#include <filesystem>

#include "engine/images/file_bytes.h"
#include "engine/unwind/unwind_table.h"
#include "support/host_cpu.h"
#include "support/readelf_frames.h"
#include "support/source_folder.h"

namespace mixstack::unwind {
namespace {

std::shared_ptr<const images::ElfImage> open_image(const std::string& path) {
  auto file = images::open_file_bytes(path);
  if (!file) return nullptr;
  auto image = images::ElfImage::from_file(*file);
  return image ? *image : nullptr;
}

const std::map<std::string, unsigned>& register_names(Arch arch) {
  static const std::map<std::string, unsigned> x86{
      {"rax", 0}, {"rdx", 1},  {"rcx", 2},  {"rbx", 3},  {"rsi", 4},  {"rdi", 5},  {"rbp", 6},  {"rsp", 7}, {"r8", 8},
      {"r9", 9},  {"r10", 10}, {"r11", 11}, {"r12", 12}, {"r13", 13}, {"r14", 14}, {"r15", 15}, {"rip", 16}};
  static const std::map<std::string, unsigned> arm = [] {
    std::map<std::string, unsigned> names{{"sp", 31}};
    for (unsigned i = 0; i < 31; i++) names["x" + std::to_string(i)] = i;
    return names;
  }();
  return arch == Arch::aarch64 ? arm : x86;
}

std::string name_of(Arch arch, unsigned reg) {
  for (const auto& [name, number] : register_names(arch))
    if (number == reg) return name;
  return "?" + std::to_string(reg);
}

std::string with_sign(std::int64_t v) { return (v < 0 ? "" : "+") + std::to_string(v); }

std::string cfa_text(const UnwindRule& rule, Arch arch) {
  switch (rule.cfa_kind) {
    case CfaKind::register_offset:
      return name_of(arch, rule.cfa_register) + with_sign(rule.cfa_offset);
    case CfaKind::undefined:
      return "undefined";
    default:
      return "exp";
  }
}

/// "u" for undefined and for no rule: readelf prints both so.
std::string register_text(const UnwindRule& rule, unsigned reg, Arch arch) {
  for (std::size_t i = 0; i < rule.count; i++) {
    const auto& r = rule.rules[i];
    if (r.reg != reg) continue;
    switch (r.kind) {
      case RegisterRuleKind::same_value:
        return "s";
      case RegisterRuleKind::undefined:
        return "u";
      case RegisterRuleKind::at_cfa_offset:
        return "c" + with_sign(r.value);
      case RegisterRuleKind::is_cfa_offset:
        return "v" + with_sign(r.value);
      case RegisterRuleKind::in_register:
        return name_of(arch, r.base);
      case RegisterRuleKind::at_register_offset:
      case RegisterRuleKind::at_expression:
        return "exp";
      case RegisterRuleKind::is_expression:
        return "vexp";
    }
  }
  return "u";
}

std::string rule_text(const UnwindRule& rule, Arch arch, const test::ReadelfRow& row) {
  std::string text = cfa_text(rule, arch);
  for (const auto& [head, value] : row.registers) {
    const auto& names = register_names(arch);
    const auto known = names.find(head);
    if (head != "ra" && known == names.end()) continue;  // vector registers
    text += " " + head + "=" + register_text(rule, head == "ra" ? rule.ra_register : known->second, arch);
  }
  return text;
}

std::string row_text(Arch arch, const test::ReadelfRow& row) {
  std::string text = row.cfa;
  for (const auto& [head, value] : row.registers) {
    if (head != "ra" && register_names(arch).count(head) == 0) continue;
    // "r3 (rbx)" is the register's name for us.
    const auto open = value.find('(');
    text += " " + head + "=" + (open == std::string::npos ? value : value.substr(open + 1, value.size() - open - 2));
  }
  return text;
}

/// Registers with a rule that readelf prints no column for would go unseen.
bool has_unprinted_rule(const UnwindRule& rule, Arch arch, const test::ReadelfRow& row) {
  for (std::size_t i = 0; i < rule.count; i++) {
    const auto& r = rule.rules[i];
    if (r.reg == rule.ra_register || r.kind == RegisterRuleKind::undefined) continue;
    if (row.registers.count(name_of(arch, r.reg)) == 0) return true;
  }
  return false;
}

struct Differences {
  std::size_t fdes = 0, rows = 0, different = 0;
  std::string first;
  void add(std::uint64_t pc, const std::string& ours, const std::string& theirs) {
    if (different++ < 10) {
      std::ostringstream line;
      line << std::hex << pc << ": ours " << ours << "\n    readelf " << theirs << "\n";
      first += line.str();
    }
  }
};

void compare_row(const UnwindTable& table, std::uint64_t pc, const test::ReadelfRow& row, Differences& out) {
  const std::string expected = row_text(table.arch(), row);
  out.rows++;
  for (const bool compiled : {true, false}) {
    const auto rule = compiled ? table.rule(pc) : table.interpret(pc);
    if (!rule) {
      out.add(pc, "error " + std::to_string(static_cast<int>(rule.error().code)), expected);
    } else if (const auto text = rule_text(*rule, table.arch(), row); text != expected) {
      out.add(pc, text + (compiled ? " (table)" : " (interpreter)"), expected);
    } else if (has_unprinted_rule(*rule, table.arch(), row)) {
      out.add(pc, text + " and more", expected);
    }
  }
}

Differences compare(const std::string& path, bool debug_frame = false) {
  Differences out;
  const auto image = open_image(path);
  if (image == nullptr) return out;
  const auto table = UnwindTable::create(image, false);
  for (const auto& fde : test::readelf_frames(path)) {
    if (fde.is_debug_frame != debug_frame || fde.pc_begin == fde.pc_end) continue;
    out.fdes++;
    auto rows = fde.rows;
    if (rows.empty()) {
      rows.push_back(fde.cie_row);
      rows[0].pc = fde.pc_begin;
    }
    for (std::size_t i = 0; i < rows.size(); i++) {
      const std::uint64_t last = (i + 1 < rows.size() ? rows[i + 1].pc : fde.pc_end) - 1;
      if (rows[i].pc >= fde.pc_end) continue;
      compare_row(*table, rows[i].pc, rows[i], out);
      if (last > rows[i].pc) compare_row(*table, last, rows[i], out);
    }
    if (table->function_at(fde.pc_begin) != AddressRange{fde.pc_begin, fde.pc_end})
      out.add(fde.pc_begin, "another function", "an FDE");
  }
  return out;
}

void expect_equal(const std::string& path, bool debug_frame = false) {
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  SCOPED_TRACE(path);
  const auto d = compare(path, debug_frame);
  EXPECT_GT(d.fdes, 0u);
  EXPECT_GT(d.rows, d.fdes);
  EXPECT_EQ(d.different, 0u) << d.first;
  std::printf("%s: %zu FDEs, %zu row addresses compared\n", path.c_str(), d.fdes, d.rows);
}

/// "Microsoft.NETCore.App 10.0.12 [/usr/share/dotnet/shared/Microsoft.NETCore.App]"
std::vector<std::string> runtime_folders() {
  std::vector<std::string> folders;
  for (const auto& line : test::command_lines("dotnet --list-runtimes")) {
    const auto words = test::row_words(line);
    if (words.size() != 3 || words[0] != "Microsoft.NETCore.App") continue;
    folders.push_back(words[2].substr(1, words[2].size() - 2) + "/" + words[1]);
  }
  return folders;
}

TEST(CfiAgainstReadelf, SystemLibraries) {
  for (const auto* path : {test::kLibc, test::kLibstdcxx, test::kLibm, test::kLibgcc})
    expect_equal(std::filesystem::canonical(path));
}

TEST(CfiAgainstReadelf, RuntimeLibraries) {
  const auto folders = runtime_folders();
  ASSERT_FALSE(folders.empty()) << "no .NET runtime installed";
  for (const auto& folder : folders)
    for (const auto* name : {"libcoreclr.so", "libclrjit.so"}) expect_equal(folder + "/" + name);
}

TEST(CfiAgainstReadelf, HandmadeFixtures) {
  for (const auto* name : {"handmade_x86_64.so", "handmade_aarch64.so"})
    expect_equal(mixstack::test::source_folder() + "/tests/data/unwind/" + name);
}

TEST(CfiAgainstReadelf, DebugFrame) {
  if (test::command_lines("command -v gcc").empty()) GTEST_SKIP() << "there is no compiler here";
  // The same functions described by .debug_frame only, in each version of DWARF that changed it.
  const std::string source = mixstack::test::source_folder() + "/tests/data/unwind/debug_frame.c";
  for (const auto* version : {"2", "3", "4", "5"}) {
    const std::string file = ::testing::TempDir() + "debug_frame_" + version + ".so";
    const std::string command =
        std::string("gcc -shared -fPIC -O2 -nostdlib -fno-asynchronous-unwind-tables -gdwarf-") + version + " -o " +
        file + " " + source;
    (void)test::command_lines(command);
    expect_equal(file, true);
  }
}

TEST(CfiAgainstReadelf, Aarch64Libraries) {
  const std::string folder = "/usr/aarch64-linux-gnu/lib/";
  if (!std::filesystem::exists(folder + "libc.so.6")) GTEST_SKIP() << "libc6-arm64-cross is not installed";
  expect_equal(folder + "libc.so.6");
  expect_equal(folder + "ld-linux-aarch64.so.1");
  if (std::filesystem::exists(folder + "libstdc++.so.6"))
    expect_equal(std::filesystem::canonical(folder + "libstdc++.so.6"));
}

}  // namespace
}  // namespace mixstack::unwind
