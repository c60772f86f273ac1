// Which method of the source compiler-made code belongs to, where its name does not say: by the IL that makes it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "dotnet/names/metadata.h"

namespace mixstack::dotnet::names {

/// A name that F# makes up: `loop@17`, `main@30-4`.
struct FSharpName {
  std::string_view source;    ///< the binding it stands in, or is: empty where this is no such name
  std::uint32_t ordinal = 0;  ///< tells those of one binding apart
};
[[nodiscard]] FSharpName parse_fsharp(std::string_view name);

/// A lambda of Visual Basic: `_Lambda$__5-0`, the first one of the type's member 5, and `_Lambda$__0` in a class for
/// the variables that it captures.
struct VbLambda {
  bool is_one = false;
  std::uint32_t ordinal = 0;
};
[[nodiscard]] VbLambda parse_vb_lambda(std::string_view name);

/// The references to made code in all methods of one outermost type and of the types in it. Bounded: beyond the limits,
/// and where two methods refer to the same code, nothing is said.
class CodeMakers {
 public:
  static constexpr std::uint32_t kMaxTypes = 1 << 14, kMaxMethods = 1 << 15, kMaxBytes = 8u << 20;

  /// IL of the method at an RVA.
  using Body = std::function<Result<std::vector<std::byte>>(std::uint32_t rva)>;
  CodeMakers(std::shared_ptr<const Metadata> metadata, std::uint32_t type, const Body& body);

  struct Source {
    std::uint32_t method = 0;      ///< MethodDef row; 0: not known
    bool is_of_startup = false;    ///< no method: a value of an F# module
    bool is_in_same_name = false;  ///< between them is other made code of the same binding: a local function
  };
  /// The source of a generated method, or of a method of a generated class.
  [[nodiscard]] Source source_of(std::uint32_t method) const;
  [[nodiscard]] const Metadata& metadata() const { return *metadata_; }

  /// The type around all others that `type` lies in.
  [[nodiscard]] static std::uint32_t outermost(const Metadata& metadata, std::uint32_t type);

 private:
  /// Made code: a class (F# closures, state machines), or else a method (lambdas of Visual Basic, lifted functions).
  struct Made {
    std::uint32_t type = 0, method = 0;
    friend auto operator<=>(const Made&, const Made&) = default;  // NOLINT(modernize-use-nullptr): its 0
  };
  struct Climb;
  [[nodiscard]] Made made_at(std::uint32_t method) const;
  void read_type(std::uint32_t type, const Body& body);
  void note(std::uint32_t maker, std::uint32_t token);
  void climb(const Made& made, Climb& climb, unsigned depth) const;

  std::shared_ptr<const Metadata> metadata_;
  std::uint32_t methods_ = 0, bytes_ = 0;
  bool is_whole_ = true;
  std::map<Made, std::set<std::uint32_t>> makers_;
};

}  // namespace mixstack::dotnet::names
