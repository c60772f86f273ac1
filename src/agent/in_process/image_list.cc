#include "agent/in_process/image_list.h"

#include "agent/in_process/unwind_bytes.h"
#include "engine/unwind/windows/format.h"

namespace mixstack::agent {
namespace {

using unwind::windows::RuntimeFunction;

constexpr Address kNewHeader = 0x3c;                        // e_lfanew
constexpr Address kOptionalHeader = 24;                     // behind signature and file header
constexpr Address kSizeOfImage = 56, kRuntimeHeader = 224;  // PE32+: data directory 14
constexpr Address kNativeHeader = 64;                       // ManagedNativeHeader of IMAGE_COR20_HEADER
constexpr std::uint32_t kSignature = 0x00525452;            // "RTR\0"
constexpr std::uint32_t kRuntimeFunctions = 102;            // ReadyToRunSectionType
constexpr std::uint32_t kMostSections = 64, kMostRows = 1 << 26;

[[nodiscard]] std::uint32_t row_size(Arch arch) {
  const auto* format = unwind::windows::format_of(arch);
  return format == nullptr ? 0 : format->row_has_end ? 12 : 8;
}

struct Headers {
  std::uint32_t size = 0, native = 0;  ///< of the image; RVA of the ReadyToRun header
};

[[nodiscard]] Result<Headers> headers_at(Address base, const MemoryReader& memory) {
  const auto dos = memory.read<std::uint16_t>(base);
  const auto offset = memory.read<std::uint32_t>(base + kNewHeader);
  if (!dos || !offset || *dos != 0x5a4d || *offset > 4096) return fail(ErrorCode::not_found, base);
  const Address optional = base + *offset + kOptionalHeader;
  const auto magic = memory.read<std::uint16_t>(optional);
  if (!magic || *magic != 0x20b) return fail(ErrorCode::not_found, base);
  const auto size = memory.read<std::uint32_t>(optional + kSizeOfImage);
  const auto runtime = memory.read<std::uint32_t>(optional + kRuntimeHeader);
  if (!size || !runtime || *runtime == 0 || *runtime > *size) return fail(ErrorCode::not_found, base);
  const auto native = memory.read<std::uint32_t>(base + *runtime + kNativeHeader);
  if (!native || *native == 0 || *native > *size) return fail(ErrorCode::not_found, base);
  return Headers{*size, *native};
}

}  // namespace

Result<AddressRange> CodeImage::section(Address base, std::uint32_t type, const MemoryReader& memory) {
  const auto headers = headers_at(base, memory);
  if (!headers) return fail(headers.error());
  const Address header = base + headers->native;
  const auto signature = memory.read<std::uint32_t>(header);
  const auto sections = memory.read<std::uint32_t>(header + 12);
  if (!signature || *signature != kSignature || !sections || *sections > kMostSections)
    return fail(ErrorCode::not_found, header);
  struct Section {
    std::uint32_t type, rva, size;
  };
  for (std::uint32_t i = 0; i < *sections; i++) {
    const auto section = memory.read<Section>(header + 16 + Address{i} * sizeof(Section));
    if (!section || section->type != type) continue;
    if (section->rva > headers->size || section->size > headers->size - section->rva) break;
    return AddressRange{base + section->rva, base + section->rva + section->size};
  }
  return fail(ErrorCode::not_found, header);
}

Result<CodeImage> CodeImage::at(Address base, Arch arch, const MemoryReader& memory) {
  const std::uint32_t size_of_row = row_size(arch);
  if (size_of_row == 0) return fail(ErrorCode::unsupported_cpu);
  const auto headers = headers_at(base, memory);
  const auto rows = section(base, kRuntimeFunctions, memory);
  if (!headers || !rows) return fail(ErrorCode::not_found, base);
  const CodeImage image{{base, base + headers->size},
                        static_cast<std::uint32_t>(rows->begin - base),
                        static_cast<std::uint32_t>(rows->size() / size_of_row)};
  if (image.count == 0 || image.count > kMostRows) return fail(ErrorCode::not_found, base);
  return image;
}

std::optional<RuntimeFunction> CodeImage::row_of(std::uint32_t rva, Arch arch, const MemoryReader& memory) const {
  const std::uint32_t size = row_size(arch);
  const auto begin_of = [&](std::uint32_t i) {
    return memory.read<std::uint32_t>(range.begin + rows + Address{i} * size).value_or(0xffffffffu);
  };
  std::uint32_t low = 0, high = count;  // the last row that begins at or before the address
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (begin_of(middle) <= rva) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == 0) return std::nullopt;
  const Address at = range.begin + rows + Address{low - 1} * size;
  const auto begin = memory.read<std::uint32_t>(at), data = memory.read<std::uint32_t>(at + size - 4);
  const std::uint32_t end = size == 12 ? memory.read<std::uint32_t>(at + 4).value_or(0) : 0;
  if (!begin || !data || (size == 12 && rva >= end)) return std::nullopt;
  const RuntimeFunction row{*begin, end, *data};
  // After the last function, and between sections, lie thunks (delay-load helpers) that no row covers: check the
  // length.
  if (const auto* format = unwind::windows::format_of(arch); format->length != nullptr) {
    const auto length = format->length(UnwindBytes(memory, range.begin), row);
    if (!length || rva - *begin >= *length) return std::nullopt;
  }
  return row;
}

bool ImageList::add(const CodeImage& image) {
  const std::lock_guard lock(mutex_);
  const std::uint32_t count = count_.load(std::memory_order_relaxed);
  if (count == kMost || find(image.range.begin) != nullptr) return false;
  images_[count] = image;
  count_.store(count + 1, std::memory_order_release);
  return true;
}

}  // namespace mixstack::agent
