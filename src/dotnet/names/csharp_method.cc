// Input: a method of a module's metadata with its type arguments (MethodContext).
// Output: its C# name; code that the compiler moved is named after the method of the source.
// Algorithm: the names of the type and the method tell whether a compiler made them. A state machine leads to its
// kickoff method, a lambda or local function to the method around it; both are looked up in the metadata, then named in
// the same way (at most kMaxOrigins times), and the suffix follows (`[async]`, `.lambda`, `.Local`). If the method is
// not found, only its source name is written. All others are plain: owner, explicit interface, accessor, operator or
// name, then parameters.
// Bounds: kMaxOrigins steps, parameters by the decoder of signatures, output by BoundedText.
#include "dotnet/names/csharp_method.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "dotnet/names/csharp_format.h"
#include "dotnet/names/generated_names.h"
#include "dotnet/names/method_origin.h"

namespace mixstack::dotnet::names {
namespace {

constexpr std::uint16_t kVirtual = 0x0040, kSpecialName = 0x0800;  // MethodAttributes, ECMA-335 II.23.1.10
constexpr std::uint16_t kParamIn = 0x1, kParamOut = 0x2;           // ParamAttributes, II.23.1.13
constexpr unsigned kMaxOrigins = 4;  // a lambda's state machine in a local function's closure, ...

/// Writes one method. Holds what all steps need; lives for one name.
class Writer {
 public:
  Writer(BoundedText& out, TypeTree& tree, bool with_signature)
      : out_(out), tree_(tree), with_signature_(with_signature) {}

  void method(const MethodContext& context, unsigned depth = 0);

 private:
  void state_machine(const MethodContext& context, const GeneratedName& machine, unsigned depth);
  void nested_function(const MethodContext& context, const GeneratedName& name, unsigned depth);
  [[nodiscard]] bool vb_lambda(const MethodContext& context, unsigned depth);
  [[nodiscard]] bool fsharp(const MethodContext& context, unsigned depth);
  [[nodiscard]] bool fsharp_source(const MethodContext& context, const FSharpName& made, bool is_lambda,
                                   unsigned depth);
  void lambda(std::uint32_t ordinal);
  [[nodiscard]] bool extension_member(const MethodContext& context, const MethodDefRow& row);
  void plain(const MethodContext& context);
  void member(const MethodContext& context, std::string_view name, bool is_special, const MethodSignature& signature);
  void accessor(const MethodContext& context, std::string_view property, std::string_view verb,
                const MethodSignature& signature, std::size_t keys);
  void source_only(const MethodContext& container, std::string_view source, std::uint32_t example);
  void owner(const MethodContext& context);
  void parameters(const MethodContext& context, const MethodSignature& signature);
  void parameter_list(const MethodContext& context, const MethodSignature& signature, std::size_t count);
  [[nodiscard]] MethodSignature decode(const MethodContext& context);
  [[nodiscard]] std::size_t visible_parameters(const MethodSignature& signature) const;

