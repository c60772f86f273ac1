// LINK: mixstack_engine_walk
// A PE image in memory whose function table, unwind data, code and stack are foreign: what a row covers is stepped from
// or told as an error, by few reads. Byte 0: the CPU (1), the pc is a return address (2), the headers are foreign,
// too (4). Then 16 bits each: the pc, the place of the table, its bytes; 16 words of the stack; the image from kFirst
// on.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "engine/images/pe_image.h"
#include "engine/unwind/windows/format.h"
#include "engine/walk/pe_image_stepper.h"
#include "support/pe_builder.h"

using namespace mixstack;

namespace {

using Layout = test::PeLayoutOf;

constexpr Address kBase = 0x7f0000000000, kStack = 0x7ffd00001000;
constexpr std::uint32_t kFirst = 0x1000;
constexpr std::size_t kExceptions = 0x80 + 24 + 112 + 3 * 8;  // the data directory, in the header
constexpr std::size_t kWords = 16, kHead = 7, kBegin = kHead + kWords * 8, kMostFrames = 16;
// A search in 2^24 rows, and the unwind data of one of them, a chain of 32 records included.
constexpr std::size_t kMostReads = 4096;

class ImageMemory final : public MemoryReader {
 public:
  explicit ImageMemory(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
  [[nodiscard]] Result<std::size_t> read_some(Address address, std::span<std::byte> out) const override {
    reads_++;
    if (address < kBase || address - kBase >= bytes_.size()) return fail(ErrorCode::unreadable_memory, address);
    const auto from = std::span(bytes_).subspan(static_cast<std::size_t>(address - kBase));
    const std::size_t n = std::min(from.size(), out.size());
    std::memcpy(out.data(), from.data(), n);
    return n;
  }
  std::size_t take_reads() { return std::exchange(reads_, 0); }

 private:
  std::vector<std::byte> bytes_;
  mutable std::size_t reads_ = 0;
};

std::uint16_t half(const std::uint8_t* at) { return static_cast<std::uint16_t>(at[0] | at[1] << 8); }

std::vector<std::byte> image_of(std::span<const std::byte> rest, const std::uint8_t* head) {
  static const auto of_x64 = test::build_pe({}), of_arm64 = test::build_pe({.machine = 0xaa64});
  const auto& file = (head[0] & 1) != 0 ? of_arm64 : of_x64;
  std::vector<std::byte> image(Layout::kImageSize);
  std::memcpy(image.data(), file.data(), 0x400);
  test::detail::place(image, kExceptions, std::uint32_t{half(head + 3)});
  test::detail::place(image, kExceptions + 4, std::uint32_t{half(head + 5)});
  const std::size_t begin = (head[0] & 4) != 0 ? 0 : kFirst, n = std::min(rest.size(), image.size() - begin);
  if (n != 0) std::memcpy(image.data() + begin, rest.data(), n);
  return image;
}

/// Whether a row covers the address, by looking at all of them; nothing: they are not in order, or not readable.
std::optional<bool> is_covered(const ImageMemory& memory, std::uint32_t rva) {
  const auto image = images::PeImage::from_memory(memory, kBase, images::PeLayout::mapped);
  if (!image || image->machine().arch != Arch::x86_64) return std::nullopt;
  const images::PeDirectory table = image->directory(images::PeDirectoryId::exception);
  std::uint32_t last = 0;
  bool is_in_one = false;
  for (std::uint32_t at = 0; !table.empty() && table.size - at >= 12; at += 12) {
    std::array<std::uint32_t, 3> row{};
    if (!memory.read_exact(kBase + table.rva + at, std::as_writable_bytes(std::span(row)))) return std::nullopt;
    if (row[0] < last || row[1] <= row[0]) return std::nullopt;
    last = row[1];
    is_in_one = is_in_one || (row[0] <= rva && rva < row[1]);
  }
  return is_in_one;
}

void require(bool holds) {
  if (!holds) std::abort();
}

bool is_in_image(const images::ModuleMap& modules, Address code) {
  const ModuleIndex module = modules.find(code);
  return module != kNoModule && modules.modules()[module].kind == images::ModuleKind::pe &&
         modules.modules()[module].load_bias == kBase;
}

/// False: the walk ends here.
bool step(walk::PeImageStepper& stepper, const images::ModuleMap& modules, ImageMemory& memory, walk::Cursor& cursor,
          const walk::ThreadInput& thread) {
  const Registers before = cursor.registers;
  const CodeAddress pc = cursor.frame.pc;
  const bool is_claimed = stepper.claim(cursor.frame);
  require(memory.take_reads() < kMostReads);
  if (is_claimed)
    require(cursor.frame.kind == FrameKind::native && cursor.frame.module_offset == pc.lookup() - kBase);
  else
    require(cursor.frame.module == kNoModule);
  if (is_in_image(modules, pc.lookup()))
    if (const auto covered = is_covered(memory, static_cast<std::uint32_t>(pc.lookup() - kBase)))
      require(is_claimed == *covered);
  (void)memory.take_reads();
  const walk::StepOutcome outcome = stepper.step(cursor, thread);
  require(memory.take_reads() < kMostReads);
  require((outcome.status == walk::StepStatus::not_mine) == !is_claimed);
  if (outcome.status == walk::StepStatus::failed) require(outcome.error.code != ErrorCode::none);
  if (outcome.status != walk::StepStatus::caller) {
    require(cursor.registers.pc() == before.pc() && cursor.registers.sp() == before.sp());
    return false;
  }
  require(outcome.caller_interrupted || cursor.registers.sp() >= before.sp());
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < kBegin) return 0;
  ImageMemory memory(image_of(std::as_bytes(std::span(data, size)).subspan(kBegin), data));
  const Arch arch = (data[0] & 1) != 0 ? Arch::aarch64 : Arch::x86_64;
  const std::array regions{test::pe_mapping(kBase, 0, 0x1000, 0, false),
                           test::pe_mapping(kBase, 0x1000, 0x1000, 0, true),
                           test::pe_mapping(kBase, 0x3000, 0x1000, 0x1000, false)};
  const auto modules = images::ModuleMap::build(regions, memory, nullptr);
  walk::PeImageStepper stepper(modules, memory, arch, 0);

  std::array<std::uint64_t, kWords> words{};
  std::memcpy(words.data(), data + kHead, sizeof words);
  walk::ThreadInput thread;
  thread.stack = {kStack, reinterpret_cast<const std::byte*>(words.data()), sizeof words, nullptr};
  walk::Cursor cursor;
  cursor.registers = Registers(arch);
  cursor.registers.set_pc(kBase + half(data + 1));
  cursor.registers.set_sp(kStack);
  cursor.registers.set_fp(kStack + 0x20);
  const Address pc = kBase + half(data + 1);
  cursor.frame.pc = (data[0] & 2) != 0 ? CodeAddress::after_call(pc) : CodeAddress::exact(pc);
  (void)memory.take_reads();
  for (std::size_t n = 0; n < kMostFrames && step(stepper, modules, memory, cursor, thread); n++)
    cursor.frame = Frame{.pc = CodeAddress::after_call(cursor.registers.pc()), .sp = cursor.registers.sp()};
  return 0;
}
