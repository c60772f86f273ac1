// Input: a type tree (type_tree.h), or a name from metadata.
// Output: text as C# writes it: types, owners, parameters, explicit interfaces, operators.
// Algorithm: recursive descent over the tree, one case for each kind of node. Special forms are tried before the
// general one: keywords, `decimal`, `T?`, tuples. Arrays are collected first, because C# writes the outermost dimension
// first. Nested types take their own arguments by the arity in their name; the last type takes the rest.
// Bounds: BoundedText stops the output and the tree bounds depth and number of nodes; tuples are unfolded at most 8
// levels.
#include "dotnet/names/csharp_format.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "dotnet/names/generated_names.h"
#include "dotnet/names/raw_format.h"

namespace mixstack::dotnet::names {
namespace {

struct Keyword {
  ElementType element;
  std::string_view text;
};
constexpr Keyword kKeywords[] = {
    {ElementType::void_, "void"},        {ElementType::boolean, "bool"},
    {ElementType::char_, "char"},        {ElementType::i1, "sbyte"},
    {ElementType::u1, "byte"},           {ElementType::i2, "short"},
    {ElementType::u2, "ushort"},         {ElementType::i4, "int"},
    {ElementType::u4, "uint"},           {ElementType::i8, "long"},
    {ElementType::u8, "ulong"},          {ElementType::r4, "float"},
    {ElementType::r8, "double"},         {ElementType::string, "string"},
    {ElementType::object, "object"},     {ElementType::native_int, "nint"},
    {ElementType::native_uint, "nuint"}, {ElementType::typed_by_ref, "TypedReference"},
};

constexpr unsigned kTupleRest = 7;  // ValueTuple`8 holds the rest of a longer tuple in its last argument

/// Children of a node from `first` on.
std::vector<TypeIndex> siblings(const TypeTree& tree, TypeIndex first) {
  std::vector<TypeIndex> out;
  for (TypeIndex i = first; i != kNoType; i = tree[i].next) out.push_back(i);
  return out;
}

std::vector<TypeIndex> arguments_of(const TypeTree& tree, const TypeNode& instance) {
  return instance.first_child == kNoType ? std::vector<TypeIndex>{} : siblings(tree, tree[instance.first_child].next);
}

/// Is `node` an instance of System.<name>?
bool is_system_type(const TypeTree& tree, const TypeNode& node, std::string_view name) {
  if (node.kind != TypeKind::instance || node.first_child == kNoType) return false;
  const TypeNode& generic = tree[node.first_child];
  if (generic.metadata == nullptr) return false;
  const TypeRefRow row = generic.metadata->type_name(generic.token);
  return row.name_space == "System" && row.name == name;
}

/// `(A, B, …)` for ValueTuple`2 to `8; false for anything else.
bool append_tuple(BoundedText& out, const TypeTree& tree, const TypeNode& node) {
  std::vector<TypeIndex> items;
  const TypeNode* part = &node;
  for (unsigned level = 0; level < 8; level++) {
    const auto arguments = arguments_of(tree, *part);
    if (arguments.empty() || arguments.size() > kTupleRest + 1) return false;
    if (!is_system_type(tree, *part, "ValueTuple`" + std::to_string(arguments.size()))) return false;
    const std::size_t own = std::min<std::size_t>(arguments.size(), kTupleRest);
    items.insert(items.end(), arguments.begin(), arguments.begin() + static_cast<std::ptrdiff_t>(own));
    if (own == arguments.size()) break;
    part = &tree[arguments.back()];
  }
  if (items.size() < 2) return false;
  out << '(';
  for (std::size_t i = 0; i < items.size(); i++) {
    if (i != 0) out << ", ";
    append_csharp_type(out, tree, items[i]);
  }
  out << ')';
  return true;
}

/// Types of a chain from `first` on, joined by dots, each with as many arguments as its arity says.
void append_chain(BoundedText& out, const TypeTree& tree, const NestingChain& chain,
                  std::span<const TypeIndex> arguments, bool with_namespace) {
  for (unsigned i = 0; i < chain.count; i++) {
    if (i != 0) {
      out << '.';
    } else if (with_namespace && !chain.types[i].name_space.empty()) {
      out << chain.types[i].name_space << '.';
    }
    const Arity arity = split_arity(chain.types[i].name);
    out << without_file_prefix(arity.name);
    const std::size_t own =
        i + 1 == chain.count ? arguments.size() : std::min<std::size_t>(arity.count, arguments.size());
    append_csharp_arguments(out, tree, arguments.first(own));
    arguments = arguments.subspan(own);
  }
}

void append_named(BoundedText& out, const TypeTree& tree, const TypeNode& node, std::span<const TypeIndex> arguments) {
  if (node.kind == TypeKind::primitive) {
    out << csharp_keyword(node.element);
    return;
  }
  const NestingChain chain = nesting_chain(node.metadata, node.token);
  if (chain.count == 0) out << '?';
  if (chain.count == 1 && chain.types[0].name == "Decimal" && chain.types[0].name_space == "System") {
    out << "decimal";
    return;
  }
  append_chain(out, tree, chain, arguments, false);
}

/// C# writes the outermost dimension first: int[][,] is an array of int[,].
void append_array(BoundedText& out, const TypeTree& tree, TypeIndex type) {
  std::vector<std::uint32_t> ranks;
  while (tree[type].kind == TypeKind::sz_array || tree[type].kind == TypeKind::array) {
    ranks.push_back(tree[type].kind == TypeKind::array ? tree[type].number : 1);
    type = tree[type].first_child;
  }
  append_csharp_type(out, tree, type);
  for (const std::uint32_t rank : ranks) {
    out << '[';
    for (std::uint32_t i = 1; i < rank && !out.is_cut(); i++) out << ',';
    out << ']';
  }
}

void append_function_pointer(BoundedText& out, const TypeTree& tree, const TypeNode& node) {
  out << ((node.number & 0xf) == 0 ? "delegate*<" : "delegate* unmanaged<");
  for (const TypeIndex p : arguments_of(tree, node)) {
    append_csharp_type(out, tree, p);
    out << ", ";
  }
  append_csharp_type(out, tree, node.first_child);
  out << '>';
}

}  // namespace

std::string_view csharp_keyword(ElementType e) {
  const auto* k = std::ranges::find(kKeywords, e, &Keyword::element);
  return k == std::end(kKeywords) ? std::string_view("?") : k->text;
}

void append_csharp_arguments(BoundedText& out, const TypeTree& tree, std::span<const TypeIndex> arguments) {
  if (arguments.empty()) return;
  out << '<';
  for (std::size_t i = 0; i < arguments.size() && !out.is_cut(); i++) {
    if (i != 0) out << ", ";
    append_csharp_type(out, tree, arguments[i]);
  }
  out << '>';
}

void append_csharp_owner(BoundedText& out, const TypeTree& tree, const Metadata& metadata, Token token,
                         std::span<const TypeIndex> arguments) {
  const NestingChain chain = nesting_chain(&metadata, token);
  if (chain.count == 0) out << '?';
  append_chain(out, tree, chain, arguments, true);
}

void append_csharp_type(BoundedText& out, const TypeTree& tree, TypeIndex type) {
  const TypeNode& node = tree[type];
  if (out.is_cut()) return;
  switch (node.kind) {
    case TypeKind::unknown:
      out << '?';
      break;
    case TypeKind::primitive:
    case TypeKind::named:
      append_named(out, tree, node, {});
      break;
    case TypeKind::instance: {
      const auto arguments = arguments_of(tree, node);
      if (arguments.size() == 1 && is_system_type(tree, node, "Nullable`1")) {
        append_csharp_type(out, tree, arguments.front());
        out << '?';
      } else if (!append_tuple(out, tree, node)) {
        append_named(out, tree, tree[node.first_child], arguments);
      }
      break;
    }
    case TypeKind::class_variable:
    case TypeKind::method_variable:
      append_raw_parameter(out, tree, type);
      break;
    case TypeKind::variable_name:
      out << node.text;
      break;
    case TypeKind::sz_array:
    case TypeKind::array:
      append_array(out, tree, type);
      break;
    case TypeKind::pointer:
      append_csharp_type(out, tree, node.first_child);
      out << '*';
      break;
    case TypeKind::by_ref:
      out << "ref ";
      append_csharp_type(out, tree, node.first_child);
      break;
    case TypeKind::function_pointer:
      append_function_pointer(out, tree, node);
      break;
  }
}

void append_csharp_parameter(BoundedText& out, const TypeTree& tree, TypeIndex type, ParameterMode mode) {
  const TypeNode& node = tree[type];
  if (node.kind == TypeKind::by_ref && mode != ParameterMode::by_ref) {
    out << (mode == ParameterMode::in ? "in " : "out ");
    type = node.first_child;
  }
  append_csharp_type(out, tree, type);
}

void append_short_interface(BoundedText& out, std::string_view name) {
  // Every dotted path keeps its last part; System's primitives become keywords.
  std::size_t start = 0;
  const auto flush = [&](std::size_t end) {
    const std::string_view path = name.substr(start, end - start);
    const auto dot = path.rfind('.');
    const std::string_view last = dot == std::string_view::npos ? path : path.substr(dot + 1);
    const bool is_system =
        dot != std::string_view::npos && (path.substr(0, dot) == "System" || path.substr(0, dot) == "global::System");
    const ElementType e = is_system ? primitive_of(last) : ElementType::end;
    out << (e == ElementType::end ? last : csharp_keyword(e));
  };
  for (std::size_t i = 0; i < name.size(); i++) {
    if (std::string_view("<>,[]()* ?").find(name[i]) == std::string_view::npos) continue;
    flush(i);
    out << name[i];
    if (name[i] == ',' && i + 1 < name.size() && name[i + 1] != ' ' && name[i + 1] != ',' && name[i + 1] != ']')
      out << ' ';
    start = i + 1;
  }
  flush(name.size());
}

std::string_view operator_name(std::string_view method) {
  // Names of ECMA-335 I.10.3 and of the C# specification's operator overloading.
  struct Operator {
    std::string_view method, text;
  };
  static constexpr Operator kOperators[] = {
      {"op_Implicit", "implicit operator"},
      {"op_Explicit", "explicit operator"},
      {"op_CheckedExplicit", "explicit operator checked"},
      {"op_Addition", "operator +"},
      {"op_Subtraction", "operator -"},
      {"op_Multiply", "operator *"},
      {"op_Division", "operator /"},
      {"op_Modulus", "operator %"},
      {"op_ExclusiveOr", "operator ^"},
      {"op_BitwiseAnd", "operator &"},
      {"op_BitwiseOr", "operator |"},
      {"op_LeftShift", "operator <<"},
      {"op_RightShift", "operator >>"},
      {"op_UnsignedRightShift", "operator >>>"},
      {"op_Equality", "operator =="},
      {"op_Inequality", "operator !="},
      {"op_LessThan", "operator <"},
      {"op_GreaterThan", "operator >"},
      {"op_LessThanOrEqual", "operator <="},
      {"op_GreaterThanOrEqual", "operator >="},
      {"op_UnaryNegation", "operator -"},
      {"op_UnaryPlus", "operator +"},
      {"op_LogicalNot", "operator !"},
      {"op_OnesComplement", "operator ~"},
      {"op_Increment", "operator ++"},
      {"op_Decrement", "operator --"},
      {"op_True", "operator true"},
      {"op_False", "operator false"},
      {"op_CheckedAddition", "operator checked +"},
      {"op_CheckedSubtraction", "operator checked -"},
      {"op_CheckedMultiply", "operator checked *"},
      {"op_CheckedDivision", "operator checked /"},
      {"op_CheckedUnaryNegation", "operator checked -"},
      {"op_CheckedIncrement", "operator checked ++"},
      {"op_CheckedDecrement", "operator checked --"},
      {"op_AdditionAssignment", "operator +="},
      {"op_SubtractionAssignment", "operator -="},
      {"op_MultiplicationAssignment", "operator *="},
      {"op_DivisionAssignment", "operator /="},
      {"op_ModulusAssignment", "operator %="},
      {"op_BitwiseAndAssignment", "operator &="},
      {"op_BitwiseOrAssignment", "operator |="},
      {"op_ExclusiveOrAssignment", "operator ^="},
      {"op_LeftShiftAssignment", "operator <<="},
      {"op_RightShiftAssignment", "operator >>="},
      {"op_UnsignedRightShiftAssignment", "operator >>>="},
  };
  const auto* o = std::ranges::find(kOperators, method, &Operator::method);
  return o == std::end(kOperators) ? std::string_view{} : o->text;
}

}  // namespace mixstack::dotnet::names
