// Types as small trees: the form between signatures or TypeHandles and text.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "dotnet/names/metadata.h"

namespace mixstack::dotnet::names {

/// ELEMENT_TYPE_* of ECMA-335 II.23.1.16; 0x21 and 0x22 are the runtime's own (src/coreclr/inc/corhdr.h).
enum class ElementType : std::uint8_t {
  end = 0x00,
  void_ = 0x01,
  boolean = 0x02,
  char_ = 0x03,
  i1 = 0x04,
  u1 = 0x05,
  i2 = 0x06,
  u2 = 0x07,
  i4 = 0x08,
  u4 = 0x09,
  i8 = 0x0a,
  u8 = 0x0b,
  r4 = 0x0c,
  r8 = 0x0d,
  string = 0x0e,
  pointer = 0x0f,
  by_ref = 0x10,
  value_type = 0x11,
  class_ = 0x12,
  variable = 0x13,
  array = 0x14,
  generic_instance = 0x15,
  typed_by_ref = 0x16,
  native_int = 0x18,
  native_uint = 0x19,
  function_pointer = 0x1b,
  object = 0x1c,
  sz_array = 0x1d,
  method_variable = 0x1e,
  required_modifier = 0x1f,
  optional_modifier = 0x20,
  internal = 0x21,
  internal_modifier = 0x22,
  sentinel = 0x41,
  pinned = 0x45
};

enum class TypeKind : std::uint8_t {
  unknown,
  primitive,         ///< `element` names it; has a token too when it came from a TypeHandle
  named,             ///< `metadata` + `token`; `element` says class or value type where a signature said it
  instance,          ///< children: the generic type, then its arguments
  class_variable,    ///< `number`: an argument that is not known
  method_variable,   ///< `number`
  variable_name,     ///< `text`: a type parameter of an open definition; `number`, `element`: which one
  sz_array,          ///< child: element
  array,             ///< child: element; `number`: rank
  pointer,           ///< child
  by_ref,            ///< child
  function_pointer,  ///< children: return type, then parameters; `number`: calling convention byte
};

using TypeIndex = std::uint32_t;
inline constexpr TypeIndex kNoType = 0;

struct TypeNode {
  TypeKind kind = TypeKind::unknown;
  ElementType element = ElementType::end;
  bool is_definition = false;      ///< instance that is the open definition itself: its arguments are its parameters
  bool is_internal = false;        ///< came as ELEMENT_TYPE_INTERNAL: the DAC prints its name without arguments
  bool has_in_modifier = false;    ///< modreq InAttribute: a read-only reference
  bool has_init_modifier = false;  ///< modreq IsExternalInit: an init accessor's return type
  std::uint32_t number = 0;
  std::uint64_t handle = 0;  ///< MethodTable that it came from; 0: from a signature
  Token token;
  TypeIndex first_child = kNoType, last_child = kNoType, next = kNoType;
  const Metadata* metadata = nullptr;  ///< borrowed; lives as long as the cache of modules it came from
  std::string_view text;
  std::string_view assembly;  ///< simple name of the defining assembly, for types that came from a TypeHandle
};

/// Arena of one name. Bounded: once full or too deep, `unknown` nodes replace the rest.
class TypeTree {
 public:
  static constexpr std::size_t kMaxNodes = 4096;
  static constexpr unsigned kMaxDepth = 64;

  TypeTree() { clear(); }
  void clear() {
    nodes_.assign(1, TypeNode{});
    depth_ = 0;
    is_cut_ = false;
  }
  [[nodiscard]] const TypeNode& operator[](TypeIndex i) const { return nodes_[i]; }
  [[nodiscard]] TypeNode& at(TypeIndex i) { return nodes_[i]; }
  /// A new node; kNoType (the shared unknown node, never to be written) when full.
  [[nodiscard]] TypeIndex add(TypeKind kind) {
    if (nodes_.size() >= kMaxNodes) {
      is_cut_ = true;
      return kNoType;
    }
    nodes_.push_back({});
    nodes_.back().kind = kind;
    return static_cast<TypeIndex>(nodes_.size() - 1);
  }
  /// Appends `child`, which must have no parent yet. A kNoType child becomes an `unknown` node; a kNoType parent is
  /// ignored.
  void append(TypeIndex parent, TypeIndex child) {
    if (parent == kNoType) return;
    if (child == kNoType) {
      child = add(TypeKind::unknown);
      if (child == kNoType) return;
    }
    TypeNode& p = nodes_[parent];
    if (p.first_child == kNoType) {
      p.first_child = child;
    } else {
      nodes_[p.last_child].next = child;
    }
    nodes_[parent].last_child = child;
  }
  [[nodiscard]] bool is_cut() const { return is_cut_; }
  /// A copy of a subtree, without parent. Trees are never shared: a node has one place.
  [[nodiscard]] TypeIndex copy(TypeIndex from) {
    if (from == kNoType) return kNoType;
    const TypeIndex to = add(TypeKind::unknown);
    Level level(*this);
    if (to == kNoType || !level.ok()) return kNoType;
    nodes_[to] = nodes_[from];
    nodes_[to].first_child = nodes_[to].last_child = nodes_[to].next = kNoType;
    for (TypeIndex child = nodes_[from].first_child; child != kNoType && !is_cut_; child = nodes_[child].next)
      append(to, copy(child));
    return to;
  }

  /// Counts nesting while decoding: `if (TypeTree::Level level(tree); level.ok())`.
  class Level {
   public:
    explicit Level(TypeTree& tree) : tree_(tree), ok_(++tree.depth_ <= kMaxDepth) {
      if (!ok_) tree.is_cut_ = true;
    }
    ~Level() { tree_.depth_--; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    [[nodiscard]] bool ok() const { return ok_; }

   private:
    TypeTree& tree_;
    bool ok_;
  };

 private:
  std::vector<TypeNode> nodes_;
  unsigned depth_ = 0;
  bool is_cut_ = false;
};

/// Resolves the parts of a signature that its own bytes do not tell.
class TypeResolver {
 public:
  virtual ~TypeResolver() = default;
  /// Argument `n` of the enclosing type or method; kNoType: not known (printed as !n or !!n).
  [[nodiscard]] virtual TypeIndex class_argument(TypeTree& tree, std::uint32_t n) const = 0;
  [[nodiscard]] virtual TypeIndex method_argument(TypeTree& tree, std::uint32_t n) const = 0;
  /// The type behind a TypeHandle of the target.
  [[nodiscard]] virtual TypeIndex handle(TypeTree& tree, std::uint64_t handle) const = 0;
};

}  // namespace mixstack::dotnet::names
