// The calls of a dynamic method. Its IL lies where the JIT read it; only managed objects tell the meaning of its
// tokens.
#include "dotnet/bcl/types.h"
#include "dotnet/names/call_graph.h"

namespace mixstack::dotnet::names {
namespace {

constexpr std::uint32_t kMostCode = 64 << 10, kMostTokens = 1 << 16;

// LCGMethodResolver (src/coreclr/vm/dynamicmethod.h) of .NET 10, in words: a vtable, its DynamicMethodDesc, the
// DynamicMethodTable, a handle of the managed DynamicResolver, the IL, its size. In no descriptor: the
// DynamicMethodDesc, which is known, and the size, which the managed object has, too, prove the layout.
constexpr unsigned kOwnMethod = 1, kManagedResolver = 3, kCode = 4, kCodeSize = 5;
// DynamicResolver, DynamicScope, List<T> (System.Private.CoreLib), in words behind the MethodTable: exceptions,
// exception header, method, code, locals, scope; the list; its array and its count. For RuntimeMethodInfo, the word
// before its flags.
constexpr unsigned kResolverCode = 4, kResolverScope = 6, kScopeTokens = 1, kListItems = 1, kListCount = 2;
constexpr unsigned kArrayLength = 1, kArrayFirst = 2, kBoxed = 1, kMethodHandle = 10;

}  // namespace

/// Whether an object is of a type of the core library, by its plain name.
bool CallGraph::is_a(Address object, std::string_view type) const {
  const Global& unmask = memory_.layouts().globals.object_to_method_table_unmask;
  const auto word = memory_.pointer(object, memory_.layouts().object.method_table);
  if (object == 0 || !word || !unmask) return false;
  const auto table = types_.method_table(*word & ~Address{unmask.value});
  const auto metadata = table ? modules_.at(table->module).metadata : nullptr;
  if (!metadata || metadata->assembly_name() != bcl::kCoreLib) return false;
  const auto row = metadata->type_def(table->type_def());
  return row && row->name == type;
}

std::vector<MethodKey> CallGraph::calls_of_dynamic(Address method_desc) const {
  const unsigned word = memory_.pointer_size();
  const DynamicMethodDescLayout& l = memory_.layouts().dynamic_method_desc;
  const auto facts = read_method_desc(memory_, method_desc);
  if (!facts || !facts->is_lightweight() || !l.method_name) return {};
  const auto at = [&](Address object, unsigned words) -> Address {
    return object == 0 ? 0 : memory_.pointer_at(object + Address{words} * word).value_or(0);
  };
  const auto is = [&](Address object, std::string_view type) { return is_a(object, type); };
  const Address native = at(method_desc + l.method_name.offset, 1);
  if (native == 0 || at(native, kOwnMethod) != method_desc) return {};
  const Address code = at(native, kCode);
  const auto size = memory_.reader().read<std::uint32_t>(native + Address{kCodeSize} * word);
  const Address resolver = at(at(native, kManagedResolver), 0);
  if (code == 0 || !size || *size > kMostCode || !is(resolver, "DynamicResolver")) return {};
  const auto same = memory_.reader().read<std::uint32_t>(at(resolver, kResolverCode) + Address{kArrayLength} * word);
  const Address scope = at(resolver, kResolverScope);
  if (!same || *same != *size || !is(scope, "DynamicScope")) return {};
  const Address list = at(scope, kScopeTokens), items = at(list, kListItems);
  const auto count = memory_.reader().read<std::uint32_t>(list + Address{kListCount} * word);
  const auto room = memory_.reader().read<std::uint32_t>(items + Address{kArrayLength} * word);
  if (!count || !room || *count > *room || *count > kMostTokens) return {};
  std::vector<std::byte> bytes(*size);
  if (!memory_.reader().read_exact(code, bytes)) return {};
  const auto calls = read_il_calls(bytes);
  if (!calls) return {};
  std::vector<MethodKey> keys;
  for (const IlCall& call : *calls) {
    const Token token(call.token);
    if (token.table() != TableId::method_def || token.rid() >= *count) continue;
    const Address handle = at(items, kArrayFirst + token.rid());
    if (!is(handle, "RuntimeMethodHandle")) continue;
    const Address info = at(handle, kBoxed);
    if (!is(info, "RuntimeMethodInfo")) continue;
    if (const MethodKey key = key_of(at(info, kMethodHandle)); key.rid != 0) keys.push_back(key);
  }
  return keys;
}

}  // namespace mixstack::dotnet::names
