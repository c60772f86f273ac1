#include "dotnet/names/method_names.h"

#include <unordered_map>

#include "dotnet/names/call_graph.h"
#include "dotnet/names/managed_string.h"
#include "dotnet/names/method_text.h"
#include "dotnet/names/pdb_finder.h"
#include "dotnet/names/portable_pdb.h"
#include "dotnet/names/value_types.h"

namespace mixstack::dotnet::names {

class MethodNames::Implementation {
 public:
  Implementation(const RuntimeMemory& memory, NameOptions options, FileOpener opener)
      : memory_(memory),
        options_(options),
        modules_(memory, options.fresh == nullptr ? memory.reader() : *options.fresh, std::move(opener),
                 options.program),
        types_(memory, modules_),
        text_(memory, modules_, types_, {options.signatures, options.max_name}),
        values_(memory, modules_, types_),
        calls_(memory, modules_, types_) {}

  Result<const MethodName*> describe(Address method_desc, const GenericContext& context);
  Result<std::string> type_name(Address method_table, bool raw);
  Result<std::string> method_of_type(Address method_table, std::string_view name);
  Result<std::vector<ParameterType>> locals(Address method_desc, std::uint32_t il);
  void new_capture();

  RuntimeMemory memory_;
  NameOptions options_;
  RuntimeModules modules_;
  RuntimeTypes types_;
  MethodText text_;
  ValueTypes values_;
  CallGraph calls_;
  struct Key {
    Address method = 0;
    Address type = 0;  ///< the exact one of shared code; 0: as the method says
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const { return (key.method ^ key.type << 1) * 0x9e3779b97f4a7c15ull; }
  };
  std::unordered_map<Key, MethodName, Hash> names_;
  std::unordered_map<Address, std::shared_ptr<const PortablePdb>> pdbs_;  // by Module; null: none found

