// LINK: mixstack_dotnet_names
// Any bytes as metadata: open, then ask every question a name asks of the first rows of every table.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "dotnet/names/csharp_method.h"
#include "dotnet/names/method_origin.h"
#include "dotnet/names/raw_format.h"

using namespace mixstack::dotnet::names;

namespace {

constexpr std::uint32_t kRows = 24;

void ask_types(const Metadata& m) {
  for (std::uint32_t rid = 0; rid <= std::min(kRows, m.row_count(TableId::type_def)); rid++) {
    const Token token(TableId::type_def, rid);
    (void)nesting_chain(&m, token);
    (void)m.generic_params_of(token);
    (void)m.custom_attributes_of(token);
    (void)state_machine_kind(m, rid);
    (void)outside_closures(m, rid);
  }
}

void ask_methods(const Metadata& m) {
  TypeTree tree;
  for (std::uint32_t rid = 0; rid <= std::min(kRows, m.row_count(TableId::method_def)); rid++) {
    tree.clear();
    BoundedText text(2048);
    const std::uint32_t owner = m.type_of_method(rid);
    append_csharp_method(text, tree, {&m, rid, owner, {}, {}, nullptr, 8}, true);
    (void)std::move(text).take();
    BoundedText raw(2048);
    if (auto s = read_method_signature(m.blob_cell(TableId::method_def, rid, 4), {&m, nullptr, 8}, tree))
      append_raw_parameters(raw, tree, *s);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto metadata = Metadata::open(MetadataBytes::borrow(std::as_bytes(std::span(data, size)), nullptr));
  if (!metadata) return 0;
  const Metadata& m = **metadata;
  (void)m.mvid();
  (void)m.module_name();
  (void)m.assembly_name();
  ask_types(m);
  ask_methods(m);
  for (std::uint32_t rid = 0; rid <= std::min(kRows, m.row_count(TableId::member_ref)); rid++) (void)m.member_ref(rid);
  for (std::uint32_t at = 0; at < 64; at++) {
    (void)m.user_string(at);
    (void)m.blob(at);
    (void)m.string(at);
  }
  return 0;
}
