#include "engine/images/symbol_table.h"

#include <algorithm>

#include "base/system/byte_cursor.h"
#include "engine/images/plt_stubs.h"
#include "engine/images/symbol_table_builder.h"

namespace mixstack::images {
namespace {

constexpr std::size_t kMaxName = 64 << 10;
constexpr std::size_t kMaxPltSections = 16;
constexpr int kMaxNesting = 64;  // real tables nest two deep; a forged one must not make look-ups linear

/// "memcpy@@GLIBC_2.14", "realpath@GLIBC_2.2.5": the linker's versions, which only .symtab has.
std::string_view without_version(std::string_view name) {
  const auto at = name.find('@');
  return at == std::string_view::npos || at == 0 ? name : name.substr(0, at);
}

}  // namespace

struct SymbolTable::Plt {
  std::vector<AddressRange> ranges;
  std::once_flag once;
  std::vector<PltStub> stubs;
};

SymbolTable::SymbolTable() : plt_(std::make_unique<Plt>()) {}
SymbolTable::~SymbolTable() = default;

std::shared_ptr<const SymbolTable> SymbolTable::build(SymbolSources sources) {
  const auto image = sources.image;
  auto table = SymbolTableBuilder(std::move(sources)).build();
  for (const auto& s : image ? image->sections() : std::span<const Section>())
    if (is_plt_section(s) && table->plt_->ranges.size() < kMaxPltSections)
      table->plt_->ranges.push_back({s.address, s.address + s.size});
  return table;
}

std::uint32_t SymbolTable::find_index(std::uint64_t address) const {
  const std::uint64_t wide = address - base_;
  if (wide >= 0xffffffffu || starts_.empty()) return kNone;
  const auto offset = static_cast<std::uint32_t>(wide);
  const std::uint32_t* base = starts_.data();
  for (std::size_t n = starts_.size(); n > 1;) {
    const std::size_t half = n / 2;
    base += base[half] <= offset ? half : 0;
    n -= half;
  }
  auto i = static_cast<std::uint32_t>(base - starts_.data());
  if (starts_[i] > offset) return kNone;
  for (int depth = 0; depth < kMaxNesting && i != kNone; depth++) {
    if (offset - starts_[i] < sizes_[i]) return i;
    i = entries_[i].enclosing;
  }
  return kNone;
}

Symbol SymbolTable::symbol(std::uint32_t index) const {
  const auto& e = entries_[index];
  return {without_version(name_of(e)), base_ + starts_[index], sizes_[index], false};
}

std::optional<Symbol> SymbolTable::find(std::uint64_t address) const {
  const auto index = find_index(address);
  if (index == kNone) return find_plt(address);
  auto found = symbol(index);
  if (found.name.empty()) return std::nullopt;
  return found;
}

std::string_view SymbolTable::name_of(const Entry& e) const {
  const auto& strings = strings_[e.source];
  if (e.name >= strings.size()) return {};
  const auto rest = strings.subspan(e.name);
  return base::ByteCursor(rest.first(std::min(rest.size(), kMaxName))).cstring();
}

std::optional<Symbol> SymbolTable::find_plt(std::uint64_t address) const {
  if (std::none_of(plt_->ranges.begin(), plt_->ranges.end(), [&](const auto& r) { return r.contains(address); }))
    return std::nullopt;
  std::call_once(plt_->once, [this] {
    plt_->stubs = read_plt_stubs(*sources_.image, [this](std::uint64_t resolver) {
      const auto index = find_index(resolver);
      return index == kNone ? std::string() : std::string(symbol(index).name);
    });
  });
  auto it = std::upper_bound(plt_->stubs.begin(), plt_->stubs.end(), address,
                             [](std::uint64_t a, const PltStub& s) { return a < s.address; });
  if (it == plt_->stubs.begin()) return std::nullopt;
  --it;
  if (address - it->address >= it->size) return std::nullopt;
  return Symbol{without_version(it->name), it->address, it->size, true};
}

}  // namespace mixstack::images
