// Signatures (ECMA-335 II.23.2) to type trees, the runtime's internal element types included.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "dotnet/names/metadata.h"
#include "dotnet/names/type_tree.h"
#include "mixstack/result.h"

namespace mixstack::dotnet::names {

/// A decoded method signature. Types lie in the tree it was decoded into.
struct MethodSignature {
  std::uint8_t calling_convention = 0;  ///< first byte: kind in the low four bits, 0x10 generic, 0x20 has this
  std::uint32_t generic_parameters = 0;
  TypeIndex return_type = kNoType;
  std::vector<TypeIndex> parameters;  ///< fixed ones; those after a sentinel are skipped
  bool is_cut = false;                ///< malformed or too large behind this point: `parameters` is a prefix

  [[nodiscard]] bool is_vararg() const { return (calling_convention & 0xf) == 5; }
};

/// The origin of a signature. `metadata` resolves its tokens, `resolver` its variables and handles; either may be null.
/// `pointer_size` is the target's (width of internal TypeHandles).
struct SignatureContext {
  const Metadata* metadata = nullptr;
  const TypeResolver* resolver = nullptr;
  unsigned pointer_size = 8;
};

/// Method, property (0x08) or stand-alone method signature. Errors: `malformed` when not even a parameter count and a
/// return type can be read.
[[nodiscard]] Result<MethodSignature> read_method_signature(std::span<const std::byte> blob,
                                                            const SignatureContext& context, TypeTree& tree);
/// One type, as in a TypeSpec or behind the 0x06 of a field signature. kNoType when malformed.
[[nodiscard]] TypeIndex read_type(std::span<const std::byte> blob, const SignatureContext& context, TypeTree& tree);
/// Types of a method's local variables (II.23.2.6); if the bytes are malformed, those before.
[[nodiscard]] std::vector<TypeIndex> read_local_types(std::span<const std::byte> blob, const SignatureContext& context,
                                                      TypeTree& tree);
/// Arguments of a MethodSpec (0x0a count types).
[[nodiscard]] std::vector<TypeIndex> read_method_arguments(std::span<const std::byte> blob,
                                                           const SignatureContext& context, TypeTree& tree);

}  // namespace mixstack::dotnet::names
