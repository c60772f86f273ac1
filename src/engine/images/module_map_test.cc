#include "engine/images/module_map.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "base/memory/buffer_memory.h"
#include "base/memory/process_memory.h"
#include "engine/images/file_bytes.h"

namespace mixstack::images {
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
    r.writable = flags[1] == 'w';
    r.executable = flags[2] == 'x';
    r.shared = flags[3] == 's';
    out.push_back(r);
  }
  return out;
}

Result<std::shared_ptr<const FileBytes>> open_by_path(const Region& r) { return open_file_bytes(r.path); }

struct Loaded {
  std::string name;
  Address bias;
  Address code;  // some address of executable memory
};

std::vector<Loaded> what_the_loader_says() {
  std::vector<Loaded> out;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        for (int i = 0; i < info->dlpi_phnum; i++)
          if (const auto& p = info->dlpi_phdr[i]; p.p_type == PT_LOAD && (p.p_flags & PF_X) != 0)
            static_cast<std::vector<Loaded>*>(data)->push_back(
                {info->dlpi_name, info->dlpi_addr, info->dlpi_addr + p.p_vaddr});
        return 0;
      },
      &out);
  return out;
}

TEST(ModuleMap, EqualsTheLoadersList) {
  const memory::ProcessMemory memory(static_cast<std::uint32_t>(getpid()));
  const auto map = ModuleMap::build(own_regions(), memory, open_by_path);
  const auto loaded = what_the_loader_says();
  ASSERT_GT(loaded.size(), 4u);
  EXPECT_EQ(map.modules().size(), loaded.size());
  for (const auto& l : loaded) {
    const auto index = map.find(l.code);
    ASSERT_NE(index, kNoModule) << l.name;
    const auto& m = map.modules()[index];
    EXPECT_EQ(m.load_bias, l.bias) << l.name;
    EXPECT_TRUE(map.is_executable(l.code));
    const auto image = map.image(index);
    ASSERT_TRUE(image) << l.name;
    EXPECT_EQ((*image)->build_id(), map.build_id(index)) << l.name;
  }
  EXPECT_EQ(map.find(0), kNoModule);
  EXPECT_EQ(map.find(~Address{0}), kNoModule);
  int local = 0;
  EXPECT_EQ(map.find(reinterpret_cast<Address>(&local)), kNoModule);
  EXPECT_FALSE(map.is_executable(reinterpret_cast<Address>(&local)));
}

TEST(ModuleMap, AFlatMappingOfALibraryIsNoModule) {
  const auto before = own_regions();
  Dl_info info{};
  ASSERT_NE(dladdr(reinterpret_cast<void*>(&std::fopen), &info), 0);
  const int fd = ::open(info.dli_fname, O_RDONLY | O_CLOEXEC);
  void* flat = ::mmap(nullptr, 1u << 20, PROT_READ, MAP_PRIVATE, fd, 0);
  ASSERT_NE(flat, MAP_FAILED);
  const memory::ProcessMemory memory(static_cast<std::uint32_t>(getpid()));
  const auto map = ModuleMap::build(own_regions(), memory, open_by_path);
  EXPECT_EQ(map.find(reinterpret_cast<Address>(flat)), kNoModule);
  EXPECT_EQ(map.modules().size(), what_the_loader_says().size());
  ::munmap(flat, 1u << 20);
  ::close(fd);
}

TEST(ModuleMap, SharesImagesThroughTheCache) {
  const memory::ProcessMemory memory(static_cast<std::uint32_t>(getpid()));
  const auto cache = std::make_shared<ImageCache>();
  const auto a = ModuleMap::build(own_regions(), memory, open_by_path, cache);
  const auto b = ModuleMap::build(own_regions(), memory, open_by_path, cache);
  const auto index = a.find(reinterpret_cast<Address>(&std::fopen));
  EXPECT_EQ(a.image(index)->get(), b.image(index)->get());
}

/// A small ELF image: headers, one read-only and one executable segment.
struct TinyElf {
  static constexpr std::uint64_t kTextOffset = 0x1000, kTextAddress = 0x2000;
  std::vector<std::byte> file{std::size_t{0x2000}};
  TinyElf() {
    Elf64_Ehdr e{};
    std::memcpy(e.e_ident, ELFMAG, SELFMAG);
    e.e_ident[EI_CLASS] = ELFCLASS64;
    e.e_ident[EI_DATA] = ELFDATA2LSB;
    e.e_type = ET_DYN;
    e.e_machine = EM_X86_64;
    e.e_phoff = sizeof e;
    e.e_phentsize = sizeof(Elf64_Phdr);
    e.e_phnum = 2;
    const Elf64_Phdr p[2] = {{PT_LOAD, PF_R, 0, 0, 0, 0x1000, 0x1000, 0x1000},
                             {PT_LOAD, PF_R | PF_X, kTextOffset, kTextAddress, kTextAddress, 0x1000, 0x1000, 0x1000}};
    std::memcpy(file.data(), &e, sizeof e);
    std::memcpy(file.data() + sizeof e, p, sizeof p);
  }
  [[nodiscard]] std::span<const std::byte> head() const { return std::span(file).first(0x1000); }
};

