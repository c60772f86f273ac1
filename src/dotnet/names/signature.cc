// Input: the bytes of a signature (ECMA-335 II.23.2), and a context that resolves tokens, variables and handles.
// Output: a type, a method's types or a list of types, as nodes of the caller's tree.
// Algorithm: recursive descent, one function for each form. Modifiers are read before the type that they belong to. The
// first malformed byte sets `ok_` to false, and all later reads answer nothing; a method signature then keeps the
// parameters read so far (`is_cut`), because a partial name is better than none.
// Bounds: depth and nodes by TypeTree, kMaxParameters types in one list, kMaxRank dimensions, kMaxModifiers modifiers.
#include "dotnet/names/signature.h"

#include <algorithm>
#include <cstring>

#include "dotnet/bcl/types.h"
#include "dotnet/names/compressed.h"

namespace mixstack::dotnet::names {
namespace {

constexpr std::uint32_t kMaxParameters = 4096;
constexpr std::uint32_t kMaxRank = 64;  // the runtime loads at most 32 dimensions
constexpr unsigned kMaxModifiers = 64;

/// Recursive descent over one blob. After the first malformed byte `ok()` is false and every read answers nothing.
class Decoder {
 public:
  Decoder(std::span<const std::byte> blob, const SignatureContext& context, TypeTree& tree)
      : rest_(blob), context_(context), tree_(tree) {}

  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] std::uint8_t byte() {
    if (rest_.empty()) {
      ok_ = false;
      return 0;
    }
    const auto b = std::to_integer<std::uint8_t>(rest_.front());
    rest_ = rest_.subspan(1);
    return b;
  }
  [[nodiscard]] std::uint32_t number() {
    const CompressedUnsigned c = read_compressed(rest_);
    if (c.size == 0) ok_ = false;
    rest_ = rest_.subspan(std::min<std::size_t>(c.size, rest_.size()));
    return c.value;
  }
  bool accept(ElementType wanted) {
    if (rest_.empty() || std::to_integer<std::uint8_t>(rest_.front()) != static_cast<std::uint8_t>(wanted))
      return false;
    rest_ = rest_.subspan(1);
    return true;
  }
  [[nodiscard]] TypeIndex type();
  void method(MethodSignature& out);

 private:
  [[nodiscard]] TypeIndex element(ElementType e);
  [[nodiscard]] TypeIndex wrapped(TypeKind kind);
  [[nodiscard]] TypeIndex named(ElementType e);
  [[nodiscard]] TypeIndex array();
  [[nodiscard]] TypeIndex instance();
  [[nodiscard]] TypeIndex function_pointer();
  [[nodiscard]] TypeIndex variable(TypeKind kind);
  [[nodiscard]] TypeIndex internal();
  [[nodiscard]] std::uint64_t pointer();
  [[nodiscard]] Token type_token() { return decode_coded(CodedIndex::type_def_or_ref, number()); }
  void modifier(ElementType e, bool& in, bool& init);

