// Input: facts of a MethodDesc or MethodTable (runtime_method.h, runtime_types.h).
// Output: the two forms of a name: C#'s, and the raw one that the DAC prints.
// Algorithm: by the kind of method. Ordinary ones are named by metadata and type arguments; the row's type must be the
// MethodTable's, else the MethodDesc is stale (`mismatch`). Dynamic methods and stubs have their name and signature in
// the target's memory, which may be freed meanwhile, so the bytes must look like a name. Array methods are named by
// their slot. A method without metadata or row gets `module!token`.
// Bounds: Options::max_name for each text, kMaxDynamicName, kMaxStoredSignature, kMaxOwners cached owner texts; types
// by TypeTree's limits.
#include "dotnet/names/method_text.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

#include "dotnet/code/method_check.h"
#include "dotnet/names/csharp_format.h"
#include "dotnet/names/method_names.h"
#include "dotnet/names/raw_format.h"

namespace mixstack::dotnet::names {
namespace {

constexpr std::uint32_t kMaxStoredSignature = 64 << 10;
constexpr std::size_t kMaxDynamicName = 16 << 10;
constexpr std::size_t kMaxOwners = 1 << 16, kMaxScopes = 64;

std::string hexadecimal(std::uint64_t value) {
  std::array<char, 24> text;
  const int n = std::snprintf(text.data(), text.size(), "0x%llx", static_cast<unsigned long long>(value));
  return {text.data(), static_cast<std::size_t>(n)};
}

/// Methods that every array type has, in slot order behind the inherited virtual ones
/// (ArrayMethodDesc::GetArrayFuncIndex in src/coreclr/vm/method.hpp; all further ones are constructors).
std::string_view array_method_name(unsigned index) {
  constexpr std::array<std::string_view, 3> names{"Get", "Set", "Address"};
  return index < names.size() ? names[index] : ".ctor";
}

/// The purpose of an IL stub, by the names of ILStubResolver::GetStubMethodName (src/coreclr/vm/ilstubresolver.cpp).
std::string_view stub_kind(std::string_view name) {
  struct Kind {
    std::string_view name, text;
  };
  static constexpr Kind kKinds[] = {
      {"IL_STUB_PInvoke", "P/Invoke"},
      {"IL_STUB_ReversePInvoke", "reverse P/Invoke"},
      {"IL_STUB_CLRtoCOM", "COM call"},
      {"IL_STUB_COMtoCLR", "COM callback"},
      {"IL_STUB_StructMarshal", "struct marshalling"},
      {"IL_STUB_Array", "array access"},
      {"IL_STUB_MulticastDelegate_Invoke", "multicast delegate"},
      {"IL_STUB_WrapperDelegate_Invoke", "wrapper delegate"},
      {"IL_STUB_UnboxingStub", "unboxing"},
      {"IL_STUB_InstantiatingStub", "instantiating"},
      {"IL_STUB_StoreTailCallArgs", "tail call arguments"},
      {"IL_STUB_CallTailCallTarget", "tail call target"},
      {"IL_STUB_bVirtualStaticMethodDispatch", "virtual static dispatch"},
      {"IL_STUB_DelegateShuffleThunk", "delegate shuffle"},
      {"IL_STUB_DelegateInvoke_Invoke", "delegate invoke"},
  };
  for (const Kind& k : kKinds)
    if (k.name == name) return k.text;
  return name.starts_with("IL_STUB_") ? name.substr(8) : name;
}

/// Stubs between managed and native code are shared by all methods with the same signature and keep the target they
/// were first made for (SF_IsSharedStub, src/coreclr/vm/dllimport.h). These kinds are made for one method each.
bool is_of_one_method(std::string_view name) {
  constexpr std::array<std::string_view, 5> kOwn{"IL_STUB_UnboxingStub", "IL_STUB_InstantiatingStub",
                                                 "IL_STUB_StoreTailCallArgs", "IL_STUB_CallTailCallTarget",
                                                 "IL_STUB_bVirtualStaticMethodDispatch"};
  return std::find(kOwn.begin(), kOwn.end(), name) != kOwn.end();
}

}  // namespace

Result<MethodName> MethodText::method(const MethodDescFacts& facts) {
  const auto type = types_.method_table(facts.method_table);
  if (!type) return fail(type.error());
  const ModuleFacts& module = modules_.at(type->module);
  tree_.clear();
  if (facts.kind == MethodClass::dynamic) return dynamic(facts, *type, module);
  if (facts.kind == MethodClass::array) return array(facts, *type);
  return ordinary(facts, *type, module);
}

MethodName MethodText::nameless(const MethodDescFacts& facts, const ModuleFacts& module) const {
  MethodName name;
  name.token = Token(TableId::method_def, facts.rid).value;
  name.method_table = facts.method_table;
  name.module_address = module.address;
  name.module = module.assembly;
  name.module_path = module.path;
  name.is_dynamic = module.is_emitted;
  name.is_collectible = module.is_collectible;
  return name;
}

MethodName MethodText::by_token(MethodName name) {
  name.name = (name.module.empty() ? std::string("?") : name.module) + "!" + hexadecimal(name.token);
  name.raw_name = name.name;
  return name;
}

Result<MethodName> MethodText::ordinary(const MethodDescFacts& facts, const MethodTableFacts& type,
                                        const ModuleFacts& module) {
  MethodName name = nameless(facts, module);
  name.is_async_thunk = is_async_thunk(memory_, facts.address);
  if (module.metadata == nullptr) return by_token(std::move(name));
  const auto row = module.metadata->method_def(facts.rid);
  // The row of a method that Edit and Continue added, or that was emitted after the snapshot, is missing. An existing
  // row must agree.
  if (!row) return by_token(std::move(name));
  if (module.metadata->type_of_method(facts.rid) != type.type_def()) return fail(ErrorCode::mismatch, facts.address);

  MethodContext context{module.metadata.get(), facts.rid, type.type_def(), {}, {}, &types_, memory_.pointer_size()};
  context.class_arguments = types_.class_arguments(tree_, type);
  if (facts.kind == MethodClass::instantiated && facts.instantiation != 0)
    context.method_arguments = types_.handles(tree_, facts.instantiation, facts.argument_count);

  BoundedText raw(options_.max_name);
  append_raw_method(raw, context, type, facts.is_generic_definition, *row);
  if (tree_.is_cut()) raw.mark_cut();
  name.raw_name = std::move(raw).take();

  context.makers = [this, &module](std::uint32_t of) { return &makers_of(module, of); };
  BoundedText text(options_.max_name);
  append_csharp_method(text, tree_, context, options_.signatures);
  if (tree_.is_cut()) text.mark_cut();
  name.name = std::move(text).take();
  return name;
}

void MethodText::append_raw_method(BoundedText& raw, const MethodContext& context, const MethodTableFacts& type,
                                   bool is_definition, const MethodDefRow& row) {
  // The DAC knows no arguments of open definitions: their variables stay numbers.
  MethodContext known = context;
  if (type.is_definition()) known.class_arguments.clear();
  if (is_definition) known.method_arguments.clear();
  const ArgumentResolver resolver(known, false);
  const auto signature =
      read_method_signature(row.signature, {context.metadata, &resolver, context.pointer_size}, tree_);
  raw << raw_owner(type) << '.' << row.name;
  if (!known.method_arguments.empty()) {
    const TypeIndex list = tree_.add(TypeKind::instance);
    for (const TypeIndex a : known.method_arguments) tree_.append(list, tree_.copy(a));
    append_raw_arguments(raw, tree_, tree_[list].first_child);
  }
  if (signature) {
    append_raw_parameters(raw, tree_, *signature);
  } else {
    raw << "(?)";
  }
}

MethodSignature MethodText::stored_signature(const MethodDescFacts& facts, const MethodContext& context) {
  MethodSignature failed;
  failed.is_cut = true;
  if (facts.signature == 0 || facts.signature_size == 0 || facts.signature_size > kMaxStoredSignature) return failed;
  std::vector<std::byte> bytes(facts.signature_size);
  if (!memory_.reader().read_exact(facts.signature, bytes)) return failed;
  const ArgumentResolver resolver(context, false);
  auto signature = read_method_signature(bytes, {context.metadata, &resolver, context.pointer_size}, tree_);
  return signature ? std::move(*signature) : failed;
}

void MethodText::append_parameters(BoundedText& text, const MethodSignature& signature) {
  if (!options_.signatures) return;
  text << '(';
  for (std::size_t i = 0; i < signature.parameters.size(); i++) {
    if (i != 0) text << ", ";
    append_csharp_type(text, tree_, signature.parameters[i]);
  }
  text << (signature.is_cut ? "?)" : ")");
}

void MethodText::append_stub(BoundedText& text, const MethodDescFacts& facts, const MethodTableFacts& type,
                             std::string_view own, const MethodSignature& signature) {
  text << "[stub: " << stub_kind(own) << ']';
  if (is_of_one_method(own) && facts.stub_target != 0 && facts.stub_target != facts.address) {
    const auto target = read_method_desc(memory_, facts.stub_target);
    if (target && target->kind != MethodClass::dynamic) {
      MethodText inner(memory_, modules_, types_, options_);  // the tree here is in use
      if (const auto name = inner.method(*target)) {
        text << " -> " << name->name;
        return;
      }
    }
  }
  // Stubs that are a delegate's Invoke belong to the delegate's type; others to a type without metadata.
  const ModuleFacts& module = modules_.at(type.module);
  if (own.ends_with("Delegate_Invoke") && type.type_def() != 0 && module.metadata != nullptr) {
    text << " -> ";
    append_csharp_owner(text, tree_, *module.metadata, Token(TableId::type_def, type.type_def()),
                        types_.class_arguments(tree_, type));
    text << ".Invoke";
  }
  append_parameters(text, signature);
}

Result<MethodName> MethodText::dynamic(const MethodDescFacts& facts, const MethodTableFacts& type,
                                       const ModuleFacts& module) {
  const auto own = memory_.reader().read_cstring(facts.name, kMaxDynamicName);
  if (!own) return fail(own.error());
  // The name is on the C++ heap and is freed before its MethodDesc changes (LCGMethodResolver::Destroy), so a second
  // reading proves nothing. Hence a method that is really called "\x07" has no name.
  if (!is_plain_text(*own)) return fail(ErrorCode::malformed, facts.name);
  MethodName name = nameless(facts, module);
  name.token = 0;
  name.module.clear();
  name.module_path.clear();
  name.is_dynamic = true;
  name.is_il_stub = facts.is_il_stub();
  MethodContext context{module.metadata.get(), 0, 0, {}, {}, &types_, memory_.pointer_size()};
  context.class_arguments = types_.class_arguments(tree_, type);  // stubs of delegates: the delegate's own
  const MethodSignature signature = stored_signature(facts, context);
  // Name and signature are freed together: if the signature is lost, bytes that happen to be text are a name only if
  // they look like one.
  const bool is_signature_lost = signature.is_cut && signature.parameters.empty();
  if (is_signature_lost && !looks_like_identifier(*own)) return fail(ErrorCode::malformed, facts.name);
  BoundedText raw(options_.max_name), text(options_.max_name);
  raw << (facts.is_lightweight() ? "DynamicClass." : facts.is_il_stub() ? "ILStubClass." : "") << *own;
  append_raw_parameters(raw, tree_, signature);
  if (name.is_il_stub) {
    name.stub_kind = printable(stub_kind(*own));
    append_stub(text, facts, type, *own, signature);
  } else {
    text << *own;
    append_parameters(text, signature);
    text << " [dynamic]";
  }
  name.raw_name = std::move(raw).take();
  name.name = std::move(text).take();
  return name;
}

MethodName MethodText::array(const MethodDescFacts& facts, const MethodTableFacts& type) {
  const ModuleFacts& module = modules_.at(type.module);
  MethodName name = nameless(facts, module);
  name.token = 0;
  MethodContext context{module.metadata.get(), 0, 0, {}, {}, &types_, memory_.pointer_size()};
  context.class_arguments = types_.class_arguments(tree_, type);
  const TypeIndex self = types_.type(tree_, type);
  const std::string_view own = array_method_name(static_cast<unsigned>(facts.slot) - type.num_virtuals);
  const MethodSignature signature = stored_signature(facts, context);
  BoundedText raw(options_.max_name), text(options_.max_name);
  append_raw_type(raw, tree_, self);
  raw << '.' << own;
  append_raw_parameters(raw, tree_, signature);
  append_csharp_type(text, tree_, self);
  text << '.' << own;
  append_parameters(text, signature);
  name.raw_name = std::move(raw).take();
  name.name = std::move(text).take();
  return name;
}

std::string MethodText::type(const MethodTableFacts& facts, bool raw) {
  if (raw) return raw_owner(facts);
  tree_.clear();
  BoundedText text(options_.max_name);
  const ModuleFacts& module = modules_.at(facts.module);
  if (facts.is_array() || module.metadata == nullptr) {
    append_csharp_type(text, tree_, types_.type(tree_, facts));
  } else {
    const auto arguments = types_.class_arguments(tree_, facts);
    append_csharp_owner(text, tree_, *module.metadata, Token(TableId::type_def, facts.type_def()), arguments);
  }
  return std::move(text).take();
}

const CodeMakers& MethodText::makers_of(const ModuleFacts& module, std::uint32_t type) {
  // The metadata of a module that changed is another object; what is kept here holds on to the old one.
  const std::pair key(module.metadata.get(), CodeMakers::outermost(*module.metadata, type));
  if (const auto known = makers_.find(key); known != makers_.end()) return known->second;
  if (makers_.size() >= kMaxScopes) makers_.clear();
  const auto body = [&](std::uint32_t rva) -> Result<std::vector<std::byte>> {
    auto il = modules_.il(module.address, rva);
    if (!il) return fail(il.error());
    return std::move(il->code);
  };
  return makers_.emplace(key, CodeMakers(module.metadata, type, body)).first->second;
}

const std::string& MethodText::raw_owner(const MethodTableFacts& facts) {
  if (auto it = owners_.find(facts.address); it != owners_.end()) return it->second;
  TypeTree tree;
  BoundedText text(options_.max_name);
  append_raw_type(text, tree, types_.type(tree, facts));
  if (tree.is_cut()) text.mark_cut();
  if (owners_.size() >= kMaxOwners) owners_.clear();
  return owners_.emplace(facts.address, std::move(text).take()).first->second;
}

}  // namespace mixstack::dotnet::names
