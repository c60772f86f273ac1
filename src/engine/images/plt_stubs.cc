#include "engine/images/plt_stubs.h"

#include <elf.h>

#include <algorithm>
#include <unordered_map>

#include "base/arch/cpu.h"
#include "base/system/byte_cursor.h"
#include "engine/images/elf_headers.h"
#include "engine/images/plt_decode.h"

namespace mixstack::images {
namespace {

constexpr std::size_t kMaxRelocations = 1u << 22;
constexpr std::size_t kMaxSlots = 1u << 18;
constexpr std::size_t kMaxSections = 16;
constexpr std::uint64_t kMaxSectionSize = 16u << 20;

struct Slot {
  std::uint32_t symbol = 0;
  std::uint32_t section = 0;  // of the relocation, which links to the symbols
  std::uint64_t addend = 0;
};
using Slots = std::unordered_map<std::uint64_t, Slot>;

/// Relocations that fill GOT slots with functions.
bool fills_got(const arch::ElfNumbers& types, std::uint32_t type) {
  return type == types.glob_dat || type == types.jump_slot || type == types.irelative;
}

Slots read_slots(const ElfImage& image) {
  Slots slots;
  std::size_t budget = kMaxRelocations;
  const arch::ElfNumbers& types = arch::cpu(image.arch()).elf;
  for (std::uint32_t i = 0; i < image.sections().size(); i++) {
    const auto& header = image.sections()[i];
    if (header.type != SHT_RELA || (header.flags & SHF_ALLOC) == 0) continue;
    const auto bytes = image.load(header).bytes;
    const std::size_t count = std::min(bytes.size() / sizeof(Elf64_Rela), budget);
    budget -= count;
    for (std::size_t k = 0; k < count && slots.size() < kMaxSlots; k++) {
      const auto r = *base::load_at<Elf64_Rela>(bytes, k * sizeof(Elf64_Rela));
      if (!fills_got(types, static_cast<std::uint32_t>(ELF64_R_TYPE(r.r_info)))) continue;
      slots.try_emplace(r.r_offset, Slot{static_cast<std::uint32_t>(ELF64_R_SYM(r.r_info)), header.link,
                                         static_cast<std::uint64_t>(r.r_addend)});
    }
  }
  return slots;
}

/// Names of dynamic symbols, tables loaded once.
class SlotNames {
 public:
  SlotNames(const ElfImage& image, const std::function<std::string(std::uint64_t)>& name_at)
      : image_(image), name_at_(name_at) {}

  [[nodiscard]] std::string name(const Slot& slot) {
    if (slot.symbol == 0) return name_at_ ? name_at_(slot.addend) : std::string();
    if (slot.section != loaded_) load(slot.section);
    const auto symbol = symbol_at(symbols_, slot.symbol, true);
    if (!symbol || symbol->name >= strings_.size()) return {};
    return std::string(base::ByteCursor(strings_, symbol->name).cstring());
  }

 private:
  void load(std::uint32_t section) {
    loaded_ = section;
    symbols_ = strings_ = {};
    const auto sections = image_.sections();
    if (section >= sections.size() || sections[section].link >= sections.size()) return;
    symbols_ = image_.load(sections[section]).bytes;
    strings_ = image_.load(sections[sections[section].link]).bytes;
  }

  const ElfImage& image_;
  const std::function<std::string(std::uint64_t)>& name_at_;
  std::uint32_t loaded_ = 0;
  std::span<const std::byte> symbols_, strings_;
};

}  // namespace

bool is_plt_section(const Section& s) {
  if (s.type != SHT_PROGBITS || (s.flags & SHF_EXECINSTR) == 0) return false;
  return s.name == ".plt" || s.name == ".plt.sec" || s.name == ".plt.got" || s.name == ".iplt";
}

std::vector<PltStub> read_plt_stubs(const ElfImage& image, const std::function<std::string(std::uint64_t)>& name_at) {
  std::vector<PltStub> out;
  if (!image.is_64_bit() || !arch::cpu(image.arch()).is_walked) return out;
  const auto slots = read_slots(image);
  SlotNames names(image, name_at);
  std::size_t sections = 0;
  for (const auto& header : image.sections()) {
    if (!is_plt_section(header) || header.size > kMaxSectionSize || sections++ >= kMaxSections) continue;
    for (const auto& jump : decode_plt(image.arch(), image.load(header))) {
      const auto slot = slots.find(jump.slot);
      if (slot == slots.end()) continue;
      if (auto name = names.name(slot->second); !name.empty())
        out.push_back({jump.address, jump.size, std::move(name)});
    }
  }
  std::sort(out.begin(), out.end(), [](const PltStub& a, const PltStub& b) { return a.address < b.address; });
  return out;
}

}  // namespace mixstack::images
