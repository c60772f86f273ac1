#include "engine/symbols/elf_symbols.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/memory/process_memory.h"
#include "engine/images/file_bytes.h"
#include "support/host_cpu.h"

namespace mixstack::symbols {
namespace {

std::vector<Region> own_regions() {
  std::vector<Region> out;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    Region r;
    char sep;
    std::string flags;
    words >> std::hex >> r.range.begin >> sep >> r.range.end >> flags >> r.file_offset >> r.device_major >> sep >>
        r.device_minor >> std::dec >> r.inode >> std::ws;
    std::getline(words, r.path);
    r.readable = flags[0] == 'r';
    r.executable = flags[2] == 'x';
    r.shared = flags[3] == 's';
    out.push_back(r);
  }
  return out;
}

class OwnProcess : public testing::Test {
 protected:
  memory::ProcessMemory memory_{static_cast<std::uint32_t>(getpid())};
  images::ModuleMap modules_ =
      images::ModuleMap::build(own_regions(), memory_, [](const Region& r) { return images::open_file_bytes(r.path); });
  ElfSymbols symbols_{modules_, [](const std::string& path) { return images::open_file_bytes(path); }};
};

TEST_F(OwnProcess, NamesExportedFunctionsAsTheLoaderDoes) {
  for (auto* f : {reinterpret_cast<void*>(&std::fopen), reinterpret_cast<void*>(&::dlopen),
                  reinterpret_cast<void*>(&::qsort), dlsym(RTLD_DEFAULT, "_ZSt9terminatev")}) {
    Dl_info told{};
    ASSERT_NE(dladdr(f, &told), 0);
    const auto ours = symbols_.describe(CodeAddress::exact(reinterpret_cast<Address>(f) + 4));
    ASSERT_TRUE(ours);
    const auto at = reinterpret_cast<Address>(f) + 4;
    EXPECT_EQ(at - ours->offset, reinterpret_cast<Address>(told.dli_saddr));
    EXPECT_EQ(std::filesystem::canonical(told.dli_fname), ours->module_path);
    EXPECT_EQ(dlsym(RTLD_DEFAULT, ours->raw_name.c_str()), f) << ours->raw_name;
    EXPECT_EQ(ours->build_id.size(), 40u);
  }
}

TEST_F(OwnProcess, DemanglesAndKeepsTheLinkerSymbol) {
  const auto info =
      symbols_.describe(CodeAddress::exact(reinterpret_cast<Address>(dlsym(RTLD_DEFAULT, "_ZSt9terminatev"))));
  ASSERT_TRUE(info);
  EXPECT_EQ(info->name, "std::terminate()");
  EXPECT_EQ(info->raw_name, "_ZSt9terminatev");
  EXPECT_EQ(info->offset, 0u);
}

TEST_F(OwnProcess, AReturnAddressBehindTheLastCallStaysInItsFunction) {
  Dl_info told{};
  const ElfW(Sym)* symbol = nullptr;
  ASSERT_NE(dladdr1(reinterpret_cast<void*>(&::abort), &told,
                    reinterpret_cast<void**>(const_cast<ElfW(Sym)**>(&symbol)), RTLD_DL_SYMENT),
            0);
  const Address end = reinterpret_cast<Address>(told.dli_saddr) + symbol->st_size;
  const auto info = symbols_.describe(CodeAddress::after_call(end));
  ASSERT_TRUE(info);
  EXPECT_EQ(info->name, "abort");
  EXPECT_EQ(info->offset, symbol->st_size);
}

TEST_F(OwnProcess, NamesTheVdsoAndNothingOutsideImages) {
  if (const Address vdso = getauxval(AT_SYSINFO_EHDR); vdso != 0) {
    const auto index = modules_.find(vdso);
    ASSERT_NE(index, kNoModule);
    const auto function = (*modules_.image(index))->dynamic_symbol(test::kVdsoClock);
    ASSERT_TRUE(function);
    const auto info = symbols_.describe(CodeAddress::exact(modules_.modules()[index].load_bias + *function + 1));
    ASSERT_TRUE(info);
    EXPECT_EQ(info->module, "[vdso]");
    EXPECT_NE(info->raw_name.find("clock_gettime"), std::string::npos);
  }
  EXPECT_FALSE(symbols_.describe(CodeAddress::exact(16)));
  Frame managed;
  managed.kind = FrameKind::managed;
  managed.pc = CodeAddress::exact(reinterpret_cast<Address>(&std::fopen));
  EXPECT_FALSE(symbols_.describe(managed));
}

}  // namespace
}  // namespace mixstack::symbols
