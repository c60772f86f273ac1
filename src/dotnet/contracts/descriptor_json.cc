// The compact JSON of a contract descriptor (docs/design/datacontracts/data_descriptor.md and
// ContractDescriptorParser.cs in dotnet/runtime: what the vendor's reader accepts).
#include <charconv>
#include <nlohmann/json.hpp>

#include "dotnet/contracts/descriptor.h"

namespace mixstack::dotnet {
namespace {

using Json = nlohmann::json;

// Nesting of brackets outside strings: known before any parser sees the text.
bool nested_too_deep(std::string_view text) {
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); i++) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') i++;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > Descriptor::kMaxDepth) return true;
    } else if ((c == '}' || c == ']') && depth > 0) {
      depth--;
    }
  }
  return false;
}

// Decimal or 0x-hexadecimal, possibly negated (two's complement).
std::optional<std::uint64_t> number_in(std::string_view text) {
  const bool negative = !text.empty() && text[0] == '-';
  if (negative) text.remove_prefix(1);
  int base = 10;
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
    base = 16;
    text.remove_prefix(2);
  }
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return negative ? 0 - value : value;
}

std::optional<std::uint64_t> number_of(const Json& j) {
  if (j.is_number_unsigned()) return *j.get_ptr<const Json::number_unsigned_t*>();
  if (j.is_number_integer()) return static_cast<std::uint64_t>(*j.get_ptr<const Json::number_integer_t*>());
  if (j.is_string()) return number_in(*j.get_ptr<const Json::string_t*>());
  return std::nullopt;
}

std::optional<std::uint32_t> small_number_of(const Json& j) {
  const auto n = number_of(j);
  if (!n || *n > 0x7fffffff) return std::nullopt;
  return static_cast<std::uint32_t>(*n);
}

std::optional<FieldDescriptor> field_of(const Json& j) {
  const Json& number = j.is_array() && !j.empty() ? j[0] : j;
  const auto offset = small_number_of(number);
  if (!offset) return std::nullopt;
  FieldDescriptor f{*offset, {}};
  if (j.is_array() && j.size() > 1 && j[1].is_string()) f.type = *j[1].get_ptr<const Json::string_t*>();
  return f;
}

// 1 or "c1".
std::optional<ContractVersion> version_of(const Json& j) {
  ContractVersion version;
  std::optional<std::uint64_t> number;
  if (j.is_string()) {
    std::string_view text = *j.get_ptr<const Json::string_t*>();
    if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') {
      version.letter = text[0];
      text.remove_prefix(1);
    }
    number = number_in(text);
  } else {
    number = small_number_of(j);
  }
  if (!number || *number > 0x7fffffff) return std::nullopt;
  version.number = static_cast<std::uint32_t>(*number);
  return version;
}

const Json* member(const Json& object, const char* name) {
  auto it = object.find(name);
  return it == object.end() ? nullptr : &*it;
}

}  // namespace

class DescriptorJson {
 public:
  DescriptorJson(Descriptor& out, std::span<const std::uint64_t> pointers) : out_(out), pointers_(pointers) {}

  Diagnosed<void> read(const Json& root) {
    if (!root.is_object()) return refuse(ErrorCode::malformed, "descriptor JSON");
    if (auto r = format(root); !r) return r;
    if (auto r = baseline(root); !r) return r;
    if (auto r = types(root); !r) return r;
    if (auto r = globals(root); !r) return r;
    if (auto r = contracts(root); !r) return r;
    return sub_descriptors(root);
  }

 private:
  Diagnosed<void> format(const Json& root) {
    const Json* v = member(root, "version");
    if (v == nullptr) return {};
    const auto number = number_of(*v);
    // NOLINTNEXTLINE(misc-redundant-expression): two numbers, of one kind
    if (number != Descriptor::kFormatOfNumbers && number != Descriptor::kFormatOfLetters)
      return refuse(ErrorCode::unsupported, "descriptor format version", number.value_or(~0ull));
    out_.format_ = static_cast<std::uint32_t>(*number);
    return {};
  }

  static Diagnosed<void> baseline(const Json& root) {
    const Json* b = member(root, "baseline");
    if (b == nullptr || b->is_null()) return {};
    const auto one = [](const Json& j) -> Diagnosed<void> {
      if (!j.is_string()) return refuse(ErrorCode::malformed, "baseline");
      const auto& name = *j.get_ptr<const Json::string_t*>();
      if (name.empty() || name == "empty") return {};
      return refuse(ErrorCode::unsupported, "baseline " + name.substr(0, 64));
    };
    if (!b->is_array()) return one(*b);
    for (const Json& j : *b)
      if (auto r = one(j); !r) return r;
    return {};
  }

