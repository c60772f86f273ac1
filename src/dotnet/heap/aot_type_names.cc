#include "dotnet/heap/aot_type_names.h"

#include <algorithm>
#include <span>
#include <vector>

namespace mixstack::dotnet::objects {
namespace {

using Kind = AotMethodTable::Kind;
using Element = AotMethodTable::Element;

constexpr unsigned kMostDepth = 16, kMostParts = 256;
constexpr std::uint32_t kMostRank = 32;
constexpr std::size_t kMostText = 4096;

/// `int[,][]` is an array of arrays: the outer brackets come first.
std::string array_of(const std::string& element, const AotMethodTable& table) {
  const std::uint32_t rank = std::min(table.rank(), kMostRank);
  const std::string own =
      table.element() == Element::array && rank == 1 ? "[*]" : "[" + std::string(rank - 1, ',') + "]";
  std::size_t inner = element.size();
  while (inner >= 2 && element[inner - 1] == ']') {
    const std::size_t open = element.rfind('[', inner - 1);
    if (open == std::string::npos) break;
    inner = open;
  }
  return element.substr(0, inner) + own + element.substr(inner);
}

}  // namespace

std::string AotTypeNames::part(Address method_table, unsigned depth, unsigned& parts) {
  const auto table = read_aot_method_table(memory_, method_table);
  if (!table || depth > kMostDepth || ++parts > kMostParts) return "?";
  std::string text;
  if (table->is_of_statics()) {
    text = "(statics of a type)";
  } else if (table->kind() == Kind::function_pointer) {
    text = "delegate*";
  } else if (table->kind() == Kind::parameterized) {
    const std::string element = part(table->related, depth + 1, parts);
    text = table->is_array() ? array_of(element, *table) : element + (table->element() == Element::pointer ? "*" : "&");
  } else {
    std::vector<std::string> arguments;
    const auto instance = aot_instance(memory_, *table);
    if (instance)
      for (const Address a : instance->arguments) arguments.push_back(part(a, depth + 1, parts));
    const bool is_known = types_ && (instance || !table->has(AotMethodTable::kGeneric));
    const auto named =
        is_known ? types_->name(instance ? instance->definition : method_table, arguments) : std::nullopt;
    text = named ? *named : place_(method_table);
  }
  return text.size() > kMostText ? "?" : text;
}

std::string AotTypeNames::name(Address method_table) {
  unsigned parts = 0;
  std::string text = part(method_table, 0, parts);
  return text == "?" || parts > kMostParts ? place_(method_table) : text;
}

}  // namespace mixstack::dotnet::objects
