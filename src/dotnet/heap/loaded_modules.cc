#include "dotnet/heap/loaded_modules.h"

#include <algorithm>
#include <span>

namespace mixstack::dotnet::objects {
namespace {

/// The Module of an Assembly, which points back at it; 0: it is none.
Address module_of(const RuntimeMemory& memory, Address assembly) {
  const Layouts& l = memory.layouts();
  if (assembly == 0) return 0;
  const auto module = memory.pointer(assembly, l.assembly.module);
  return module && memory.pointer(*module, l.module.assembly).value_or(0) == assembly ? *module : 0;
}

}  // namespace

// AppDomain's list of assemblies is an ArrayListBase: blocks of pointers, the first inside the list
// (src/coreclr/vm/appdomain.hpp, src/coreclr/inc/arraylist.h).
std::vector<Address> loaded_modules(const RuntimeMemory& memory) {
  std::vector<Address> modules;
  const Layouts& l = memory.layouts();
  const auto domain = memory.through(l.globals.app_domain);
  const bool holds_assemblies = l.app_domain.assembly_list.present();
  const Field at = holds_assemblies ? l.app_domain.assembly_list : l.app_domain.domain_assembly_list;
  if (!domain || !at || !l.array_list_base.first_block) return modules;
  const Address list = *domain + at.offset;
  std::uint64_t left =
      std::min<std::uint64_t>(memory.value<std::uint32_t>(list, l.array_list_base.count).value_or(0), kMostModules);
  Address block = list + l.array_list_base.first_block.offset;
  for (std::size_t blocks = 0; block != 0 && left > 0 && blocks < kMostModules; blocks++) {
    const auto size = memory.value<std::uint32_t>(block, l.array_list_block.size);
    if (!size || !l.array_list_block.array_start) return modules;
    std::vector<Address> items(std::min<std::uint64_t>(*size, left));
    const Address start = block + l.array_list_block.array_start.offset;
    if (!memory.reader().read_exact(start, std::as_writable_bytes(std::span(items)))) return modules;
    for (const Address item : items) {
      // The first word of a DomainAssembly (src/coreclr/vm/domainassembly.h) is its Assembly.
      const Address module = module_of(memory, holds_assemblies ? item : memory.pointer_at(item).value_or(0));
      if (module != 0) modules.push_back(module);
    }
    left -= items.size();
    block = memory.pointer(block, l.array_list_block.next).value_or(0);
  }
  return modules;
}

}  // namespace mixstack::dotnet::objects
