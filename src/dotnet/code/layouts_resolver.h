// Internal to layouts*.cc: from names to offsets.
#pragma once

#include <initializer_list>
#include <string_view>
#include <utility>

#include "dotnet/code/layouts.h"

namespace mixstack::dotnet {

class LayoutResolver {
 public:
  explicit LayoutResolver(const Descriptor& d) : d_(d) {}

  void fields(std::string_view type, std::initializer_list<std::pair<Field*, std::string_view>> wanted) const {
    const auto* t = d_.type(type);
    if (t == nullptr) return;
    for (const auto& [field, name] : wanted) {
      auto it = t->fields.find(name);
      if (it != t->fields.end()) field->offset = it->second.offset;
    }
  }
  void size(std::string_view type, std::uint32_t& out) const { out = d_.size_of(type).value_or(0); }
  void global(Global& out, std::string_view name) const {
    if (auto n = d_.global_number(name)) out = {*n, true};
  }
  [[nodiscard]] const Descriptor& descriptor() const { return d_; }

 private:
  const Descriptor& d_;
};

void resolve_thread_layouts(const LayoutResolver& r, Layouts& l);
void resolve_type_layouts(const LayoutResolver& r, Layouts& l);
void resolve_code_layouts(const LayoutResolver& r, Layouts& l);
void resolve_frame_layouts(const LayoutResolver& r, Layouts& l);
void resolve_globals(const LayoutResolver& r, GlobalValues& g);

}  // namespace mixstack::dotnet
