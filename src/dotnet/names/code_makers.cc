// Input: the metadata of a module and the IL of the methods of one outermost type and of all types in it (and of F#'s
// startup code, which makes what values of modules need). Output: for each piece of made code the methods whose IL
// refers to it; from these, climbing out of made code, the one method of the source.
// Order: one pass over the IL, a map lookup for each step of a climb.
// Bounds: types, methods, bytes of IL, makers of one piece, steps of a climb.
#include "dotnet/names/code_makers.h"

#include <algorithm>
#include <utility>

#include "dotnet/names/compressed.h"
#include "dotnet/names/generated_names.h"
#include "dotnet/names/il_body.h"
#include "dotnet/names/method_origin.h"

namespace mixstack::dotnet::names {
namespace {

constexpr unsigned kMaxNesting = 16, kMaxClimb = 16;
constexpr std::size_t kMaxMakers = 16, kMaxSeen = 256;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The number at the front of `text`, which is taken off; false where there is none.
bool take_number(std::string_view& text, std::uint32_t& number) {
  std::size_t n = 0;
  for (number = 0; n < text.size() && n < 9 && is_digit(text[n]); n++)
    number = number * 10 + static_cast<std::uint32_t>(text[n] - '0');
  text.remove_prefix(n);
  return n != 0;
}

std::string_view type_name(const Metadata& metadata, std::uint32_t type) {
  return metadata.string_cell(TableId::type_def, type, 1);
}
std::string_view method_name(const Metadata& metadata, std::uint32_t method) {
  return metadata.string_cell(TableId::method_def, method, 3);
}

bool is_startup(const Metadata& metadata, std::uint32_t type) {
  return metadata.string_cell(TableId::type_def, CodeMakers::outermost(metadata, type), 2).starts_with("<StartupCode$");
}

/// The TypeDef row that a TypeDef, or a TypeSpec of an instantiation of one (II.23.2.14), names; 0: another's.
std::uint32_t own_type(const Metadata& metadata, Token token) {
  if (token.table() == TableId::type_def) return token.rid();
  if (token.table() != TableId::type_spec) return 0;
  constexpr unsigned kInstance = 0x15;
  const auto blob = metadata.blob_cell(TableId::type_spec, token.rid(), 0);
  if (blob.size() < 3 || std::to_integer<unsigned>(blob[0]) != kInstance) return 0;
  const CompressedUnsigned coded = read_compressed(blob.subspan(2));
  return coded.size != 0 && (coded.value & 3) == 0 ? coded.value >> 2 : 0;
}

/// The type that declares a field.
std::uint32_t type_of_field(const Metadata& metadata, std::uint32_t field) {
  std::uint32_t low = 1, high = metadata.row_count(TableId::type_def) + 1;
  while (high - low > 1) {
    const std::uint32_t middle = low + (high - low) / 2;
    (metadata.cell(TableId::type_def, middle, 4) <= field ? low : high) = middle;
  }
  return low;
}

}  // namespace

FSharpName parse_fsharp(std::string_view name) {
  name = split_arity(name).name;
  const auto at = name.rfind('@');
  if (at == std::string_view::npos || at == 0) return {};
  FSharpName made{name.substr(0, at), 0};
  std::string_view rest = name.substr(at + 1);
  std::uint32_t line = 0;
  if (!take_number(rest, line)) return {};
  if (rest.empty()) return made;
  if (rest.front() != '-') return {};
  rest.remove_prefix(1);
  return take_number(rest, made.ordinal) && rest.empty() ? made : FSharpName{};
}

VbLambda parse_vb_lambda(std::string_view name) {
  constexpr std::string_view kPrefix = "_Lambda$__";
  if (!name.starts_with(kPrefix)) return {};
  name.remove_prefix(kPrefix.size());
  if (name.starts_with('R')) name.remove_prefix(1);  // it fits a delegate of another shape
  VbLambda lambda;
  if (!take_number(name, lambda.ordinal)) return {};
  if (name.starts_with('-')) {  // that was the number of the member, which the class around has instead
    name.remove_prefix(1);
    if (!take_number(name, lambda.ordinal)) return {};
  }
  lambda.is_one = name.empty() || name.front() == '#';
  return lambda;
}

std::uint32_t CodeMakers::outermost(const Metadata& metadata, std::uint32_t type) {
  for (unsigned n = 0; n < kMaxNesting; n++) {
    const std::uint32_t around = metadata.enclosing_type(type);
    if (around == 0) break;
    type = around;
  }
  return type;
}

CodeMakers::CodeMakers(std::shared_ptr<const Metadata> metadata, std::uint32_t type, const Body& body)
    : metadata_(std::move(metadata)) {
  const std::uint32_t scope = outermost(*metadata_, type);
  read_type(scope, body);
  const std::uint32_t nested = metadata_->row_count(TableId::nested_class);
  is_whole_ = is_whole_ && nested <= 4 * kMaxTypes;
  for (std::uint32_t r = 1; r <= nested && is_whole_; r++) {
    const std::uint32_t inner = metadata_->cell(TableId::nested_class, r, 0);
    if (outermost(*metadata_, inner) == scope) read_type(inner, body);
  }
  const std::uint32_t types = std::min(metadata_->row_count(TableId::type_def), 4 * kMaxTypes);
  for (std::uint32_t t = types; t > 0 && is_whole_; t--)  // they are the last ones
    if (metadata_->string_cell(TableId::type_def, t, 2).starts_with("<StartupCode$")) read_type(t, body);
}

void CodeMakers::read_type(std::uint32_t type, const Body& body) {
  const RowRange range = metadata_->methods_of(type);
  for (std::uint32_t p = range.first; p < range.last && is_whole_; p++) {
    const std::uint32_t method = metadata_->method_at(p);
    const std::uint32_t rva = metadata_->cell(TableId::method_def, method, 0);
    if (rva == 0) continue;
    const auto code = body(rva);
    if (!code) continue;
    bytes_ += static_cast<std::uint32_t>(code->size());
    is_whole_ = ++methods_ < kMaxMethods && bytes_ < kMaxBytes;
    const auto tokens = read_il_tokens(*code);
    if (!tokens) continue;
    for (const std::uint32_t token : *tokens) note(method, token);
  }
}

/// A class that is made has made methods; of others, only a method may be.
CodeMakers::Made CodeMakers::made_at(std::uint32_t method) const {
  const std::uint32_t type = metadata_->type_of_method(method);
  if (!parse_fsharp(type_name(*metadata_, type)).source.empty()) return {type, 0};
  const std::string_view name = method_name(*metadata_, method);
  return parse_vb_lambda(name).is_one || !parse_fsharp(name).source.empty() ? Made{0, method} : Made{};
}

void CodeMakers::note(std::uint32_t maker, std::uint32_t value) {
  Token token(value);
  Made made;
  if (token.table() == TableId::method_spec) token = metadata_->token_cell(TableId::method_spec, token.rid(), 0);
  if (token.table() == TableId::method_def) {
    made = made_at(token.rid());
  } else if (token.table() == TableId::member_ref) {  // of an instantiation: only such types of this module count
    const auto row = metadata_->member_ref(token.rid());
    const std::uint32_t type = row ? own_type(*metadata_, row->parent) : 0;
    if (type == 0) return;
    if (!parse_fsharp(type_name(*metadata_, type)).source.empty()) {
      made.type = type;
    } else if (parse_vb_lambda(row->name).is_one || !parse_fsharp(row->name).source.empty()) {
      made.method = find_only(*metadata_, type, row->name).method;
    }
  } else {
    const std::uint32_t type =
        token.table() == TableId::field ? type_of_field(*metadata_, token.rid()) : own_type(*metadata_, token);
    if (type != 0 && !parse_fsharp(type_name(*metadata_, type)).source.empty()) made.type = type;
  }
  if (made == Made{} || made == made_at(maker)) return;  // it refers to itself
  auto& all = makers_[made];
  if (all.size() <= kMaxMakers) all.insert(maker);
}

/// The state of a climb from generated code to methods of the source.
struct CodeMakers::Climb {
  std::string_view name;  ///< the binding that the code was called by
  std::set<Made> seen{};
  std::set<std::uint32_t> methods{};
  bool is_lost = false, is_of_startup = false, is_in_same_name = false;
};

void CodeMakers::climb(const Made& made, Climb& climb, unsigned depth) const {
  if (!climb.seen.insert(made).second) return;
  const auto makers = makers_.find(made);
  if (makers == makers_.end() || makers->second.size() > kMaxMakers || depth > kMaxClimb ||
      climb.seen.size() > kMaxSeen) {
    climb.is_lost = true;
    return;
  }
  for (std::uint32_t method : makers->second) {
    for (unsigned n = 0; n < kMaxClimb && made_at(method) == Made{}; n++) {  // from a state machine to its method
      const std::uint32_t type = metadata_->type_of_method(method);
      const GeneratedName machine = parse_generated(type_name(*metadata_, type));
      const std::uint32_t around = metadata_->enclosing_type(type);
      if (machine.kind != GeneratedKind::state_machine || around == 0) break;
      method = find_kickoff(*metadata_, around, machine.source, type).method;
      if (method == 0) break;
    }
    const Made outer = method == 0 ? Made{} : made_at(method);
    if (method == 0) {
      climb.is_lost = true;
    } else if (outer != Made{}) {
      const std::string_view name =
          outer.type != 0 ? type_name(*metadata_, outer.type) : method_name(*metadata_, outer.method);
      climb.is_in_same_name |= parse_fsharp(name).source == climb.name;
      this->climb(outer, climb, depth + 1);
    } else if (is_startup(*metadata_, metadata_->type_of_method(method))) {
      climb.is_of_startup = true;
    } else {
      climb.methods.insert(method);
    }
  }
}

CodeMakers::Source CodeMakers::source_of(std::uint32_t method) const {
  const Made made = made_at(method);
  if (made == Made{} || !is_whole_) return {};
  const std::string_view name =
      made.type != 0 ? type_name(*metadata_, made.type) : method_name(*metadata_, made.method);
  Climb found{parse_fsharp(name).source};
  climb(made, found, 0);
  if (found.is_lost || found.methods.size() + (found.is_of_startup ? 1 : 0) != 1) return {};
  return {found.is_of_startup ? 0 : *found.methods.begin(), found.is_of_startup, found.is_in_same_name};
}

}  // namespace mixstack::dotnet::names
