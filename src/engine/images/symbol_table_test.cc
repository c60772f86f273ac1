#include "engine/images/symbol_table.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include "engine/images/debug_file.h"
#include "engine/images/file_bytes.h"
#include "support/command_output.h"
#include "support/host_cpu.h"
#include "support/source_folder.h"

namespace mixstack::images {
namespace {

using test::kLibc, test::kLibstdcxx;

Result<std::shared_ptr<const FileBytes>> open_path(const std::string& path) { return open_file_bytes(path); }

std::shared_ptr<const ElfImage> open_image(const std::string& path) {
  auto file = open_file_bytes(path);
  if (!file) return nullptr;
  auto image = ElfImage::from_file(*file);
  return image ? *image : nullptr;
}

std::shared_ptr<const SymbolTable> open_table(const std::string& path) {
  return SymbolTable::build(find_symbol_sources(open_image(path), std::filesystem::canonical(path), open_path));
}

std::string debug_path_of(const std::string& path) {
  const auto hex = open_image(path)->build_id().hex();
  return "/usr/lib/debug/.build-id/" + hex.substr(0, 2) + "/" + hex.substr(2) + ".debug";
}

std::string runtime_file(const std::string& name) {
  std::error_code error;
  for (const auto& e : std::filesystem::directory_iterator("/usr/share/dotnet/shared/Microsoft.NETCore.App", error))
    if (std::filesystem::exists(e.path() / name)) return e.path() / name;
  return {};
}

/// A function symbol as readelf prints it.
struct Told {
  std::uint64_t size;
  std::string name;
};
using ToldTable = std::multimap<std::uint64_t, Told>;

void read_told(const std::string& command, ToldTable& out) {
  for (const auto& line : test::command_lines(command)) {
    std::istringstream words(line);
    std::string number, value, size, type, bind, visibility, index, name;
    words >> number >> value >> size >> type >> bind >> visibility >> index >> name;
    if ((type != "FUNC" && type != "IFUNC") || index == "UND") continue;
    if (const auto at = name.find('@'); at != std::string::npos) name.resize(at);
    out.insert({std::stoull(value, nullptr, 16), {std::stoull(size, nullptr, 0), name}});
  }
}

/// The names that may be given to an address: those of the nearest symbols below that contain it.
std::set<std::string> acceptable(const ToldTable& told, std::uint64_t address) {
  std::set<std::string> names;
  auto it = told.upper_bound(address);
  while (it != told.begin()) {
    const std::uint64_t start = std::prev(it)->first;
    const auto group = told.equal_range(start);
    bool contains = false;
    for (auto i = group.first; i != group.second; ++i) contains |= address - start < i->second.size;
    if (contains) {
      for (auto i = group.first; i != group.second; ++i) names.insert(i->second.name);
      return names;
    }
    it = group.first;
    if (address - start > (1u << 20)) break;
  }
  return names;
}

void expect_equals_readelf(const std::string& path, bool has_debug_file) {
  ASSERT_TRUE(std::filesystem::exists(path));
  const auto image = open_image(path);
  const auto table = open_table(path);
  ToldTable told;
  read_told("readelf -sW " + path, told);
  if (has_debug_file) read_told("readelf -sW " + debug_path_of(path), told);
  ASSERT_FALSE(told.empty());
  std::vector<std::uint64_t> addresses;
  std::mt19937_64 random(1);
  for (const auto& s : image->segments())
    for (int i = 0; s.type == PT_LOAD && (s.flags & PF_X) != 0 && i < 5000; i++)
      addresses.push_back(s.vaddr + random() % s.file_size);
  for (const auto& [address, t] : told)
    addresses.insert(addresses.end(), {address, address + t.size - 1, address + t.size});
  std::size_t named = 0, unnamed = 0;
  for (const auto a : addresses) {
    const auto names = acceptable(told, a);
    const auto found = table->find(a);
    if (found && found->is_plt) continue;
    if (names.empty()) {
      unnamed++;
      // Only labels and functions without a size may name what no sized function contains.
      if (found) {
        EXPECT_FALSE(told.contains(found->address) && told.find(found->address)->second.size != 0)
            << std::hex << a << " " << found->name;
      }
      continue;
    }
    named++;
    ASSERT_TRUE(found) << path << std::hex << " " << a << " should be " << *names.begin();
    EXPECT_TRUE(names.contains(std::string(found->name)))
        << path << std::hex << " " << a << " is " << found->name << ", should be " << *names.begin();
  }
  EXPECT_GT(named, told.size()) << path;
  EXPECT_LT(unnamed, addresses.size());
}

TEST(SymbolTable, LibcEqualsReadelf) { expect_equals_readelf(kLibc, std::filesystem::exists(debug_path_of(kLibc))); }
TEST(SymbolTable, LibstdcxxEqualsReadelf) { expect_equals_readelf(kLibstdcxx, false); }
TEST(SymbolTable, AnUnstrippedProgramEqualsReadelf) {
  expect_equals_readelf(std::filesystem::canonical("/proc/self/exe"), false);
}

TEST(SymbolTable, TheGapsOfLibcoreclrHaveNoName) {
  const auto path = runtime_file("libcoreclr.so");
  if (path.empty()) GTEST_SKIP() << "no .NET runtime installed";
  expect_equals_readelf(path, false);
  const auto table = open_table(path);
  EXPECT_LT(table->size(), 20u);
  EXPECT_FALSE(table->find(*open_image(path)->dynamic_symbol("coreclr_initialize") + 0x10000));
}

/// objdump prints "ADDRESS <name@plt>:" before each stub.
void expect_plt_equals_objdump(const std::string& path) {
  const auto table = open_table(path);
  std::size_t checked = 0;
  for (const auto& line : test::command_lines("objdump -d -j .plt -j .plt.sec -j .plt.got " + path)) {
    const auto open = line.find(" <"), close = line.find("@plt>:");
    if (open == std::string::npos || close == std::string::npos) continue;
    const auto name = line.substr(open + 2, close - open - 2);
    const auto found = table->find(std::stoull(line, nullptr, 16) + 3);
    ASSERT_TRUE(found) << path << " " << line;
    EXPECT_TRUE(found->is_plt) << line;
    EXPECT_EQ(found->address, std::stoull(line, nullptr, 16));
    if (!name.starts_with("*ABS*")) {
      EXPECT_EQ(found->name, name) << path;
    }
    checked++;
  }
  EXPECT_GT(checked, 5u) << path;
}

TEST(SymbolTable, PltStubsEqualObjdump) {
  expect_plt_equals_objdump(kLibc);
  // On AArch64 relocations of TLS descriptors, which have no stub, stand among those of stubs: objdump counts them as
  // one.
  if (test::kHostCpu != Arch::aarch64) expect_plt_equals_objdump(kLibstdcxx);
  expect_plt_equals_objdump("/bin/ls");
  if (const auto path = runtime_file("libcoreclr.so"); !path.empty()) expect_plt_equals_objdump(path);
  if (const auto path = runtime_file("libclrjit.so"); !path.empty()) expect_plt_equals_objdump(path);
}

TEST(SymbolTable, PltStubsOfAarch64) {
  // Linked by lld; `llvm-objdump -d --section=.plt` shows the header, then one stub of four instructions.
  const auto path = mixstack::test::source_folder() + "/fuzz/corpus/elf/elf-aarch64-linux-gnu";
  const auto image = open_image(path);
  ASSERT_EQ(image->arch(), Arch::aarch64);
  const auto table = SymbolTable::build(find_symbol_sources(image, path, nullptr));
  const auto plt = *image->section(".plt");
  EXPECT_FALSE(table->find(plt.address + 4));
  const auto stub = table->find(plt.address + 32 + 8);
  ASSERT_TRUE(stub);
  EXPECT_EQ(stub->name, "outside");
  EXPECT_EQ(stub->address, plt.address + 32);
  EXPECT_TRUE(stub->is_plt);
}

TEST(SymbolTable, AliasesAreChosenByBindingThenName) {
  const auto table = open_table(kLibc);
  const auto image = open_image(kLibc);
  EXPECT_EQ(table->find(*image->dynamic_symbol("malloc"))->name, "malloc");
  EXPECT_EQ(table->find(*image->dynamic_symbol("__cxa_atexit"))->name, "__cxa_atexit");
}

TEST(SymbolTable, GdbAgrees) {
  const auto path = std::string(kLibc);
  if (!std::filesystem::exists(debug_path_of(path))) GTEST_SKIP() << "libc6-dbg is not installed";
  const auto table = open_table(path);
  std::mt19937_64 random(2);
  std::vector<std::uint64_t> addresses;
  const auto text = *open_image(path)->section(".text");
  std::string command = "gdb -nx -batch";
  for (int i = 0; i < 200; i++) {
    addresses.push_back(text.address + random() % text.size);
    command += " -ex 'printf \"@\"' -ex 'info symbol " + std::to_string(addresses.back()) + "'";
  }
  std::vector<std::string> answers;
  for (const auto& line : test::command_lines(command + " " + path))
    if (line.find('@') != std::string::npos) answers.push_back(line.substr(line.find('@') + 1));
  if (answers.size() != addresses.size()) GTEST_SKIP() << "gdb gave " << answers.size() << " answers";
  ToldTable told;
  read_told("readelf -sW " + path, told);
  read_told("readelf -sW " + debug_path_of(path), told);
  std::size_t equal = 0;
  for (std::size_t i = 0; i < addresses.size(); i++) {
    const auto found = table->find(addresses[i]);
    const auto theirs = answers[i].substr(0, answers[i].find_first_of(" ,"));
    if (!found) {
      // gdb names a gap by what precedes it unless the symbol has a size that ends before.
      EXPECT_TRUE(answers[i].starts_with("No symbol")) << std::hex << addresses[i] << " " << answers[i];
      continue;
    }
    const bool alias =
        acceptable(told, addresses[i]).contains(theirs) || found->name.starts_with(theirs + ".");  // gdb drops ".0"
    EXPECT_TRUE(alias) << std::hex << addresses[i] << " ours " << found->name << ", gdb's " << answers[i];
    equal += alias ? 1u : 0u;
  }
  EXPECT_GT(equal, 150u);
}

}  // namespace
}  // namespace mixstack::images