  BoundedText& out_;
  TypeTree& tree_;
  bool with_signature_;
};

/// `context` for a method of an enclosing type: its type takes as many of the arguments as it has parameters, the
/// method the rest, because compilers copy type parameters of enclosing methods onto the classes they make.
MethodContext outer_context(const MethodContext& context, std::uint32_t container, std::uint32_t method) {
  MethodContext outer = context;
  outer.type = container;
  outer.method = method;
  std::vector<TypeIndex> all = context.class_arguments;
  all.insert(all.end(), context.method_arguments.begin(), context.method_arguments.end());
  const std::size_t own = std::min<std::size_t>(
      context.metadata->generic_params_of(Token(TableId::type_def, container)).size(), all.size());
  const auto split = all.begin() + static_cast<std::ptrdiff_t>(own);
  outer.class_arguments.assign(all.begin(), split);
  outer.method_arguments.assign(split, all.end());
  return outer;
}

void Writer::method(const MethodContext& context, unsigned depth) {
  const std::string_view type = context.metadata->string_cell(TableId::type_def, context.type, 1);
  const std::string_view name = context.metadata->string_cell(TableId::method_def, context.method, 3);
  GeneratedName made_type = parse_generated(type);
  const GeneratedName made = parse_generated(name);
  // F# calls all that it makes up of a method METHOD@LINE: closures, and the state machines of its tasks.
  if (const FSharpName fsharp = parse_fsharp(type);
      !fsharp.source.empty() && state_machine_kind(*context.metadata, context.type) == StateMachineKind::async)
    made_type = {GeneratedKind::state_machine, fsharp.source, {}, 0};
  if (depth >= kMaxOrigins) {
    plain(context);
  } else if (made_type.kind == GeneratedKind::state_machine && context.metadata->enclosing_type(context.type) != 0) {
    state_machine(context, made_type, depth);
  } else if (made.kind == GeneratedKind::lambda || made.kind == GeneratedKind::local_function) {
    nested_function(context, made, depth);
  } else if (!vb_lambda(context, depth) && !fsharp(context, depth)) {
    plain(context);
  }
}

void Writer::state_machine(const MethodContext& context, const GeneratedName& machine, unsigned depth) {
  const Metadata& metadata = *context.metadata;
  const std::uint32_t container = metadata.enclosing_type(context.type);
  const FoundMethod kickoff = find_kickoff(metadata, container, machine.source, context.type);
  const MethodContext outer = outer_context(context, container, kickoff.method);
  const FSharpName fsharp = parse_fsharp(metadata.string_cell(TableId::type_def, context.type, 1));
  if (!fsharp.source.empty() && fsharp_source(context, fsharp, false, depth)) {
    // It is told.
  } else if (kickoff.method != 0) {
    method(outer, depth + 1);
  } else {
    source_only(outer, machine.source, kickoff.example);
  }
  const std::string_view name = metadata.string_cell(TableId::method_def, context.method, 3);
  if (name != "MoveNext") out_ << '.' << split_explicit(name).member;
  switch (state_machine_kind(metadata, context.type)) {
    case StateMachineKind::async:
      out_ << " [async]";
      break;
    case StateMachineKind::iterator:
      out_ << " [iterator]";
      break;
    case StateMachineKind::async_iterator:
      out_ << " [async iterator]";
      break;
    case StateMachineKind::none:
      break;
  }
}

void Writer::nested_function(const MethodContext& context, const GeneratedName& name, unsigned depth) {
  const Metadata& metadata = *context.metadata;
  const std::uint32_t container = outside_closures(metadata, context.type);
  const FoundMethod parent = find_only(metadata, container, name.source);
  MethodContext outer = outer_context(context, container, parent.method);
  const std::size_t parent_arity = parent.example == 0
                                       ? outer.method_arguments.size()
                                       : metadata.generic_params_of(Token(TableId::method_def, parent.example)).size();
  std::vector<TypeIndex> own;  // type arguments of a generic local function itself
  while (outer.method_arguments.size() > parent_arity) {
    own.insert(own.begin(), outer.method_arguments.back());
    outer.method_arguments.pop_back();
  }
  if (parent.method != 0) {
    method(outer, depth + 1);
  } else {
    source_only(outer, name.source, parent.example);
  }
  if (name.kind == GeneratedKind::lambda) {
    lambda(name.ordinal);
  } else {
    out_ << '.' << name.own;
  }
  append_csharp_arguments(out_, tree_, own);
  parameters(context, decode(context));
}

void Writer::lambda(std::uint32_t ordinal) {
  out_ << ".lambda";
  if (ordinal != 0) out_ << '#' << std::to_string(ordinal);
}

/// Visual Basic numbers its lambdas by the member they stand in, which only the IL tells.
bool Writer::vb_lambda(const MethodContext& context, unsigned depth) {
  const VbLambda made = parse_vb_lambda(context.metadata->string_cell(TableId::method_def, context.method, 3));
  const CodeMakers* makers = made.is_one && context.makers ? context.makers(context.type) : nullptr;
  const CodeMakers::Source source = makers == nullptr ? CodeMakers::Source{} : makers->source_of(context.method);
  if (source.method == 0) return false;
  method(outer_context(context, context.metadata->type_of_method(source.method), source.method), depth + 1);
  lambda(made.ordinal);
  parameters(context, decode(context));
  return true;
}

/// Closures and delegates of F#, whose code is `Invoke`; its sequences; inner functions that it made methods of.
bool Writer::fsharp(const MethodContext& context, unsigned depth) {
  const Metadata& metadata = *context.metadata;
  const std::string_view name = metadata.string_cell(TableId::method_def, context.method, 3);
  const FSharpName of_type = parse_fsharp(metadata.string_cell(TableId::type_def, context.type, 1));
  if (of_type.source.empty()) {
    const FSharpName function = parse_fsharp(name);
    if (function.source.empty() || !fsharp_source(context, function, false, depth)) return false;
    parameters(context, decode(context));
    return true;
  }
  if (name == "Invoke") {
    if (!fsharp_source(context, of_type, true, depth)) return false;
    parameters(context, decode(context));
    return true;
  }
  if (!is_fsharp_sequence(metadata, context.type) || name == ".ctor" || !fsharp_source(context, of_type, false, depth))
    return false;
  if (name != "GenerateNext") out_ << '.' << name;
  out_ << " [iterator]";
  return true;
}

/// The method that `made` belongs to, and what of it `made` is; false, and nothing written, where that is not known.
bool Writer::fsharp_source(const MethodContext& context, const FSharpName& made, bool is_lambda, unsigned depth) {
  const Metadata& metadata = *context.metadata;
  const CodeMakers* makers = context.makers ? context.makers(context.type) : nullptr;
  const CodeMakers::Source source = makers == nullptr ? CodeMakers::Source{} : makers->source_of(context.method);
  if (source.method == 0 && !source.is_of_startup) return false;
  const std::uint32_t around = metadata.enclosing_type(context.type);
  MethodContext outer = context;  // of free type variables F# keeps those that it needs, in an order of its own
  outer.class_arguments.clear();
  outer.method_arguments.clear();
  outer.method = source.method;
  outer.type = source.method != 0 ? metadata.type_of_method(source.method) : around != 0 ? around : context.type;
  bool is_source = true;
  if (source.method != 0) {
    method(outer, depth + 1);
    std::string_view name = split_explicit(metadata.string_cell(TableId::method_def, source.method, 3)).member;
    is_source = name == made.source;
    if (name.starts_with("get_") || name.starts_with("set_")) is_source |= name.substr(4) == made.source;
  } else {
    owner(outer);
    out_ << '.' << made.source;
  }
  if (!is_source) out_ << '.' << made.source;
  if (is_lambda && (is_source || source.is_in_same_name)) lambda(made.ordinal);
  return true;
}

void Writer::source_only(const MethodContext& container, std::string_view source, std::uint32_t example) {
  const GeneratedName made = parse_generated(source);
  owner(container);
  if (made.kind == GeneratedKind::none || made.kind == GeneratedKind::other) {
    const bool is_special =
        example != 0 && (container.metadata->cell(TableId::method_def, example, 2) & kSpecialName) != 0;
    const ExplicitName parts = split_explicit(source);
    out_ << '.';
    const auto verb = std::find(parts.member.begin(), parts.member.end(), '_');
    if (is_special && verb != parts.member.end()) {  // get_X of several indexers: the accessor without its keys
      const auto prefix = static_cast<std::size_t>(verb - parts.member.begin());
      out_ << parts.member.substr(prefix + 1) << '.' << parts.member.substr(0, prefix);
    } else {
      out_ << (parts.member.empty() ? source : parts.member);
    }
  } else if (made.kind == GeneratedKind::top_level) {
    out_ << ".Main";
  } else {
    out_ << '.' << made.source << (made.kind == GeneratedKind::lambda ? ".lambda" : ".") << made.own;
  }
}

void Writer::plain(const MethodContext& context) {
  const auto row = context.metadata->method_def(context.method);
  if (!row) {
    out_ << '?';
    return;
  }
  owner(context);
  if (extension_member(context, *row)) return;
  const ExplicitName parts = split_explicit(row->name);
  if (!parts.interface_name.empty()) {
    out_ << '.';
    append_short_interface(out_, parts.interface_name);
  }
  out_ << '.';
  member(context, parts.member, (row->flags & kSpecialName) != 0, decode(context));
}

/// C# 14 compiles a property or an operator of an `extension` block to a static method of the class around it.
bool Writer::extension_member(const MethodContext& context, const MethodDefRow& row) {
  const auto extension = find_extension(*context.metadata, context.type, row);
  if (!extension) return false;
  MethodSignature signature = decode(context);
  if (signature.parameters.empty() && extension->has_receiver) return false;
  out_ << ".extension(";
  if (extension->has_receiver) {
    append_csharp_parameter(out_, tree_, signature.parameters.front(), ParameterMode::by_ref);
    signature.parameters.erase(signature.parameters.begin());
  } else {
    MethodContext block = context;  // the method has the block's type parameters as its own
    block.type = extension->block;
    block.class_arguments = context.method_arguments;
    const ArgumentResolver resolver(block, true);
    const auto marker =
        read_method_signature(extension->marker_signature, {context.metadata, &resolver, context.pointer_size}, tree_);
    if (marker && !marker->parameters.empty())
      append_csharp_parameter(out_, tree_, marker->parameters.front(), ParameterMode::by_ref);
  }
  out_ << ").";
  member(context, row.name, true, signature);
  return true;
}

void Writer::member(const MethodContext& context, std::string_view name, bool is_special,
                    const MethodSignature& signature) {
  const auto starts = [&](std::string_view prefix) { return is_special && name.starts_with(prefix); };
  const std::size_t count = signature.parameters.size();
  if (starts("get_")) return accessor(context, name.substr(4), "get", signature, count);
  if (starts("set_") && count > 0) {
    const bool is_init = tree_[signature.return_type].has_init_modifier;
    return accessor(context, name.substr(4), is_init ? "init" : "set", signature, count - 1);
  }
  if (starts("add_")) return accessor(context, name.substr(4), "add", signature, 0);
  if (starts("remove_")) return accessor(context, name.substr(7), "remove", signature, 0);
  const std::string_view symbol = is_special ? operator_name(name) : std::string_view{};
  const GeneratedName made = parse_generated(name);
  if (!symbol.empty()) {
    out_ << symbol;
    if (name.ends_with("plicit")) {
      out_ << ' ';
      append_csharp_type(out_, tree_, signature.return_type);
    }
  } else if (made.kind == GeneratedKind::top_level) {
    out_ << "Main";
  } else if (name == "Finalize" && count == 0 &&
             (context.metadata->cell(TableId::method_def, context.method, 2) & kVirtual) != 0) {
    const std::string_view type = context.metadata->string_cell(TableId::type_def, context.type, 1);
    out_ << '~' << without_file_prefix(split_arity(type).name);
  } else {
    out_ << name;
  }
  append_csharp_arguments(out_, tree_, context.method_arguments);
  parameters(context, signature);
  if (made.kind == GeneratedKind::top_level && name == "<Main>") out_ << " [entry point]";
}

void Writer::accessor(const MethodContext& context, std::string_view property, std::string_view verb,
                      const MethodSignature& signature, std::size_t keys) {
  if (keys == 0) {
    out_ << property;
  } else {
    out_ << "this[";
    if (with_signature_) parameter_list(context, signature, keys);
    out_ << ']';
  }
  out_ << '.' << verb;
}

void Writer::owner(const MethodContext& context) {
  append_csharp_owner(out_, tree_, *context.metadata, Token(TableId::type_def, context.type), context.class_arguments);
}

MethodSignature Writer::decode(const MethodContext& context) {
  const ArgumentResolver resolver(context, true);
  const SignatureContext how{context.metadata, &resolver, context.pointer_size};
  auto signature =
      read_method_signature(context.metadata->blob_cell(TableId::method_def, context.method, 4), how, tree_);
  if (signature) return std::move(*signature);
  MethodSignature unknown;
  unknown.is_cut = true;
  return unknown;
}

/// Local functions get the variables they capture as extra parameters: structs by reference, last.
std::size_t Writer::visible_parameters(const MethodSignature& signature) const {
  std::size_t n = signature.parameters.size();
  for (; n > 0; n--) {
    const TypeNode& p = tree_[signature.parameters[n - 1]];
    if (p.kind != TypeKind::by_ref || p.first_child == kNoType) break;
    const TypeNode* t = &tree_[p.first_child];
    if (t->kind == TypeKind::instance && t->first_child != kNoType) t = &tree_[t->first_child];
    if (t->kind != TypeKind::named || t->metadata == nullptr) break;
    if (parse_generated(t->metadata->type_name(t->token).name).kind != GeneratedKind::closure) break;
  }
  return n;
}

void Writer::parameters(const MethodContext& context, const MethodSignature& signature) {
  if (!with_signature_) return;
  out_ << '(';
  const std::size_t count = visible_parameters(signature);
  parameter_list(context, signature, count);
  if (signature.is_vararg()) out_ << (count == 0 ? "__arglist" : ", __arglist");
  if (signature.is_cut) out_ << (count == 0 ? "?" : ", ?");
  out_ << ')';
}

void Writer::parameter_list(const MethodContext& context, const MethodSignature& signature, std::size_t count) {
  const Metadata& metadata = *context.metadata;
  const RowRange rows = metadata.params_of(context.method);
  for (std::size_t i = 0; i < count && !out_.is_cut(); i++) {
    if (i != 0) out_ << ", ";
    const TypeIndex type = signature.parameters[i];
    ParameterMode mode = ParameterMode::by_ref;
    if (tree_[type].kind == TypeKind::by_ref) {
      if (tree_[type].has_in_modifier) mode = ParameterMode::in;
      // Rows exist only for parameters that have a name or a flag; they are ordered by sequence.
      for (std::uint32_t p = rows.first; p < std::min<std::uint64_t>(rows.last, rows.first + count + 1); p++) {
        const auto row = metadata.param(metadata.param_at(p));
        if (!row || row->sequence > i + 1) break;
        if (row->sequence != i + 1) continue;
        const unsigned direction = row->flags & (kParamIn | kParamOut);
        if (direction == kParamIn) mode = ParameterMode::in;
        if (direction == kParamOut) mode = ParameterMode::out;
      }
    }
    append_csharp_parameter(out_, tree_, type, mode);
  }
}

}  // namespace

TypeIndex ArgumentResolver::named(TypeTree& tree, Token owner, std::uint32_t n) const {
  if (!use_names_ || context_.metadata == nullptr) return kNoType;
  const RowRange rows = context_.metadata->generic_params_of(owner);
  if (n >= rows.size()) return kNoType;
  const auto row = context_.metadata->generic_param(rows.first + n);
  const TypeIndex t = row ? tree.add(TypeKind::variable_name) : kNoType;
  if (t != kNoType) tree.at(t).text = row->name;
  return t;
}

TypeIndex ArgumentResolver::class_argument(TypeTree& tree, std::uint32_t n) const {
  if (n < context_.class_arguments.size()) return tree.copy(context_.class_arguments[n]);
  return named(tree, Token(TableId::type_def, context_.type), n);
}

TypeIndex ArgumentResolver::method_argument(TypeTree& tree, std::uint32_t n) const {
  if (n < context_.method_arguments.size()) return tree.copy(context_.method_arguments[n]);
  return named(tree, Token(TableId::method_def, context_.method), n);
}

TypeIndex ArgumentResolver::handle(TypeTree& tree, std::uint64_t handle) const {
  return context_.types == nullptr ? kNoType : context_.types->handle(tree, handle);
}

void append_csharp_method(BoundedText& out, TypeTree& tree, const MethodContext& context, bool with_signature) {
  Writer(out, tree, with_signature).method(context);
}

}  // namespace mixstack::dotnet::names
