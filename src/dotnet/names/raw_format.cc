// Input: a type tree (type_tree.h) or a decoded signature.
// Output: text as the runtime's own diagnostics print it (DAC, ClrMD, SOS).
// Algorithm: two recursive descents over the tree, because the runtime has two formatters: append_raw_parameter follows
// sigformat.cpp (short names, `List`1<Int32>`), append_raw_type follows typestring.cpp (namespaces, nesting with `+`,
// assembly-qualified arguments, backslashes before reserved characters).
// Bounds: BoundedText stops the output, the tree bounds depth and number of nodes, a nesting chain has at most
// NestingChain::kMax types.
#include "dotnet/names/raw_format.h"

#include <algorithm>
#include <charconv>

#include "dotnet/bcl/types.h"

namespace mixstack::dotnet::names {
namespace {

struct PrimitiveName {
  ElementType element;
  std::string_view name;
};
constexpr PrimitiveName kPrimitives[] = {
    {ElementType::void_, "Void"},
    {ElementType::boolean, "Boolean"},
    {ElementType::char_, "Char"},
    {ElementType::i1, "SByte"},
    {ElementType::u1, "Byte"},
    {ElementType::i2, "Int16"},
    {ElementType::u2, "UInt16"},
    {ElementType::i4, "Int32"},
    {ElementType::u4, "UInt32"},
    {ElementType::i8, "Int64"},
    {ElementType::u8, "UInt64"},
    {ElementType::r4, "Single"},
    {ElementType::r8, "Double"},
    {ElementType::string, "String"},
    {ElementType::object, "Object"},
    {ElementType::native_int, "IntPtr"},
    {ElementType::native_uint, "UIntPtr"},
    {ElementType::typed_by_ref, "TypedReference"},
};
constexpr std::string_view kUnknown = "**UNKNOWN TYPE**";

void append_number(BoundedText& out, std::uint32_t n) {
  std::array<char, 12> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), n).ptr;
  out << std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data()));
}

/// Reserved characters of a type name get a backslash (IsTypeNameReservedChar in src/coreclr/vm/typestring.cpp).
void append_escaped(BoundedText& out, std::string_view name) {
  for (const char c : name) {
    if (std::string_view(",[]&*+\\").find(c) != std::string_view::npos) out << '\\';
    out << c;
  }
}

void append_children(BoundedText& out, const TypeTree& tree, TypeIndex first, std::string_view separator) {
  for (TypeIndex i = first; i != kNoType && !out.is_cut(); i = tree[i].next) {
    if (i != first) out << separator;
    append_raw_parameter(out, tree, i);
  }
}

void append_commas(BoundedText& out, std::uint32_t rank) {
  out << '[';
  for (std::uint32_t i = 1; i < rank && !out.is_cut(); i++) out << ',';
  out << ']';
}

/// `R (A, B)`, calling convention 5 (vararg) with an ellipsis.
void append_function_pointer(BoundedText& out, const TypeTree& tree, const TypeNode& node) {
  append_raw_parameter(out, tree, node.first_child);
  const TypeIndex first = node.first_child == kNoType ? kNoType : tree[node.first_child].next;
  out << " (";
  append_children(out, tree, first, ", ");
  if ((node.number & 0xf) == 5) out << (first == kNoType ? "..." : ", ...");
  out << ')';
}

void append_own_name(BoundedText& out, const TypeNode& node) {
  if (node.metadata == nullptr) {
    out << kUnknown;
    return;
  }
  const TypeRefRow name = node.metadata->type_name(node.token);
  if (!name.name_space.empty()) out << name.name_space << '.';
  out << name.name;
}

}  // namespace

std::string_view primitive_name(ElementType e) {
  const auto* p = std::ranges::find(kPrimitives, e, &PrimitiveName::element);
  return p == std::end(kPrimitives) ? std::string_view{} : p->name;
}

ElementType primitive_of(std::string_view name) {
  const auto* p = std::ranges::find(kPrimitives, name, &PrimitiveName::name);
  return p == std::end(kPrimitives) ? ElementType::end : p->element;
}

NestingChain nesting_chain(const Metadata* metadata, Token token) {
  NestingChain chain;
  if (metadata == nullptr) return chain;
  while (!token.is_nil() && chain.count < NestingChain::kMax) {
    const TypeRefRow row = metadata->type_name(token);
    chain.tokens[chain.count] = token;
    chain.types[chain.count++] = row;
    if (token.table() == TableId::type_def) {
      token = Token(TableId::type_def, metadata->enclosing_type(token.rid()));
    } else {
      token = row.resolution_scope.table() == TableId::type_ref ? row.resolution_scope : Token();
    }
  }
  std::reverse(chain.types.begin(), chain.types.begin() + chain.count);
  std::reverse(chain.tokens.begin(), chain.tokens.begin() + chain.count);
  return chain;
}

