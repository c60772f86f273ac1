// The metadata that .NET embeds in programs it compiled ahead of time: enough of it to say types and signatures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mixstack::dotnet::names {

/// A record: its kind and its offset in the blob.
struct AotHandle {
  std::uint32_t kind = 0, offset = 0;
  [[nodiscard]] bool is_null() const { return offset == 0; }
};

/// The "native format" as NativeAOT of .NET 10 writes it (src/coreclr/tools/Common/Internal/Metadata/NativeFormat in
/// dotnet/runtime; records in Generator/SchemaDef.cs). Borrows the bytes, which are foreign: every read is checked,
/// depth and length of answers are bounded, and a part that is not understood makes the whole answer nothing.
class AotMetadata {
 public:
  explicit AotMetadata(std::span<const std::byte> blob) : blob_(blob) {}
  /// Whether the blob begins as one of that format.
  [[nodiscard]] bool is_known() const;

  struct Method {
    AotHandle owner;
    std::uint32_t name = 0, signature = 0, arguments = 0;  ///< offsets; 0: none
  };
  struct Text {
    std::string owner;       ///< "Ns.Outer.Inner<int>", in C#'s way
    std::string raw_owner;   ///< "Ns.Outer+Inner`1"
    std::string method;      ///< as it is in metadata
    std::string arguments;   ///< "<int>" of a generic method; empty for others
    std::string parameters;  ///< "(int, string[])"
  };
  [[nodiscard]] std::optional<Text> method(const Method& method) const;
  /// A type with its namespace, in C#'s way, and the names of its arguments: `System.Collections.Generic.List<int>`.
  /// Nothing where these are not as many as it has parameters.
  [[nodiscard]] std::optional<std::string> type(AotHandle type, std::span<const std::string> arguments) const;
  /// A handle as an integer: seven bits of kind above the offset.
  [[nodiscard]] static AotHandle handle_of(std::uint32_t token) { return {token >> 25, token & 0x1ffffff}; }

 private:
  class Reader;
  std::span<const std::byte> blob_;
};

/// NativePrimitiveDecoder: unsigned numbers of one to five bytes. Advances `at`; nothing at the end of the bytes.
[[nodiscard]] std::optional<std::uint32_t> aot_number(std::span<const std::byte> bytes, std::size_t& at);

}  // namespace mixstack::dotnet::names