Region mapping(Address begin, std::uint64_t size, std::uint64_t offset, bool executable, std::uint64_t inode,
               std::string path) {
  Region r;
  r.range = {begin, begin + size};
  r.file_offset = offset;
  r.inode = inode;
  r.readable = true;
  r.executable = executable;
  r.path = std::move(path);
  return r;
}

TEST(ModuleMap, SingleFileProgramMapsItsOwnFileBelowItsImage) {
  // Shape of a .NET single-file program: bundled assemblies are mapped from the tail of the program's own file.
  const TinyElf elf;
  memory::BufferMemory memory;
  memory.add(0x500000, elf.head());
  const std::vector<Region> regions{
      mapping(0x100000, 0x4000, 0x9000, false, 7, "/app"),  // a bundled assembly below the image
      mapping(0x4fc000, 0x4000, 0x5000, false, 7, "/app"),  // another one, touching it
      mapping(0x500000, 0x1000, 0, false, 7, "/app"),      mapping(0x502000, 0x1000, 0x1000, true, 7, "/app"),
      mapping(0x503000, 0x1000, 0x7000, false, 7, "/app"),  // and one right behind
  };
  const auto map = ModuleMap::build(regions, memory, nullptr);
  ASSERT_EQ(map.modules().size(), 1u);
  EXPECT_EQ(map.modules()[0].load_bias, 0x500000u);
  EXPECT_EQ(map.modules()[0].range, (AddressRange{0x500000, 0x503000}));
  EXPECT_EQ(map.find(0x502100), 0u);
  EXPECT_EQ(map.find(0x4ff000), kNoModule);
  EXPECT_EQ(map.find(0x503000), kNoModule);
  EXPECT_EQ(map.find(0x501000), kNoModule);  // the gap
  EXPECT_TRUE(map.image(0));                 // no opener: from memory
}

TEST(ModuleMap, ReadyToRunImagesAreMappedFromPeFiles) {
  // Shape seen with System.Private.CoreLib.dll: mapped flat and shared first, then as an image whose code section
  // starts in the first page of the file, so that two mappings show "MZ".
  std::vector<std::byte> head(0x1000);
  const auto put = [&](std::size_t at, auto value) { std::memcpy(&head[at], &value, sizeof value); };
  put(0, std::uint16_t{0x5a4d});
  put(0x3c, std::uint32_t{0x80});
  put(0x80, std::uint32_t{0x4550});
  put(0x84, std::uint16_t{0xfd1d});
  put(0x86, std::uint16_t{2});    // sections
  put(0x94, std::uint16_t{240});  // optional header
  put(0x98, std::uint16_t{0x20b});
  put(0x98 + 56, std::uint32_t{0x30000});  // SizeOfImage
  put(0x98 + 60, std::uint32_t{0x400});
  put(0x98 + 108, std::uint32_t{16});
  const auto section = [&](std::size_t i, std::uint32_t rva, std::uint32_t raw, std::uint32_t size) {
    const std::size_t at = 0x98 + 240 + i * 40;
    put(at + 8, size);
    put(at + 12, rva);
    put(at + 16, size);
    put(at + 20, raw);
  };
  section(0, 0x10400, 0x400, 0x3c00);
  section(1, 0x24000, 0x4000, 0x1000);
  memory::BufferMemory memory;
  for (const Address at : {Address{0x100000}, Address{0x200000}, Address{0x210000}}) memory.add(at, head);
  auto flat = mapping(0x100000, 0x5000, 0, false, 3, "/a.dll");
  flat.shared = true;
  const std::vector<Region> regions{
      flat, mapping(0x200000, 0x1000, 0, false, 3, "/a.dll"), mapping(0x201000, 0xf000, 0, false, 0, ""),
      mapping(0x210000, 0x4000, 0, true, 3, "/a.dll"), mapping(0x224000, 0x1000, 0x4000, false, 3, "/a.dll")};
  const auto map = ModuleMap::build(regions, memory, nullptr);
  ASSERT_EQ(map.modules().size(), 1u);
  EXPECT_EQ(map.modules()[0].kind, ModuleKind::pe);
  EXPECT_EQ(map.modules()[0].load_bias, 0x200000u);
  EXPECT_EQ(map.modules()[0].range, (AddressRange{0x200000, 0x225000}));
  EXPECT_EQ(map.find(0x210500), 0u);
  EXPECT_EQ(map.find(0x100500), kNoModule);
  EXPECT_FALSE(map.image(0));
}

