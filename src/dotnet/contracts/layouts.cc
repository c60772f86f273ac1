#include "dotnet/contracts/layouts.h"

#include <string>

#include "base/arch/per_cpu.h"

namespace mixstack::dotnet {
namespace {

/// Fills in what a descriptor tells.
class Resolver {
 public:
  explicit Resolver(const Descriptor& d) : d_(d) {}
  void type(std::string_view name) { type_ = d_.type(name); }
  void type(std::string_view name, std::uint32_t& size) {
    type(name);
    size = d_.size_of(name).value_or(0);
  }
  template <class... Needs>
  void field(Field& out, std::string_view name, Needs...) const {
    if (type_ == nullptr) return;
    if (const auto it = type_->fields.find(name); it != type_->fields.end()) out.offset = it->second.offset;
  }
  void global(Global& out, std::string_view name) const {
    if (const auto n = d_.global_number(name)) out = {*n, true};
  }

 private:
  const Descriptor& d_;
  decltype(std::declval<const Descriptor&>().type({})) type_ = nullptr;
};

/// Lists what contracts need.
class NeedsOfContracts {
 public:
  void type(std::string_view name) { type_ = name; }
  void type(std::string_view name, std::uint32_t&) { type_ = name; }
  template <class... Needs>
  void field(Field&, [[maybe_unused]] std::string_view name, Needs... contracts) {
    (found.push_back({contracts, type_, name}), ...);
  }
  void global(Global&, std::string_view) {}
  std::vector<NeededField> found;

 private:
  std::string_view type_;
};

// RuntimeInfo contract: the Architecture global (docs/design/datacontracts/RuntimeInfo.md).
Arch arch_of(const Descriptor& d) {
  constexpr arch::PerCpu<std::string_view> kNames{.x86_64 = "x64", .aarch64 = "arm64", .x86 = "x86", .arm = "arm"};
  const auto name = d.global_text("Architecture");
  return name ? kNames.find(*name) : Arch::unknown;
}

// clr_config's OperatingSystem: 0 or "win" is Windows, 1 or "unix" any Unix (RuntimeInfo.md).
bool windows_of(const Descriptor& d) {
  const auto text = d.global_text("OperatingSystem");
  if (text && (*text == "win" || *text == "windows")) return true;
  return d.global_number("OperatingSystem") == 0u;
}

// "server, regions, background, dynamic_heap".
bool is_server(const Descriptor& d) {
  const auto text = d.global_text("GCIdentifiers");
  return text && text->starts_with("server");
}

}  // namespace

std::vector<NeededField> needed_fields() {
  NeedsOfContracts needs;
  Layouts layouts;
  layouts.describe(needs);
  return std::move(needs.found);
}

Layouts resolve_layouts(const Descriptor& d) {
  Layouts l;
  l.arch = arch_of(d);
  l.is_native_aot = d.is_native_aot();
  l.is_windows = windows_of(d);
  l.pointer_size = d.pointer_size();
  l.algorithms = choose_algorithms(d);
  Resolver resolver(d);
  l.describe(resolver);
  l.collector.globals.is_server = is_server(d);
  update_thread_extent(l.thread);
  l.callee_saved_registers = register_block(d, l.arch, "CalleeSavedRegisters");
  l.argument_registers = register_block(d, l.arch, "ArgumentRegisters");
  l.hijack_args.registers = register_block(d, l.arch, "HijackArgs");
  for (std::size_t i = 1; i < kFrameTypes; i++) {
    const std::string name(frame_type_name(static_cast<FrameType>(i)));
    l.frame_identifiers[i] = d.global_number(name + "Identifier").value_or(0);
    l.frame_vtables[i] = d.global_number(name + "VTable").value_or(0);
    if (l.frame_vtables[i] != 0) l.frames_have_vtables = true;
  }
  return l;
}

}  // namespace mixstack::dotnet