 private:
  [[nodiscard]] bool still_there(const MethodDescFacts& facts, Address exact_type) const;
};

Result<const MethodName*> MethodNames::Implementation::describe(Address method_desc, const GenericContext& context) {
  // The exact method says all that the shared one does.
  const Key key{context.is_method ? context.handle : method_desc, context.is_method ? 0 : context.handle};
  if (auto it = names_.find(key); it != names_.end()) return &it->second;
  auto facts = read_method_desc(memory_, key.method);
  if (!facts) return fail(facts.error());
  if (key.type != 0) facts->method_table = key.type;
  auto name = text_.method(*facts);
  if (!name) return fail(name.error());
  if (context.handle != 0 && !context.is_kept) name->is_collectible = true;
  const bool is_transient = name->is_dynamic || name->is_collectible;
  if (is_transient) name->freed_while_named = !still_there(*facts, key.type);
  if (names_.size() >= options_.max_methods) names_.clear();
  return &names_.emplace(key, std::move(*name)).first->second;
}

bool MethodNames::Implementation::still_there(const MethodDescFacts& facts, Address exact_type) const {
  const RuntimeMemory now = options_.fresh == nullptr ? memory_ : memory_.with(*options_.fresh);
  auto again = read_method_desc(now, facts.address);
  if (again && exact_type != 0) again->method_table = exact_type;
  if (!again || *again != facts) return false;
  // The MethodTable goes with its LoaderAllocator: its Module word is overwritten or unmapped then.
  const auto old_module = memory_.pointer(facts.method_table, memory_.layouts().method_table.module);
  const auto module = now.pointer(facts.method_table, memory_.layouts().method_table.module);
  return old_module && module && *module == *old_module;
}

Result<std::string> MethodNames::Implementation::type_name(Address method_table, bool raw) {
  const auto facts = types_.method_table(method_table);
  if (!facts) return fail(facts.error());
  return text_.type(*facts, raw);
}

Result<std::string> MethodNames::Implementation::method_of_type(Address method_table, std::string_view name) {
  const auto facts = types_.method_table(method_table);
  if (!facts) return fail(facts.error());
  const ModuleFacts& module = modules_.at(facts->module);
  if (module.metadata == nullptr) return fail(ErrorCode::not_found, method_table);
  const RowRange methods = module.metadata->methods_of(facts->type_def());
  constexpr std::uint32_t kMostMethods = 1 << 12;
  for (std::uint32_t i = methods.first; i < methods.last && i - methods.first < kMostMethods; i++) {
    const std::uint32_t rid = module.metadata->method_at(i);
    const auto row = module.metadata->method_def(rid);
    if (!row || row->name != name) continue;
    MethodDescFacts method;
    method.method_table = method_table;
    method.rid = rid;
    auto text = text_.method(method);
    if (!text) return fail(text.error());
    return std::move(text->name);
  }
  return fail(ErrorCode::not_found, method_table);
}

Result<std::vector<ParameterType>> MethodNames::Implementation::locals(Address method_desc, std::uint32_t il) {
  constexpr std::size_t kMostPdbs = 256;
  const auto module = values_.module_of(method_desc);
  if (!module) return fail(module.error());
  auto known = pdbs_.find(*module);
  if (known == pdbs_.end()) {
    if (pdbs_.size() >= kMostPdbs) return fail(ErrorCode::limit_exceeded, kMostPdbs);
    PdbLookup lookup;
    const auto pdb = modules_.pdb(*module, nullptr, lookup);
    known = pdbs_.emplace(*module, pdb ? *pdb : nullptr).first;
  }
  if (known->second == nullptr) return fail(ErrorCode::not_found, *module);
  return values_.locals(method_desc, *known->second, il);
}

void MethodNames::Implementation::new_capture() {
  pdbs_.clear();  // modules may have gone, or been edited
  std::erase_if(names_, [](const auto& entry) { return entry.second.is_dynamic || entry.second.is_collectible; });
  modules_.forget_transient();
  text_.forget();
  calls_.forget();
}

MethodNames::MethodNames(const RuntimeMemory& memory, NameOptions options, FileOpener opener)
    : implementation_(std::make_unique<Implementation>(memory, options, std::move(opener))) {}
MethodNames::~MethodNames() = default;

Result<const MethodName*> MethodNames::describe(Address method_desc) {
  return implementation_->describe(method_desc, {});
}
Result<const MethodName*> MethodNames::describe(Address method_desc, const GenericContext& context) {
  return implementation_->describe(method_desc, context);
}
Result<std::string> MethodNames::type_name(Address method_table, bool raw) {
  return implementation_->type_name(method_table, raw);
}

Result<std::string> MethodNames::method_of_type(Address method_table, std::string_view name) {
  return implementation_->method_of_type(method_table, name);
}

Result<MethodParameters> MethodNames::parameters(Address method_desc) {
  return implementation_->values_.parameters(method_desc);
}

Result<std::vector<ParameterType>> MethodNames::locals(Address method_desc, std::uint32_t il) {
  return implementation_->locals(method_desc, il);
}

Result<ValueType> MethodNames::field_type(Address method_table, std::string_view name) {
  return implementation_->values_.field(method_table, name);
}

Result<std::string> MethodNames::object_type_name(Address object, bool raw) {
  const RuntimeMemory& memory = implementation_->memory_;
  const auto word = memory.pointer(object, memory.layouts().object.method_table);
  if (!word) return fail(word.error());
  const Global& unmask = memory.layouts().globals.object_to_method_table_unmask;
  if (!unmask) return fail(ErrorCode::field_unavailable, object);
  return type_name(*word & ~Address{unmask.value}, raw);
}

Result<std::string> MethodNames::string_value(Address object, std::size_t limit) const {
  return read_managed_string(implementation_->memory_, object, limit);
}
const ModuleFacts& MethodNames::module(Address module) { return implementation_->modules_.at(module); }
Result<std::shared_ptr<const PortablePdb>> MethodNames::pdb(Address module, const PdbFetcher& fetch,
                                                            PdbLookup& lookup) const {
  return implementation_->modules_.pdb(module, fetch, lookup);
}
CallGraph& MethodNames::call_graph() { return implementation_->calls_; }
void MethodNames::new_capture() { implementation_->new_capture(); }
std::vector<std::string> MethodNames::files_used() const { return implementation_->modules_.files_used(); }
std::vector<std::string> MethodNames::files_missing() const { return implementation_->modules_.files_missing(); }
MethodNames::Statistics MethodNames::statistics() const {
  return {implementation_->names_.size(), implementation_->modules_.loaded_bytes()};
}

}  // namespace mixstack::dotnet::names