  std::span<const std::byte> rest_;
  const SignatureContext& context_;
  TypeTree& tree_;
  bool ok_ = true;
};

std::uint64_t Decoder::pointer() {
  std::uint64_t value = 0;
  const std::size_t n = context_.pointer_size == 4 ? 4 : 8;
  if (rest_.size() < n) {
    ok_ = false;
    return 0;
  }
  std::memcpy(&value, rest_.data(), n);
  rest_ = rest_.subspan(n);
  return value;
}

void Decoder::modifier(ElementType e, bool& in, bool& init) {
  if (e == ElementType::internal_modifier) {  // a byte that says whether it is required, then a TypeHandle
    (void)byte();
    (void)pointer();
    return;
  }
  const Token token = type_token();
  if (context_.metadata == nullptr || e != ElementType::required_modifier) return;
  const TypeRefRow name = context_.metadata->type_name(token);
  in |= name.name == bcl::InModifier::kName && name.name_space == bcl::InModifier::kNamespace;
  init |= name.name == bcl::InitModifier::kName && name.name_space == bcl::InitModifier::kNamespace;
}

TypeIndex Decoder::type() {
  TypeTree::Level level(tree_);
  if (!level.ok() || !ok_) {
    ok_ = false;
    return kNoType;
  }
  bool in = false, init = false;
  for (unsigned i = 0; i < kMaxModifiers; i++) {
    const auto e = static_cast<ElementType>(byte());
    if (!ok_) return kNoType;
    switch (e) {
      case ElementType::required_modifier:
      case ElementType::optional_modifier:
      case ElementType::internal_modifier:
        modifier(e, in, init);
        continue;
      case ElementType::pinned:
        continue;
      default:
        break;
    }
    const TypeIndex t = element(e);
    if (t != kNoType) {
      tree_.at(t).has_in_modifier |= in;
      tree_.at(t).has_init_modifier |= init;
    }
    return t;
  }
  ok_ = false;
  return kNoType;
}

TypeIndex Decoder::element(ElementType e) {
  switch (e) {
    case ElementType::pointer:
      return wrapped(TypeKind::pointer);
    case ElementType::by_ref:
      return wrapped(TypeKind::by_ref);
    case ElementType::sz_array:
      return wrapped(TypeKind::sz_array);
    case ElementType::value_type:
    case ElementType::class_:
      return named(e);
    case ElementType::array:
      return array();
    case ElementType::generic_instance:
      return instance();
    case ElementType::function_pointer:
      return function_pointer();
    case ElementType::variable:
      return variable(TypeKind::class_variable);
    case ElementType::method_variable:
      return variable(TypeKind::method_variable);
    case ElementType::internal:
      return internal();
    default:
      break;
  }
  const bool primitive = (e >= ElementType::void_ && e <= ElementType::string) || e == ElementType::typed_by_ref ||
                         e == ElementType::native_int || e == ElementType::native_uint || e == ElementType::object;
  if (!primitive) {
    ok_ = false;
    return kNoType;
  }
  const TypeIndex t = tree_.add(TypeKind::primitive);
  if (t != kNoType) tree_.at(t).element = e;
  return t;
}

TypeIndex Decoder::wrapped(TypeKind kind) {
  const TypeIndex t = tree_.add(kind);
  tree_.append(t, type());
  return t;
}

TypeIndex Decoder::named(ElementType e) {
  const Token token = type_token();
  const TypeIndex t = tree_.add(TypeKind::named);
  if (t != kNoType) {
    tree_.at(t).element = e;
    tree_.at(t).metadata = context_.metadata;
    tree_.at(t).token = token;
  }
  return t;
}

TypeIndex Decoder::array() {
  const TypeIndex t = tree_.add(TypeKind::array);
  tree_.append(t, type());
  const std::uint32_t rank = number();
  for (int list = 0; list < 2; list++) {  // sizes, then lower bounds; names do not show them
    const std::uint32_t count = number();
    if (count > rank) ok_ = false;
    for (std::uint32_t i = 0; ok_ && i < count; i++) (void)number();
  }
  if (rank == 0 || rank > kMaxRank) ok_ = false;
  if (t != kNoType) tree_.at(t).number = std::min(rank, kMaxRank);
  return t;
}

TypeIndex Decoder::instance() {
  const TypeIndex t = tree_.add(TypeKind::instance);
  TypeIndex generic = kNoType;
  if (accept(ElementType::class_)) {
    generic = named(ElementType::class_);
  } else if (accept(ElementType::value_type)) {
    generic = named(ElementType::value_type);
  } else if (accept(ElementType::internal)) {
    generic = internal();
  } else {
    ok_ = false;
  }
  tree_.append(t, generic);
  const std::uint32_t count = number();
  if (count == 0 || count > kMaxParameters) ok_ = false;
  for (std::uint32_t i = 0; ok_ && i < count; i++) tree_.append(t, type());
  return t;
}

TypeIndex Decoder::function_pointer() {
  const TypeIndex t = tree_.add(TypeKind::function_pointer);
  MethodSignature signature;
  method(signature);
  if (signature.is_cut) ok_ = false;
  tree_.append(t, signature.return_type);
  for (const TypeIndex p : signature.parameters) tree_.append(t, p);
  if (t != kNoType) tree_.at(t).number = signature.calling_convention;
  return t;
}

TypeIndex Decoder::variable(TypeKind kind) {
  const std::uint32_t n = number();
  if (!ok_) return kNoType;
  TypeIndex t = kNoType;
  if (context_.resolver != nullptr) {
    t = kind == TypeKind::class_variable ? context_.resolver->class_argument(tree_, n)
                                         : context_.resolver->method_argument(tree_, n);
  }
  if (t != kNoType) return t;
  t = tree_.add(kind);
  if (t != kNoType) tree_.at(t).number = n;
  return t;
}

TypeIndex Decoder::internal() {
  const std::uint64_t handle = pointer();
  if (!ok_ || context_.resolver == nullptr) return tree_.add(TypeKind::unknown);
  const TypeIndex t = context_.resolver->handle(tree_, handle);
  if (t != kNoType) tree_.at(t).is_internal = true;
  return t;
}

void Decoder::method(MethodSignature& out) {
  out.calling_convention = byte();
  if ((out.calling_convention & 0x10) != 0) out.generic_parameters = number();
  const std::uint32_t count = number();
  out.return_type = type();
  out.is_cut = !ok_ || count > kMaxParameters;
  for (std::uint32_t i = 0; !out.is_cut && i < count; i++) {
    if (accept(ElementType::sentinel)) break;  // the arguments after it belong to one call
    const TypeIndex t = type();
    out.is_cut = !ok_;
    if (ok_) out.parameters.push_back(t);
  }
}

std::vector<TypeIndex> list_of_types(std::uint8_t kind, std::span<const std::byte> blob,
                                     const SignatureContext& context, TypeTree& tree) {
  Decoder in(blob, context, tree);
  std::vector<TypeIndex> out;
  if (in.byte() != kind) return out;
  const std::uint32_t count = std::min(in.number(), kMaxParameters);
  for (std::uint32_t i = 0; i < count; i++) {
    const TypeIndex t = in.type();
    if (!in.ok()) break;
    out.push_back(t);
  }
  return out;
}

}  // namespace

Result<MethodSignature> read_method_signature(std::span<const std::byte> blob, const SignatureContext& context,
                                              TypeTree& tree) {
  Decoder in(blob, context, tree);
  MethodSignature out;
  in.method(out);
  if (out.is_cut && out.parameters.empty() && out.return_type == kNoType) return fail(ErrorCode::malformed);
  return out;
}

TypeIndex read_type(std::span<const std::byte> blob, const SignatureContext& context, TypeTree& tree) {
  Decoder in(blob, context, tree);
  const TypeIndex t = in.type();
  return in.ok() ? t : kNoType;
}

std::vector<TypeIndex> read_local_types(std::span<const std::byte> blob, const SignatureContext& context,
                                        TypeTree& tree) {
  return list_of_types(0x07, blob, context, tree);
}

std::vector<TypeIndex> read_method_arguments(std::span<const std::byte> blob, const SignatureContext& context,
                                             TypeTree& tree) {
  return list_of_types(0x0a, blob, context, tree);
}

}  // namespace mixstack::dotnet::names
