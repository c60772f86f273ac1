#include "engine/images/elf_image.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>

#include "base/memory/buffer_memory.h"
#include "engine/images/file_bytes.h"
#include "support/command_output.h"
#include "support/host_cpu.h"

namespace mixstack::images {
namespace {

using test::kLibc;

std::shared_ptr<const ElfImage> open_image(const std::string& path) {
  auto file = open_file_bytes(path);
  if (!file) return nullptr;
  auto image = ElfImage::from_file(*file);
  return image ? *image : nullptr;
}

/// The test's own memory, without any fault protection: only ranges known to be mapped are read.
class OwnMemory final : public MemoryReader {
 public:
  explicit OwnMemory(AddressRange range) : range_(range) {}
  [[nodiscard]] Result<std::size_t> read_some(Address address, std::span<std::byte> out) const override {
    if (!range_.contains(address)) return fail(ErrorCode::unreadable_memory, address);
    const auto n = std::min<std::uint64_t>(out.size(), range_.end - address);
    std::memcpy(out.data(), reinterpret_cast<const void*>(address), n);
    return static_cast<std::size_t>(n);
  }

 private:
  AddressRange range_;
};

std::vector<std::string> real_images() {
  std::vector<std::string> paths{kLibc, test::kLibm, "/proc/self/exe"};
  std::error_code error;
  if (std::filesystem::exists("/bin/ls", error)) paths.emplace_back("/bin/ls");
  for (const auto* dir : {"/usr/share/dotnet/shared/Microsoft.NETCore.App", "/usr/lib/x86_64-linux-gnu/gdb"}) {
    for (const auto& e : std::filesystem::recursive_directory_iterator(dir, error))
      if (e.path().extension() == ".so") paths.push_back(e.path());
  }
  return paths;
}

TEST(ElfImage, HeadersEqualReadelf) {
  for (const auto& path : real_images()) {
    const auto image = open_image(path);
    ASSERT_NE(image, nullptr) << path;
    std::size_t checked = 0;
    for (const auto& line : test::command_lines(
             "readelf -SW " + (path == "/proc/self/exe" ? "/proc/" + std::to_string(getpid()) + "/exe" : path))) {
      // "  [ 1] .note.gnu.property NOTE 0000000000000350 000350 000020 00   A  0   0  8"
      const auto open = line.find('['), close = line.find(']');
      if (open != 2 || close == std::string::npos || !std::isdigit(line[close - 1])) continue;
      const auto index = std::stoul(line.substr(open + 1));
      ASSERT_LT(index, image->sections().size());
      if (index == 0) continue;
      std::istringstream words(line.substr(close + 1));
      std::string name, type, address, offset, size, entry;
      words >> name >> type >> address >> offset >> size >> entry;
      const auto& s = image->sections()[index];
      EXPECT_EQ(s.name, name) << path;
      EXPECT_EQ(s.address, std::stoull(address, nullptr, 16)) << name;
      EXPECT_EQ(s.offset, std::stoull(offset, nullptr, 16)) << name;
      EXPECT_EQ(s.size, std::stoull(size, nullptr, 16)) << name;
      EXPECT_EQ(s.entry_size, std::stoull(entry, nullptr, 16)) << name;
      checked++;
    }
    EXPECT_EQ(checked + 1, image->sections().size()) << path;
  }
}

TEST(ElfImage, BuildIdEqualsReadelf) {
  for (const auto& path : real_images()) {
    if (path == "/proc/self/exe") continue;
    const auto image = open_image(path);
    ASSERT_NE(image, nullptr) << path;
    for (const auto& line : test::command_lines("readelf -n " + path)) {
      if (const auto at = line.find("Build ID: "); at != std::string::npos) {
        EXPECT_EQ(image->build_id().hex(), line.substr(at + 10)) << path;
      }
    }
    EXPECT_FALSE(image->build_id().empty()) << path;
  }
}

/// The section headers zeroed, as a tool that strips them leaves a file: everything must be found through segments.
std::shared_ptr<const ElfImage> without_section_headers(const std::string& path) {
  auto file = open_file_bytes(path);
  std::vector<std::byte> bytes((*file)->bytes().begin(), (*file)->bytes().end());
  std::memset(bytes.data() + offsetof(Elf64_Ehdr, e_shoff), 0, 8);
  std::memset(bytes.data() + offsetof(Elf64_Ehdr, e_shnum), 0, 4);
  return *ElfImage::from_file(buffer_file_bytes(std::move(bytes)));
}

TEST(ElfImage, FindsUnwindSectionsAndSymbolsWithoutSectionHeaders) {
  for (const auto& path : real_images()) {
    const auto whole = open_image(path);
    const auto bare = without_section_headers(path);
    ASSERT_TRUE(bare->sections().empty());
    EXPECT_EQ(bare->build_id(), whole->build_id()) << path;
    const auto a = whole->unwind_sections(), b = bare->unwind_sections();
    EXPECT_EQ(a.eh_frame_hdr.address, b.eh_frame_hdr.address) << path;
    EXPECT_EQ(a.eh_frame_hdr.size, b.eh_frame_hdr.size) << path;
    EXPECT_EQ(a.eh_frame.address, b.eh_frame.address) << path;
    // Behind the terminator there may be more zeros on AArch64.
    if (test::kHostCpu == Arch::x86_64) {
      EXPECT_EQ(a.eh_frame.bytes.size(), b.eh_frame.bytes.size()) << path;
    }
    ASSERT_LE(b.eh_frame.bytes.size(), a.eh_frame.bytes.size()) << path;
    const auto rest = a.eh_frame.bytes.subspan(b.eh_frame.bytes.size());
    EXPECT_TRUE(std::all_of(rest.begin(), rest.end(), [](std::byte x) { return x == std::byte{0}; })) << path;
    ASSERT_FALSE(a.eh_frame.bytes.empty()) << path;
  }
  const auto bare = without_section_headers(kLibc);
  EXPECT_EQ(bare->dynamic_symbol("malloc"), open_image(kLibc)->dynamic_symbol("malloc"));
}

TEST(ElfImage, DynamicSymbolsEqualReadelf) {
  const auto image = open_image(kLibc);
  std::size_t checked = 0;
  for (const auto& line : test::command_lines(std::string("readelf --dyn-syms -W ") + kLibc)) {
    std::istringstream words(line);
    std::string number, value, size, type, bind, visibility, index, name;
    words >> number >> value >> size >> type >> bind >> visibility >> index >> name;
    if (type != "FUNC" || index == "UND" || name.find("@@") == std::string::npos) continue;
    name.resize(name.find('@'));
    const auto found = image->dynamic_symbol(name);
    ASSERT_TRUE(found) << name;
    checked += *found == std::stoull(value, nullptr, 16) ? 1u : 0u;  // an older version of the name may come first
  }
  EXPECT_GT(checked, 2000u);
  EXPECT_FALSE(image->dynamic_symbol("no such symbol"));
}

TEST(ElfImage, ReadsTheVdsoFromMemory) {
  const Address vdso = getauxval(AT_SYSINFO_EHDR);
  if (vdso == 0) GTEST_SKIP() << "no vDSO";
  const auto image = ElfImage::from_memory(OwnMemory({vdso, vdso + 8192}), vdso);
  ASSERT_TRUE(image);
  EXPECT_EQ((*image)->arch(), test::kHostCpu);
  EXPECT_FALSE((*image)->build_id().empty());
  EXPECT_TRUE((*image)->dynamic_symbol(test::kVdsoClock));
  if (test::kHostCpu == Arch::aarch64) return;  // its vDSO has no unwind information
  const auto unwind = (*image)->unwind_sections();
  EXPECT_FALSE(unwind.eh_frame.bytes.empty());
  EXPECT_FALSE(unwind.eh_frame_hdr.bytes.empty());
}

TEST(ElfImage, ReadsALoadedLibraryFromMemory) {
  // The file's segments placed in memory as the loader does, with a relocated dynamic section.
  const auto file = open_image(kLibc);
  constexpr Address kBias = 0x7f1234560000;
  memory::BufferMemory memory;
  for (const auto& s : file->segments()) {
    if (s.type != PT_LOAD) continue;
    const auto from = file->bytes_at(s.vaddr, s.file_size);
    std::vector<std::byte> bytes(from.begin(), from.end());
    for (const auto& d : file->segments()) {
      if (d.type != PT_DYNAMIC || d.vaddr - s.vaddr >= s.file_size) continue;
      for (std::uint64_t at = d.vaddr - s.vaddr; at < d.vaddr - s.vaddr + d.file_size; at += 16) {
        Elf64_Dyn entry;
        std::memcpy(&entry, &bytes[at], sizeof entry);
        if (entry.d_tag == DT_SYMTAB || entry.d_tag == DT_STRTAB || entry.d_tag == DT_GNU_HASH)
          entry.d_un.d_ptr += kBias;
        std::memcpy(&bytes[at], &entry, sizeof entry);
      }
    }
    memory.add(kBias + s.vaddr, bytes);
  }
  const auto image = ElfImage::from_memory(memory, kBias);
  ASSERT_TRUE(image);
  EXPECT_EQ((*image)->build_id(), file->build_id());
  EXPECT_EQ((*image)->dynamic_symbol("malloc"), file->dynamic_symbol("malloc"));
  const auto read = (*image)->unwind_sections().eh_frame.bytes, whole = file->unwind_sections().eh_frame.bytes;
  const std::size_t most = test::kHostCpu == Arch::x86_64 ? 0 : 4;
  EXPECT_LE(whole.size() - read.size(), most) << "but for a second terminator";
}

}  // namespace
}  // namespace mixstack::images