TEST(ModuleMap, JitCodeBehindSharedMemoryIsNoImage) {
  memory::BufferMemory memory;
  memory.add(0x10000, std::vector<std::byte>(0x1000));
  auto jit = mapping(0x10000, 0x1000, 0, true, 9, "/memfd:doublemapper");
  jit.shared = jit.deleted = true;
  auto more = jit;
  more.range = {0x20000, 0x21000};
  more.file_offset = 0x5000;
  const auto map = ModuleMap::build(std::vector{jit, more}, memory, nullptr);
  EXPECT_TRUE(map.modules().empty());
  EXPECT_EQ(map.find(0x10010), kNoModule);
  EXPECT_TRUE(map.is_executable(0x10010));
  EXPECT_TRUE(map.is_executable(0x20010));
}

TEST(ModuleMap, FindsAnonymousAndEmbeddedImages) {
  const TinyElf elf;
  memory::BufferMemory memory;
  memory.add(0x500000, elf.head());
  memory.add(0x502000, std::vector<std::byte>(0x1000));
  memory.add(0x700000, elf.head());
  std::vector<Region> regions{
      mapping(0x500000, 0x2000, 0, false, 0, ""),  // anonymous, as left by a loader of its own
      mapping(0x502000, 0x1000, 0, true, 0, ""),
      mapping(0x700000, 0x1000, 0x30000, false, 5, "/base.apk"),  // inside an archive
      mapping(0x702000, 0x1000, 0x31000, true, 5, "/base.apk"),
  };
  const auto map = ModuleMap::build(regions, memory, nullptr);
  ASSERT_EQ(map.modules().size(), 2u);
  EXPECT_FALSE(map.modules()[0].has_file);
  EXPECT_EQ(map.modules()[0].load_bias, 0x500000u);
  EXPECT_EQ(map.modules()[1].load_bias, 0x700000u);
  EXPECT_EQ(map.modules()[1].file_offset, 0x30000u);
  EXPECT_EQ(map.find(0x702000), 1u);
}

TEST(ModuleMap, WithoutReadableMemoryTheFileTellsTheBias) {
  const TinyElf elf;
  const memory::BufferMemory memory;  // a core that holds no file pages
  const auto opener = [&](const Region&) -> Result<std::shared_ptr<const FileBytes>> {
    return buffer_file_bytes(elf.file);
  };
  const std::vector<Region> regions{mapping(0x500000, 0x1000, 0, false, 7, "/lib.so"),
                                    mapping(0x502000, 0x1000, 0x1000, true, 7, "/lib.so")};
  const auto map = ModuleMap::build(regions, memory, opener);
  ASSERT_EQ(map.modules().size(), 1u);
  EXPECT_EQ(map.modules()[0].load_bias, 0x500000u);
  EXPECT_EQ(map.modules()[0].range.begin, 0x500000u);
  EXPECT_TRUE(map.image(0));
}

TEST(ModuleMap, AReplacedFileIsNotBelieved) {
  const TinyElf elf;
  memory::BufferMemory memory;
  memory.add(0x500000, elf.head());
  memory.add(0x502000, std::vector<std::byte>(0x1000, std::byte{0xcc}));
  auto other = elf.file;
  other[offsetof(Elf64_Ehdr, e_entry)] = std::byte{1};
  const auto opener = [&](const Region&) -> Result<std::shared_ptr<const FileBytes>> {
    return buffer_file_bytes(other);
  };
  const std::vector<Region> regions{mapping(0x500000, 0x1000, 0, false, 7, "/lib.so"),
                                    mapping(0x502000, 0x1000, 0x1000, true, 7, "/lib.so")};
  const auto map = ModuleMap::build(regions, memory, opener);
  ASSERT_EQ(map.modules().size(), 1u);
  const auto image = map.image(0);
  ASSERT_TRUE(image);
  EXPECT_EQ((*image)->entry(), 0u);  // what is in memory
  EXPECT_EQ((*image)->bytes_at(TinyElf::kTextAddress, 1)[0], std::byte{0xcc});
}

}  // namespace
}  // namespace mixstack::images
