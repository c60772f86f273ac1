#include "session/aot_heap.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace mixstack::session {
namespace {

using dotnet::Descriptor;
using dotnet::names::AotTypes;

/// The ReadyToRun header of the program, by the runtime's list of what it has loaded; 0: it cannot be found.
Address header_of(const Descriptor& d, const MemoryReader& memory) {
  const auto instance = d.global_number("RuntimeInstance");
  const auto list = d.offset("RuntimeInstance", "TypeManagerList"), entry = d.offset("TypeManagerEntry", "TypeManager"),
             header = d.offset("TypeManager", "Header");
  if (!instance || !list || !entry || !header) return 0;
  Address at = memory.read<std::uint64_t>(*instance).value_or(0);
  for (const std::uint32_t offset : {*list, *entry, *header})
    at = at == 0 ? 0 : memory.read<std::uint64_t>(at + offset).value_or(0);
  return at;
}

std::vector<std::byte> bytes_of(const MemoryReader& memory, const AddressRange& range) {
  std::vector<std::byte> bytes(range.size());
  if (!memory.read_exact(range.begin, bytes)) bytes.clear();
  return bytes;
}

std::optional<AotTypes> types_of(const NativeAot& aot, const Target& target) {
  const MemoryReader& memory = target.loaded_memory();
  const Address header = header_of(*aot.descriptor, target.memory());
  const auto blobs = header != 0 ? dotnet::names::find_aot_blobs(memory, header) : std::nullopt;
  if (!blobs) return std::nullopt;
  return AotTypes::parse(bytes_of(memory, blobs->metadata), bytes_of(memory, blobs->types),
                         bytes_of(memory, blobs->references), blobs->references.begin);
}

/// Where a type without a name lies.
std::string place_of(const images::ModuleMap& modules, Address method_table) {
  const ModuleIndex index = modules.find(method_table);
  if (index == kNoModule) return fmt::format("MethodTable {:#x}, made at run time", method_table);
  const images::Module& module = modules.modules()[index];
  return fmt::format("MethodTable {:#x} in {}+{:#x}", method_table, module.path.substr(module.path.rfind('/') + 1),
                     module.link_address(method_table));
}

/// From the first byte of the image that can be written to the last.
AddressRange data_of(const images::ModuleMap& modules, ModuleIndex index) {
  const auto image = modules.image(index);
  if (!image) return {};
  AddressRange data;
  for (const images::Segment& s : (*image)->segments()) {
    if (s.type != PT_LOAD || (s.flags & PF_W) == 0) continue;
    const Address begin = modules.modules()[index].load_bias + s.vaddr;
    data = data.empty() ? AddressRange{begin, begin + s.memory_size}
                        : AddressRange{std::min(data.begin, begin), std::max(data.end, begin + s.memory_size)};
  }
  return {(data.begin + 7) & ~Address{7}, data.end};
}

}  // namespace

AotHeap::AotHeap(const NativeAot& aot, const images::ModuleMap& modules, const Target& target)
    : target_(target), layouts_(dotnet::resolve_layouts(*aot.descriptor)) {
  auto names = std::make_shared<dotnet::objects::AotTypeNames>(
      memory(), types_of(aot, target), [&modules](Address type) { return place_of(modules, type); });
  counter_ = std::make_unique<dotnet::objects::HeapCounter>(memory(), std::move(names));
  find_counts(modules, aot.module);
}

std::unique_ptr<AotHeap> AotHeap::open(const NativeAot& aot, const images::ModuleMap& modules, const Target& target,
                                       std::string& why) {
  constexpr dotnet::ContractVersion kKnown{'n', 1};
  if (!aot.descriptor) {
    why = "NativeAOT before .NET 11 does not describe its heap";
    return nullptr;
  }
  const auto version = aot.descriptor->contract("RuntimeTypeSystem");
  if (!version || *version != kKnown || aot.descriptor->pointer_size() != 8) {
    why = "this NativeAOT describes its types in a version that is not known";
    return nullptr;
  }
  return std::unique_ptr<AotHeap>(new AotHeap(aot, modules, target));
}

/// Without the lock nobody knows whether a collection is under way, so that counts alone prove nothing.
void AotHeap::find_counts(const images::ModuleMap& modules, ModuleIndex module) {
  if (!dotnet::objects::are_threads_locked(memory())) return;
  if (const auto collector = dotnet::find_collector(memory(), 0))
    counts_ = dotnet::objects::find_aot_counts(memory(), *collector, data_of(modules, module));
}

std::optional<std::uint64_t> AotHeap::old_collections() const {
  const auto counted =
      counts_ ? target_.memory().read<std::uint64_t>(counts_->old) : Result<std::uint64_t>(fail(ErrorCode::not_found));
  return counted ? std::optional(*counted) : std::nullopt;
}

}  // namespace mixstack::session
