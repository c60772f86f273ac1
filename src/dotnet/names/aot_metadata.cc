// Input: the metadata blob of a NativeAOT program (NativeFormat), and a method's owner, name and signature in it.
// Output: the method's text in C#'s way and its raw owner; nothing if any part of it is not understood.
// Algorithm: recursive descent over records. The owner comes first, because its type arguments (class_arguments_) name
// the type variables of the signature; then the method's own arguments, for the same reason; the parameters last. Any
// failed read sets `ok_` to false, which is checked once at the end.
// Bounds: kMaxDepth levels, kMaxRecords records for one name, kMaxList handles in one list, kMaxText bytes in one
// string; a type or an answer above twice kMaxText is refused.
#include "dotnet/names/aot_metadata.h"

#include <algorithm>

#include "base/system/byte_cursor.h"
#include "dotnet/bcl/types.h"
#include "dotnet/names/generated_names.h"

namespace mixstack::dotnet::names {
namespace {

constexpr std::uint32_t kSignature = 0xdeaddffd;  // MetadataHeader in NativeMetadataReader.cs
constexpr unsigned kMaxDepth = 24;
constexpr unsigned kMaxRecords = 2000;  // records read for one name
constexpr std::size_t kMaxText = 4096;
constexpr std::size_t kMaxAnswer = 2 * kMaxText;
constexpr std::uint32_t kMaxList = 256;

// HandleType of NativeFormatReaderCommonGen.cs.
enum : std::uint32_t {
  kArraySignature = 0x01,
  kByReferenceSignature = 0x02,
  kFunctionPointerSignature = 0x25,
  kMethodTypeVariableSignature = 0x2c,
  kModifiedType = 0x2d,
  kNamespaceDefinition = 0x2f,
  kNamespaceReference = 0x30,
  kPointerSignature = 0x32,
  kSzArraySignature = 0x37,
  kTypeDefinition = 0x3a,
  kTypeInstantiationSignature = 0x3c,
  kTypeReference = 0x3d,
  kTypeSpecification = 0x3e,
  kTypeVariableSignature = 0x3f
};

struct Keyword {
  std::string_view type, keyword;
};
constexpr std::array<Keyword, 18> kKeywords{{{"Void", "void"},
                                             {"Boolean", "bool"},
                                             {"Char", "char"},
                                             {"SByte", "sbyte"},
                                             {"Byte", "byte"},
                                             {"Int16", "short"},
                                             {"UInt16", "ushort"},
                                             {"Int32", "int"},
                                             {"UInt32", "uint"},
                                             {"Int64", "long"},
                                             {"UInt64", "ulong"},
                                             {"Single", "float"},
                                             {"Double", "double"},
                                             {"String", "string"},
                                             {"Object", "object"},
                                             {"IntPtr", "nint"},
                                             {"UIntPtr", "nuint"},
                                             {"Decimal", "decimal"}}};

std::string keyword_of(std::string_view space, std::string_view name) {
  if (space != "System") return {};
  const auto* found =
      std::find_if(kKeywords.begin(), kKeywords.end(), [&](const Keyword& k) { return k.type == name; });
  return found == kKeywords.end() ? std::string() : std::string(found->keyword);
}

std::string joined(const std::vector<std::string>& parts) {
  std::string all;
  for (const std::string& part : parts) all += (all.empty() ? "" : ", ") + part;
  return all;
}

}  // namespace

std::optional<std::uint32_t> aot_number(std::span<const std::byte> bytes, std::size_t& at) {
  if (at >= bytes.size()) return std::nullopt;
  const auto first = std::to_integer<std::uint32_t>(bytes[at]);
  // As many low ones as bytes follow, at most four; the number comes after that mark.
  unsigned follow = 0;
  while (follow < 4 && (first >> follow & 1) != 0) follow++;
  if (bytes.size() - at <= follow) return std::nullopt;
  std::uint32_t value = follow == 4 ? 0 : first >> (follow + 1);
  if (follow == 4 && (first & 16) != 0) return std::nullopt;
  for (unsigned i = 1; i <= follow; i++) {
    const unsigned shift = follow == 4 ? 8 * (i - 1) : 8 * i - (follow + 1);
    value |= std::to_integer<std::uint32_t>(bytes[at + i]) << shift;
  }
  at += follow + 1;
  return value;
}

bool AotMetadata::is_known() const { return base::load_at<std::uint32_t>(blob_, 0) == kSignature; }

/// Reads for one answer. A failure stays, and is checked once, at the end.
class AotMetadata::Reader {
 public:
  explicit Reader(std::span<const std::byte> blob) : blob_(blob) {}
  [[nodiscard]] bool ok() const { return ok_; }