  Diagnosed<void> types(const Json& root) {
    const Json* all = member(root, "types");
    if (all == nullptr) return {};
    if (!all->is_object()) return refuse(ErrorCode::malformed, "types");
    for (const auto& [name, value] : all->items()) {
      if (!value.is_object()) return refuse(ErrorCode::malformed, name);
      TypeDescriptor type;
      for (const auto& [field, where] : value.items()) {
        if (field == "!") {
          type.size = small_number_of(where);
          if (!type.size) return refuse(ErrorCode::malformed, name + ".!");
          continue;
        }
        auto f = field_of(where);
        if (!f) return refuse(ErrorCode::malformed, name + "." + field);
        type.fields.emplace(field, std::move(*f));
      }
      out_.types_.emplace(name, std::move(type));
    }
    return {};
  }

  // value | [index] | [value, "type"] | [[index], "type"]
  [[nodiscard]] std::optional<GlobalDescriptor> global_of(const Json& j) const {
    GlobalDescriptor g;
    const Json* value = &j;
    if (j.is_array()) {
      if (j.empty() || j.size() > 2) return std::nullopt;
      value = &j[0];
      g.indirect = j.size() == 1 || value->is_array();
      if (value->is_array()) {
        if (value->size() != 1) return std::nullopt;
        value = &(*value)[0];
      }
    }
    g.number = number_of(*value);
    if (g.indirect) {
      if (!g.number || *g.number >= pointers_.size()) return std::nullopt;
      g.number = pointers_[static_cast<std::size_t>(*g.number)];
      return g;
    }
    if (value->is_string()) g.text = *value->get_ptr<const Json::string_t*>();
    if (!g.number && !g.text) return std::nullopt;
    return g;
  }

  Diagnosed<void> globals(const Json& root) {
    const Json* all = member(root, "globals");
    if (all == nullptr) return {};
    if (!all->is_object()) return refuse(ErrorCode::malformed, "globals");
    for (const auto& [name, value] : all->items()) {
      auto g = global_of(value);
      if (!g) return refuse(ErrorCode::malformed, name);
      out_.globals_.emplace(name, std::move(*g));
    }
    return {};
  }

  Diagnosed<void> contracts(const Json& root) {
    const Json* all = member(root, "contracts");
    if (all == nullptr) return {};
    if (!all->is_object()) return refuse(ErrorCode::malformed, "contracts");
    for (const auto& [name, value] : all->items()) {
      const auto version = version_of(value);
      if (!version) return refuse(ErrorCode::malformed, name);
      out_.contracts_.emplace(name, *version);
    }
    return {};
  }

  Diagnosed<void> sub_descriptors(const Json& root) {
    const Json* all = member(root, "subDescriptors");
    if (all == nullptr) return {};
    if (!all->is_object()) return refuse(ErrorCode::malformed, "subDescriptors");
    for (const auto& [name, value] : all->items()) {
      auto g = global_of(value);
      if (!g) return refuse(ErrorCode::malformed, name);
      if (g->indirect && *g->number != 0) out_.sub_descriptors_.push_back(*g->number);
    }
    return {};
  }

  Descriptor& out_;
  std::span<const std::uint64_t> pointers_;
};

Diagnosed<Descriptor> Descriptor::parse(std::span<const std::byte> json, std::span<const std::uint64_t> pointers,
                                        unsigned pointer_size) {
  if (json.size() > kMaxJsonBytes) return refuse(ErrorCode::limit_exceeded, "descriptor size", json.size());
  std::string_view text(reinterpret_cast<const char*>(json.data()), json.size());
  while (!text.empty() && text.back() == '\0') text.remove_suffix(1);
  if (nested_too_deep(text)) return refuse(ErrorCode::limit_exceeded, "descriptor JSON depth");
  const Json root =
      Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false, /*ignore_comments=*/true);
  if (root.is_discarded()) return refuse(ErrorCode::malformed, "descriptor JSON");
  Descriptor d;
  d.pointer_size_ = pointer_size;
  if (auto r = DescriptorJson(d, pointers).read(root); !r) return tl::unexpected(r.error());
  return d;
}

}  // namespace mixstack::dotnet
