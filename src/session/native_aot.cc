#include "session/native_aot.h"

#include <algorithm>
#include <utility>

#include "dotnet/runtime/aot_threads.h"

namespace mixstack::session {
namespace {

/// The list as the runtime keeps it: by now it may be another one than at the capture, and change while it is read.
dotnet::AotThreads whole_list(const NativeAot& aot, const MemoryReader& captured, const MemoryReader* now) {
  constexpr int kTries = 4;
  auto found = dotnet::read_aot_threads(captured, aot.debug_header);
  for (int i = 1; i < kTries && now != nullptr && found.error.code != ErrorCode::none; i++) {
    auto again = dotnet::read_aot_threads(*now, aot.debug_header);
    if (again.error.code == ErrorCode::none || again.os_ids.size() > found.os_ids.size()) found = std::move(again);
  }
  return found;
}

std::string_view why_incomplete(const Error& error) {
  if (error.code == ErrorCode::contract_unsupported)
    return "the runtime lists its threads by a version of its contract that is not known: none is marked as managed";
  return "the runtime's list of its threads cannot be read to its end: more threads than those marked may be managed";
}

class LinesOfAot final : public NameProvider {
 public:
  LinesOfAot(std::shared_ptr<NameProvider> names, symbolize::DwarfSymbols& lines)
      : names_(std::move(names)), lines_(lines) {}
  [[nodiscard]] std::string_view provider_name() const override { return names_->provider_name(); }
  [[nodiscard]] std::optional<SymbolInfo> describe(const Frame& frame) override {
    inlined_.clear();
    auto info = names_->describe(frame);
    if (!info) return info;
    if (const auto native = lines_.describe(frame)) {
      info->file = native->file;
      info->line = native->line;
      inlined_ = lines_.describe_inlined(frame);
    }
    return info;
  }
  [[nodiscard]] std::vector<SymbolInfo> describe_inlined(const Frame&) override { return std::move(inlined_); }

 private:
  std::shared_ptr<NameProvider> names_;
  symbolize::DwarfSymbols& lines_;
  std::vector<SymbolInfo> inlined_;
};

}  // namespace

std::optional<NativeAot> find_native_aot(const object::ModuleMap& modules, std::string_view executable) {
  for (ModuleIndex i = 0; i < modules.modules().size(); i++) {
    const object::Module& module = modules.modules()[i];
    if (module.path != executable || module.kind != object::ModuleKind::elf) continue;
    const auto image = modules.image(i);
    const auto header = image ? (*image)->dynamic_symbol("DotNetRuntimeDebugHeader") : std::nullopt;
    if (!header) continue;
    RuntimeSummary summary;
    summary.kind = "NativeAOT";
    summary.module_path = module.path;
    summary.base = module.load_bias;
    summary.walkable = true;
    return NativeAot{std::move(summary), i, module.load_bias + *header};
  }
  return std::nullopt;
}

void mark_aot_threads(const NativeAot& aot, const MemoryReader& captured, const MemoryReader* now, ProcessDump& dump) {
  dotnet::AotThreads found = whole_list(aot, captured, now);
  std::sort(found.os_ids.begin(), found.os_ids.end());
  for (ThreadDump& thread : dump.threads) {
    if (!thread.captured || !std::binary_search(found.os_ids.begin(), found.os_ids.end(), thread.ns_tid)) continue;
    thread.managed.emplace();
    thread.managed->is_only_listed = true;
  }
  if (found.error.code != ErrorCode::none)
    dump.diagnoses.push_back({found.error, "threads of NativeAOT", std::string(why_incomplete(found.error))});
}

std::shared_ptr<NameProvider> with_lines(std::shared_ptr<NameProvider> names, symbolize::DwarfSymbols& lines) {
  return std::make_shared<LinesOfAot>(std::move(names), lines);
}

}  // namespace mixstack::session