  struct Cursor {
    std::size_t at = 0;
  };
  std::uint32_t number(Cursor& c) {
    const auto value = aot_number(blob_, c.at);
    if (!value) ok_ = false;
    return value.value_or(0);
  }
  AotHandle handle(Cursor& c) {
    const std::uint32_t value = number(c);
    return {value & 0x7f, value >> 7};
  }
  std::vector<AotHandle> handles(Cursor& c) {
    std::vector<AotHandle> all;
    const std::uint32_t count = number(c);
    if (count > kMaxList) ok_ = false;
    for (std::uint32_t i = 0; ok_ && i < count; i++) all.push_back(handle(c));
    return all;
  }
  std::string string(std::uint32_t offset) {
    if (offset == 0) return {};
    Cursor c = enter(offset);
    const std::uint32_t size = number(c);
    if (size > kMaxText || size > blob_.size() - std::min(blob_.size(), c.at)) ok_ = false;
    if (!ok_) return {};
    return {reinterpret_cast<const char*>(blob_.data()) + c.at, size};
  }

  /// A type as a parameter or argument: without namespace. Each is bounded, because a type variable repeats the text of
  /// another, and arguments that hold variables would grow by a factor at each level.
  std::string type(AotHandle h, unsigned depth) {
    std::string text = unbounded_type(h, depth);
    return text.size() > kMaxAnswer ? failed() : text;
  }
  /// A type as an owner, in C#'s way or, `raw`, in metadata's.
  std::string owner(AotHandle h, bool raw, unsigned depth);
  std::string parameters(std::uint32_t signature);
  std::string arguments(std::uint32_t list);

 private:
  Cursor enter(std::uint32_t offset) {
    if (++records_ > kMaxRecords || offset >= blob_.size()) ok_ = false;
    return {ok_ ? offset : blob_.size()};
  }
  std::string unbounded_type(AotHandle h, unsigned depth);
  std::string space(AotHandle h, unsigned depth);
  std::string named_type(AotHandle h, unsigned depth);
  std::string instance(AotHandle h, unsigned depth);
  /// The parts of a definition or a reference: the scope around it, its name.
  struct Named {
    AotHandle around;  ///< a namespace or a type
    std::string name;
  };
  Named named(AotHandle h);
  static bool is_space(AotHandle h) { return h.kind == kNamespaceDefinition || h.kind == kNamespaceReference; }
  /// Type variables by the arguments of the owner and the method (for an open type, the names of its parameters).
  static std::string variable(const std::vector<std::string>& arguments, std::uint32_t n, const char* mark) {
    return n < arguments.size() ? arguments[n] : mark + std::to_string(n);
  }
  std::string failed() {
    ok_ = false;
    return {};
  }