void append_raw_parameter(BoundedText& out, const TypeTree& tree, TypeIndex type) {
  const TypeNode& node = tree[type];
  if (out.is_cut()) return;
  switch (node.kind) {
    case TypeKind::unknown:
      out << kUnknown;
      break;
    case TypeKind::primitive:
      if (node.element == ElementType::string || node.element == ElementType::object) out << bcl::kSystem;
      out << primitive_name(node.element);
      break;
    case TypeKind::named:
      append_own_name(out, node);
      break;
    case TypeKind::instance:
      append_raw_parameter(out, tree, node.first_child);
      if (node.is_internal || node.first_child == kNoType) break;
      out << '<';
      append_children(out, tree, tree[node.first_child].next, ",");
      out << '>';
      break;
    case TypeKind::class_variable:
    case TypeKind::method_variable:
      out << (node.kind == TypeKind::class_variable ? "!" : "!!");
      append_number(out, node.number);
      break;
    case TypeKind::variable_name:
      out << (node.element == ElementType::method_variable ? "!!" : "!");
      append_number(out, node.number);
      break;
    case TypeKind::sz_array:
    case TypeKind::array:
      append_raw_parameter(out, tree, node.first_child);
      append_commas(out, node.kind == TypeKind::array ? node.number : 1);
      break;
    case TypeKind::pointer:
      append_raw_parameter(out, tree, node.first_child);
      out << '*';
      break;
    case TypeKind::by_ref:
      append_raw_parameter(out, tree, node.first_child);
      out << " ByRef";
      break;
    case TypeKind::function_pointer:
      append_function_pointer(out, tree, node);
      break;
  }
}

void append_raw_parameters(BoundedText& out, const TypeTree& tree, const MethodSignature& signature) {
  out << '(';
  for (std::size_t i = 0; i < signature.parameters.size() && !out.is_cut(); i++) {
    if (i != 0) out << ", ";
    append_raw_parameter(out, tree, signature.parameters[i]);
  }
  if (signature.is_vararg()) out << (signature.parameters.empty() ? "..." : ", ...");
  if (signature.is_cut) out << (signature.parameters.empty() ? "?" : ", ?");
  out << ')';
}

void append_raw_arguments(BoundedText& out, const TypeTree& tree, TypeIndex first) {
  if (first == kNoType) return;
  out << '[';
  for (TypeIndex i = first; i != kNoType && !out.is_cut(); i = tree[i].next) {
    if (i != first) out << ',';
    const std::string_view assembly = tree[i].assembly;
    if (!assembly.empty()) out << '[';
    append_raw_type(out, tree, i);
    if (assembly.empty()) continue;
    out << ", ";
    for (const char c : assembly) {
      if (c == ']') out << '\\';
      out << c;
    }
    out << ']';
  }
  out << ']';
}

void append_raw_type(BoundedText& out, const TypeTree& tree, TypeIndex type) {
  const TypeNode& node = tree[type];
  if (out.is_cut()) return;
  switch (node.kind) {
    case TypeKind::primitive:
      out << bcl::kSystem << primitive_name(node.element);
      break;
    case TypeKind::named: {
      const NestingChain chain = nesting_chain(node.metadata, node.token);
      for (unsigned i = 0; i < chain.count; i++) {
        if (i != 0) out << '+';
        if (!chain.types[i].name_space.empty()) {
          append_escaped(out, chain.types[i].name_space);
          out << '.';
        }
        append_escaped(out, chain.types[i].name);
      }
      if (chain.count == 0) out << kUnknown;
      break;
    }
    case TypeKind::instance:
      append_raw_type(out, tree, node.first_child);
      if (node.first_child != kNoType && !node.is_definition)
        append_raw_arguments(out, tree, tree[node.first_child].next);
      break;
    case TypeKind::sz_array:
      append_raw_type(out, tree, node.first_child);
      out << "[]";
      break;
    case TypeKind::array:
      append_raw_type(out, tree, node.first_child);
      if (node.number == 1) {
        out << "[*]";
      } else {
        append_commas(out, node.number);
      }
      break;
    case TypeKind::pointer:
      append_raw_type(out, tree, node.first_child);
      out << '*';
      break;
    case TypeKind::by_ref:
      append_raw_type(out, tree, node.first_child);
      out << '&';
      break;
    case TypeKind::function_pointer: {
      append_raw_type(out, tree, node.first_child);
      out << '(';
      const TypeIndex first = node.first_child == kNoType ? kNoType : tree[node.first_child].next;
      for (TypeIndex i = first; i != kNoType && !out.is_cut(); i = tree[i].next) {
        if (i != first) out << ", ";
        append_raw_type(out, tree, i);
      }
      out << ')';
      break;
    }
    case TypeKind::variable_name:
      append_escaped(out, node.text);
      break;
    case TypeKind::unknown:
    case TypeKind::class_variable:
    case TypeKind::method_variable:
      append_raw_parameter(out, tree, type);
      break;
  }
}

}  // namespace mixstack::dotnet::names
