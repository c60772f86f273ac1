#include "dotnet/dac/dac_names.h"

#include <algorithm>

namespace mixstack::dotnet::dac {
namespace {

/// `/app/System.Console.dll` is called System.Console.
std::string short_module(const std::string& path) {
  std::string name = path.substr(path.rfind('/') + 1);
  for (const std::string_view ending : {".dll", ".exe"})
    if (name.size() > ending.size() && name.ends_with(ending)) name.resize(name.size() - ending.size());
  return name;
}

/// The DAC's answer where it cannot read an assembly's metadata: "App.dll!Unknown".
bool is_unknown(std::string_view name) { return name.empty() || name.ends_with("!Unknown"); }

}  // namespace

std::optional<SymbolInfo> DacNames::describe(const Frame& frame) {
  switch (frame.kind) {
    case FrameKind::managed:
      return method(frame);
    case FrameKind::runtime_stub:
      return stub(frame);
    case FrameKind::runtime_frame: {
      const auto known = records_.find(frame.explicit_frame);
      if (known == records_.end()) return std::nullopt;
      return record(frame, types_[known->second]);
    }
    default:
      return std::nullopt;
  }
}

SymbolInfo DacNames::method(const Frame& frame) {
  const Description& d = provider_.describe(frame.pc);
  SymbolInfo info;
  if (!is_unknown(d.name)) info.name = info.raw_name = d.name;
  info.module = short_module(d.module_path);
  if (d.module_path.find('/') != std::string::npos) info.module_path = d.module_path;
  info.offset = frame.pc.raw() - frame.method_start;
  if (info.name.empty()) {
    info.note = "method could not be named";
  } else if (frame.is_funclet()) {
    // A fault handler may be the rest of a `finally`; only the IL would tell.
    info.note = to_string(frame.funclet == FuncletKind::fault ? FuncletKind::unknown : frame.funclet);
  }
  return info;
}

SymbolInfo DacNames::stub(const Frame& frame) {
  const Description& d = provider_.describe(frame.pc);
  SymbolInfo info;
  info.raw_name = d.name.empty() ? "unknown" : d.name;
  info.name = "[stub: " + info.raw_name + "]";
  info.offset = d.displacement;
  return info;
}

SymbolInfo DacNames::record(const Frame& frame, const std::string& type) {
  SymbolInfo info;
  info.raw_name = type.empty() ? "Frame" : type;
  info.name = "[" + info.raw_name + "]";
  if (frame.method == 0) return info;
  if (const std::string& target = provider_.describe_method(frame.method).name; !target.empty())
    info.name += " " + target;
  return info;
}

void DacNames::remember(std::span<const Element> elements) {
  for (const Element& e : elements)
    if (e.kind == ElementKind::record) records_.insert_or_assign(e.record, number_of(e.record_name));
}

std::uint32_t DacNames::number_of(const std::string& type) {
  const auto known = std::find(types_.begin(), types_.end(), type);
  if (known == types_.end() && types_.size() >= kMaxTypes) return 0;
  const auto number = static_cast<std::uint32_t>(known - types_.begin());
  if (known == types_.end()) types_.push_back(type);
  return number;
}

std::uint32_t DacNames::type_of(Address record) const {
  const auto known = records_.find(record);
  return known == records_.end() ? 0 : known->second;
}

}  // namespace mixstack::dotnet::dac