  std::span<const std::byte> blob_;
  std::vector<std::string> class_arguments_, method_arguments_;
  unsigned records_ = 0;
  bool ok_ = true;
};

AotMetadata::Reader::Named AotMetadata::Reader::named(AotHandle h) {
  Cursor c = enter(h.offset);
  Named result;
  if (h.kind == kTypeReference) {
    result.around = handle(c);
    result.name = string(number(c));
    return result;
  }
  if (h.kind != kTypeDefinition) {
    ok_ = false;
    return result;
  }
  (void)number(c);  // flags
  (void)handle(c);  // base type
  const std::uint32_t space_offset = number(c);
  result.name = string(number(c));
  (void)number(c);  // size
  (void)number(c);  // packing
  const std::uint32_t enclosing = number(c);
  result.around =
      enclosing != 0 ? AotHandle{kTypeDefinition, enclosing} : AotHandle{kNamespaceDefinition, space_offset};
  return result;
}

std::string AotMetadata::Reader::space(AotHandle h, unsigned depth) {
  if (!is_space(h)) return {};  // above the outermost namespace there is only the scope
  if (depth > kMaxDepth) return failed();
  Cursor c = enter(h.offset);
  const AotHandle parent = handle(c);
  const std::string own = string(number(c));
  const std::string above = ok_ ? space(parent, depth + 1) : std::string();
  return above.empty() ? own : above + "." + own;
}

std::string AotMetadata::Reader::named_type(AotHandle h, unsigned depth) {
  const Named n = named(h);
  if (!ok_ || depth > kMaxDepth) return failed();
  const Arity arity = split_arity(without_file_prefix(n.name));
  if (n.around.is_null()) return std::string(arity.name);  // a type parameter
  if (!is_space(n.around)) return named_type(n.around, depth + 1) + "." + std::string(arity.name);
  const std::string keyword = keyword_of(space(n.around, depth + 1), n.name);
  return keyword.empty() ? std::string(arity.name) : keyword;
}

std::string AotMetadata::Reader::instance(AotHandle h, unsigned depth) {
  Cursor c = enter(h.offset);
  const AotHandle generic = handle(c);
  std::vector<std::string> all;
  for (const AotHandle& a : handles(c)) all.push_back(ok_ ? type(a, depth + 1) : std::string());
  const std::string own = ok_ ? type(generic, depth + 1) : std::string();
  if (own == "Nullable" && all.size() == 1) return all[0] + "?";
  return own + "<" + joined(all) + ">";
}

std::string AotMetadata::Reader::unbounded_type(AotHandle h, unsigned depth) {
  if (!ok_ || depth > kMaxDepth) return failed();
  if (h.kind == kTypeDefinition || h.kind == kTypeReference) return named_type(h, depth);
  if (h.kind == kTypeInstantiationSignature) return instance(h, depth);
  Cursor c = enter(h.offset);
  switch (h.kind) {
    case kTypeSpecification:
      return type(handle(c), depth + 1);
    case kSzArraySignature:
      return type(handle(c), depth + 1) + "[]";
    case kPointerSignature:
      return type(handle(c), depth + 1) + "*";
    case kByReferenceSignature:
      return "ref " + type(handle(c), depth + 1);
    case kTypeVariableSignature:
      return variable(class_arguments_, number(c), "!");
    case kMethodTypeVariableSignature:
      return variable(method_arguments_, number(c), "!!");
    case kModifiedType:
      (void)number(c);  // whether it is optional
      (void)handle(c);
      return type(handle(c), depth + 1);
    case kArraySignature: {
      const std::string element = type(handle(c), depth + 1);
      const std::uint32_t rank = number(c);
      return rank == 0 || rank > 32 ? failed() : element + "[" + std::string(rank - 1, ',') + "]";
    }
    case kFunctionPointerSignature:
      return "delegate*";
    default:
      return failed();
  }
}

std::string AotMetadata::Reader::owner(AotHandle h, bool raw, unsigned depth) {
  if (!ok_ || depth > kMaxDepth) return failed();
  if (h.kind == kTypeSpecification) {
    Cursor c = enter(h.offset);
    return owner(handle(c), raw, depth + 1);
  }
  if (h.kind == kTypeInstantiationSignature) {
    Cursor c = enter(h.offset);
    const AotHandle generic = handle(c);
    std::vector<std::string> all;
    for (const AotHandle& a : handles(c)) all.push_back(ok_ ? type(a, depth + 1) : std::string());
    const std::string own = owner(generic, raw, depth + 1);
    class_arguments_ = all;
    return raw ? own + "[" + joined(all) + "]" : own + "<" + joined(all) + ">";
  }
  if (h.kind != kTypeDefinition && h.kind != kTypeReference) return type(h, depth);
  const Named n = named(h);
  if (!ok_) return {};
  const std::string own = raw ? n.name : std::string(split_arity(without_file_prefix(n.name)).name);
  if (!n.around.is_null() && !is_space(n.around)) return owner(n.around, raw, depth + 1) + (raw ? "+" : ".") + own;
  const std::string above = space(n.around, depth + 1);
  return above.empty() ? own : above + "." + own;
}

std::string AotMetadata::Reader::parameters(std::uint32_t signature) {
  Cursor c = enter(signature);
  (void)number(c);  // calling convention
  (void)number(c);  // generic parameters
  (void)handle(c);  // return type
  std::vector<std::string> all;
  for (const AotHandle& p : handles(c)) all.push_back(ok_ ? type(p, 0) : std::string());
  return "(" + joined(all) + ")";
}

std::string AotMetadata::Reader::arguments(std::uint32_t list) {
  Cursor c = enter(list);
  std::vector<std::string> all;
  for (const AotHandle& h : handles(c)) all.push_back(ok_ ? string(h.offset) : std::string());
  method_arguments_ = all;
  return "<" + joined(all) + ">";
}

std::optional<AotMetadata::Text> AotMetadata::method(const Method& method) const {
  Reader reader(blob_);
  Text text;
  text.owner = reader.owner(method.owner, false, 0);
  text.raw_owner = reader.owner(method.owner, true, 0);
  text.method = reader.string(method.name);
  if (method.arguments != 0) text.arguments = reader.arguments(method.arguments);
  text.parameters = reader.parameters(method.signature);
  const std::size_t size =
      text.owner.size() + text.method.size() + text.arguments.size() + text.parameters.size() + text.raw_owner.size();
  if (!reader.ok() || text.method.empty() || text.owner.empty() || size > kMaxAnswer) return std::nullopt;
  return text;
}

namespace {

/// `Ns.Outer`1+Inner` and the names of arguments, those of the outermost type first.
std::optional<std::string> with_arguments(std::string_view raw, std::span<const std::string> arguments) {
  std::string text;
  std::size_t used = 0;
  while (!raw.empty()) {
    const std::size_t end = std::min(raw.find('+'), raw.size());
    const std::string_view part = raw.substr(0, end);
    raw.remove_prefix(std::min(end + 1, raw.size()));
    const std::size_t dot = text.empty() ? part.rfind('.') + 1 : 0;
    const Arity arity = split_arity(without_file_prefix(part.substr(dot)));
    if (arity.count > arguments.size() - used) return std::nullopt;
    text.append(text.empty() ? "" : ".").append(part.substr(0, dot)).append(arity.name);
    if (arity.count != 0) {
      const auto own = arguments.subspan(used, arity.count);
      text += "<" + joined({own.begin(), own.end()}) + ">";
      used += arity.count;
    }
    if (text.size() > kMaxAnswer) return std::nullopt;
  }
  return used == arguments.size() ? std::optional(std::move(text)) : std::nullopt;
}

std::optional<std::string> short_form(std::string_view raw, std::span<const std::string> arguments) {
  constexpr std::size_t kMostOfTuple = 7;
  if (raw == bcl::kNullable && arguments.size() == 1) return arguments[0] + "?";
  if (raw.starts_with(bcl::kValueTuple) && raw.find('+') == std::string_view::npos && arguments.size() >= 2 &&
      arguments.size() <= kMostOfTuple)
    return "(" + joined({arguments.begin(), arguments.end()}) + ")";
  if (!arguments.empty() || !raw.starts_with(bcl::kSystem)) return std::nullopt;
  std::string keyword = keyword_of("System", raw.substr(bcl::kSystem.size()));
  return keyword.empty() ? std::nullopt : std::optional(std::move(keyword));
}

}  // namespace

std::optional<std::string> AotMetadata::type(AotHandle type, std::span<const std::string> arguments) const {
  if (type.kind != kTypeDefinition && type.kind != kTypeReference) return std::nullopt;
  Reader reader(blob_);
  const std::string raw = reader.owner(type, true, 0);
  if (!reader.ok() || raw.empty() || raw.size() > kMaxAnswer) return std::nullopt;
  auto text = short_form(raw, arguments);
  if (!text) text = with_arguments(raw, arguments);
  return text && text->size() <= kMaxAnswer ? text : std::nullopt;
}

}  // namespace mixstack::dotnet::names
