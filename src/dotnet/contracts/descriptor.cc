#include "dotnet/contracts/descriptor.h"

#include <algorithm>
#include <set>

namespace mixstack::dotnet {
namespace {

// "DNCCDAC\0" in the target's byte order (contract-descriptor.md).
constexpr std::uint64_t kMagic = 0x0043414443434e44;
constexpr std::uint64_t kMagicSwapped = 0x444e434344414300;
constexpr std::uint32_t kFlag32Bit = 2;

struct Header {
  std::uint32_t json_size = 0, pointer_count = 0;
  Address json = 0, pointers = 0;
  unsigned pointer_size = 8;
};

Diagnosed<Header> read_header(const MemoryReader& memory, Address at) {
  const auto unreadable = [&](const Error& e) { return refuse(e.code, std::string(kDescriptorSymbol), e.value); };
  auto magic = memory.read<std::uint64_t>(at);
  if (!magic) return unreadable(magic.error());
  if (*magic == kMagicSwapped) return refuse(ErrorCode::unsupported, "big-endian descriptor", at);
  if (*magic != kMagic) return refuse(ErrorCode::mismatch, std::string(kDescriptorSymbol), *magic);
  auto flags = memory.read<std::uint32_t>(at + 8);
  auto size = memory.read<std::uint32_t>(at + 12);
  if (!flags) return unreadable(flags.error());
  if (!size) return unreadable(size.error());
  Header h;
  h.pointer_size = (*flags & kFlag32Bit) != 0 ? 4 : 8;
  h.json_size = *size;
  auto json = memory.read_pointer(at + 16, h.pointer_size);
  auto count = memory.read<std::uint32_t>(at + 16 + h.pointer_size);
  auto pointers = memory.read_pointer(at + 24 + h.pointer_size, h.pointer_size);
  if (!json) return unreadable(json.error());
  if (!count) return unreadable(count.error());
  if (!pointers) return unreadable(pointers.error());
  h.json = *json;
  h.pointer_count = *count;
  h.pointers = *pointers;
  if (h.json_size > Descriptor::kMaxJsonBytes) return refuse(ErrorCode::limit_exceeded, "descriptor size", h.json_size);
  if (h.pointer_count > Descriptor::kMaxPointers)
    return refuse(ErrorCode::limit_exceeded, "descriptor pointers", h.pointer_count);
  return h;
}

Diagnosed<std::vector<std::uint64_t>> read_pointers(const MemoryReader& memory, const Header& h) {
  std::vector<std::uint64_t> table(h.pointer_count);
  if (table.empty()) return table;
  std::vector<std::byte> bytes(table.size() * h.pointer_size);
  if (auto r = memory.read_exact(h.pointers, bytes); !r)
    return refuse(r.error().code, "descriptor pointer table", r.error().value);
  for (std::size_t i = 0; i < table.size(); i++)
    std::memcpy(&table[i], bytes.data() + i * h.pointer_size, h.pointer_size);
  return table;
}

Diagnosed<Descriptor> read_one(const MemoryReader& memory, Address address) {
  auto header = read_header(memory, address);
  if (!header) return tl::unexpected(header.error());
  std::vector<std::byte> json(header->json_size);
  if (auto r = memory.read_exact(header->json, json); !r)
    return refuse(r.error().code, "descriptor JSON", r.error().value);
  auto pointers = read_pointers(memory, *header);
  if (!pointers) return tl::unexpected(pointers.error());
  return Descriptor::parse(json, *pointers, header->pointer_size);
}

}  // namespace

Diagnosed<Descriptor> Descriptor::read(const MemoryReader& memory, Address address) {
  auto main = read_one(memory, address);
  if (!main) return main;
  std::set<Address> seen{address};
  std::vector<Address> pending = main->sub_descriptors_;
  for (std::size_t done = 0; done < pending.size() && done < kMaxSubDescriptors; done++) {
    // The table holds the address of a pointer that the sub-component (the GC) fills when it starts.
    auto where = memory.read_pointer(pending[done], main->pointer_size_);
    if (!where || *where == 0) main->lacks_parts_ = true;
    if (!where || *where == 0 || !seen.insert(*where).second) continue;
    auto sub = read_one(memory, *where);
    if (!sub || sub->pointer_size_ != main->pointer_size_) continue;
    main->merge(*sub);
    pending.insert(pending.end(), sub->sub_descriptors_.begin(), sub->sub_descriptors_.end());
  }
  return main;
}

void Descriptor::complete(const Descriptor& other) {
  for (const auto& [name, from] : other.types_) {
    TypeDescriptor& into = types_[name];
    if (!into.size) into.size = from.size;
    into.fields.insert(from.fields.begin(), from.fields.end());
  }
  globals_.insert(other.globals_.begin(), other.globals_.end());
  contracts_.insert(other.contracts_.begin(), other.contracts_.end());
}

void Descriptor::merge(const Descriptor& other) {
  const auto take = [this](auto& into, const auto& from) {
    for (const auto& [name, value] : from)
      if (!into.try_emplace(name, value).second) duplicates_.push_back(name);
  };
  take(types_, other.types_);
  take(globals_, other.globals_);
  take(contracts_, other.contracts_);
}

const TypeDescriptor* Descriptor::type(std::string_view name) const {
  auto it = types_.find(name);
  return it == types_.end() ? nullptr : &it->second;
}

std::optional<std::uint32_t> Descriptor::offset(std::string_view type_name, std::string_view field) const {
  const auto* t = type(type_name);
  if (t == nullptr) return std::nullopt;
  auto it = t->fields.find(field);
  if (it == t->fields.end()) return std::nullopt;
  return it->second.offset;
}

std::optional<std::uint32_t> Descriptor::size_of(std::string_view type_name) const {
  const auto* t = type(type_name);
  return t == nullptr ? std::nullopt : t->size;
}

const GlobalDescriptor* Descriptor::global(std::string_view name) const {
  auto it = globals_.find(name);
  return it == globals_.end() ? nullptr : &it->second;
}

std::optional<std::uint64_t> Descriptor::global_number(std::string_view name) const {
  const auto* g = global(name);
  return g == nullptr ? std::nullopt : g->number;
}

std::optional<std::string_view> Descriptor::global_text(std::string_view name) const {
  const auto* g = global(name);
  if (g == nullptr || !g->text) return std::nullopt;
  return *g->text;
}

std::string ContractVersion::text() const {
  return (letter != 0 ? std::string(1, letter) : "") + std::to_string(number);
}

std::optional<ContractVersion> Descriptor::contract(std::string_view name) const {
  auto it = contracts_.find(name);
  if (it == contracts_.end()) return std::nullopt;
  return it->second;
}

}  // namespace mixstack::dotnet
