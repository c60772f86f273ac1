// LINK: mixstack_engine_images lzma z
// Where the symbols of a stripped image are looked for and what is believed of what lies there: an image with a debug
// link, a build id and MiniDebugInfo, made of the input or of parts of it, and a machine whose files are the rest of
// the input. Checksums and compression are made right where the first byte says so, so that what lies behind is read.
#include <elf.h>
#include <lzma.h>
#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/system/byte_cursor.h"
#include "engine/images/debug_file.h"
#include "engine/images/file_bytes.h"

namespace {

using namespace mixstack;
using namespace mixstack::images;
using Bytes = std::vector<std::byte>;

constexpr std::size_t kMaxInput = 256 << 10;

void require(bool ok) {
  if (!ok) std::abort();
}

Bytes to_bytes(std::span<const std::byte> s) { return {s.begin(), s.end()}; }

template <class T>
void append(Bytes& out, const T& value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

std::uint32_t crc_of(std::span<const std::byte> bytes) {
  return static_cast<std::uint32_t>(::crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

Bytes packed(std::span<const std::byte> in) {
  Bytes out(::lzma_stream_buffer_bound(in.size()));
  std::size_t size = 0;
  const auto result =
      ::lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, nullptr, reinterpret_cast<const uint8_t*>(in.data()), in.size(),
                                reinterpret_cast<uint8_t*>(out.data()), &size, out.size());
  require(result == LZMA_OK);
  out.resize(size);
  return out;
}

/// A stripped library: headers and the three sections this is about.
class StrippedImage {
 public:
  void add(std::string_view name, std::uint32_t type, std::span<const std::byte> content) {
    file_.resize((file_.size() + 7) & ~std::size_t{7});
    Elf64_Shdr header{};
    header.sh_name = static_cast<Elf64_Word>(names_.size());
    header.sh_type = type;
    header.sh_offset = file_.size();
    header.sh_size = content.size();
    headers_.push_back(header);
    names_.append(name).push_back('\0');
    file_.insert(file_.end(), content.begin(), content.end());
  }
  [[nodiscard]] Bytes finish() && {
    add(".shstrtab", SHT_STRTAB, {});
    headers_.back().sh_size = names_.size();
    const auto names = std::as_bytes(std::span(names_));
    file_.insert(file_.end(), names.begin(), names.end());
    file_.resize((file_.size() + 7) & ~std::size_t{7});
    Elf64_Ehdr header{};
    std::copy_n(ELFMAG, SELFMAG, header.e_ident);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_type = ET_DYN;
    header.e_machine = EM_X86_64;
    header.e_shoff = file_.size();
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = static_cast<Elf64_Half>(headers_.size());
    header.e_shstrndx = static_cast<Elf64_Half>(headers_.size() - 1);
    for (const auto& h : headers_) append(file_, h);
    const auto bytes = std::as_bytes(std::span(&header, 1));
    std::copy(bytes.begin(), bytes.end(), file_.begin());
    return std::move(file_);
  }

 private:
  Bytes file_ = Bytes(sizeof(Elf64_Ehdr));
  std::vector<Elf64_Shdr> headers_ = std::vector<Elf64_Shdr>(1);
  std::string names_ = std::string(1, '\0');
};

/// The input, taken apart.
struct Parts {
  bool is_raw = false, has_right_crc = false, has_right_id = false, is_packed = false;
  std::string link, id;
  std::array<Bytes, 3> files;  ///< by build id, by link, MiniDebugInfo

  explicit Parts(std::span<const std::byte> input) {
    base::ByteCursor c(input);
    const unsigned flags = c.u8();
    is_raw = (flags & 1) != 0;
    has_right_crc = (flags & 2) != 0;
    has_right_id = (flags & 4) != 0;
    is_packed = (flags & 8) != 0;
    link = text(c, c.u8());
    id = text(c, c.u8() % 80);
    for (auto& file : files) file = to_bytes(c.bytes(std::min<std::size_t>(c.u16(), c.remaining())));
  }

 private:
  static std::string text(base::ByteCursor& c, std::size_t size) {
    const auto bytes = c.bytes(std::min(size, c.remaining()));
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
};

Bytes image_of(const Parts& parts) {
  if (parts.is_raw) return parts.files[1];
  StrippedImage image;
  std::string id = parts.id;
  if (parts.has_right_id)
    if (const auto debug = ElfImage::from_file(buffer_file_bytes(Bytes(parts.files[0])))) {
      const BuildId& own = (*debug)->build_id();
      id.assign(reinterpret_cast<const char*>(own.bytes.data()), own.size);
    }
  Bytes note;
  append(note, std::array<std::uint32_t, 4>{4, static_cast<std::uint32_t>(id.size()), NT_GNU_BUILD_ID, 0x554e47});
  for (const char ch : id) note.push_back(static_cast<std::byte>(ch));
  note.resize((note.size() + 3) & ~std::size_t{3});
  image.add(".note.gnu.build-id", SHT_NOTE, note);
  Bytes link = to_bytes(std::as_bytes(std::span(parts.link)));
  link.resize((link.size() + 4) & ~std::size_t{3});
  append(link, parts.has_right_crc ? crc_of(parts.files[1]) : 0x12345678);
  image.add(".gnu_debuglink", SHT_PROGBITS, link);
  image.add(".gnu_debugdata", SHT_PROGBITS, parts.is_packed ? packed(parts.files[2]) : parts.files[2]);
  return std::move(image).finish();
}

/// The machine's files. What may be asked for is what find_debug_file promises.
class Files {
 public:
  explicit Files(const Parts& parts) : parts_(parts) {}
  Result<std::shared_ptr<const FileBytes>> open(const std::string& path) {
    require(++asked_ <= 4);
    require(path.size() < 4096 + 300 && path.find('\0') == std::string::npos);
    const std::string_view by_id = "/usr/lib/debug/.build-id/";
    if (path.starts_with(by_id)) return buffer_file_bytes(Bytes(parts_.files[0]));
    const std::string_view places[] = {"/lib/x/", "/lib/x/.debug/", "/usr/lib/debug/lib/x/"};
    require(std::any_of(std::begin(places), std::end(places), [&](std::string_view place) {
      return path.starts_with(place) && path.find('/', place.size()) == std::string::npos;
    }));
    return buffer_file_bytes(Bytes(parts_.files[1]));
  }

 private:
  const Parts& parts_;
  unsigned asked_ = 0;
};

/// A file is believed by its build id, or by the link's checksum.
void check(const ElfImage& image, const ElfImage& debug, const Parts& parts) {
  const bool same_id = !image.build_id().empty() && image.build_id() == debug.build_id();
  const auto link = image.section(".gnu_debuglink");
  require(same_id || (link && link->bytes.size() >= 4));
  if (same_id) return;
  const auto crc = crc_of(parts.files[1]);
  const auto bytes = std::as_bytes(std::span(&crc, 1));
  require(std::search(link->bytes.begin(), link->bytes.end(), bytes.begin(), bytes.end()) != link->bytes.end());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > kMaxInput) return -1;
  const Parts parts(std::as_bytes(std::span(data, size)));
  const auto image = ElfImage::from_file(buffer_file_bytes(image_of(parts)));
  require(parts.is_raw || image.has_value());  // or this fuzzer reaches nothing
  if (!image) return 0;
  Files files(parts);
  const auto sources =
      find_symbol_sources(*image, "/lib/x/libx.so", [&files](const std::string& path) { return files.open(path); });
  if (sources.debug) check(**image, *sources.debug, parts);
  const auto table = SymbolTable::build(sources);
  for (std::uint64_t address = 0; address < 64; address++) (void)table->find(address * 64);
  for (std::uint32_t i = 0; i < std::min<std::size_t>(table->size(), 64); i++) (void)table->symbol(i);
  return 0;
}
