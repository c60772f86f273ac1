#include "session/native_aot.h"

#include <algorithm>
#include <utility>

#include "base/memory/cached_memory.h"
#include "dotnet/runtime/aot_threads.h"

namespace mixstack::session {
namespace {

dotnet::AotThreads read_list(const NativeAot& aot, const MemoryReader& memory) {
  return aot.descriptor ? dotnet::read_aot_threads(memory, *aot.descriptor)
                        : dotnet::read_aot_threads(memory, aot.debug_header);
}

/// The list as the runtime keeps it: by now it may be another one than at the capture, and change while it is read.
dotnet::AotThreads whole_list(const NativeAot& aot, const MemoryReader& captured, const MemoryReader* now) {
  constexpr int kTries = 4;
  auto found = read_list(aot, captured);
  for (int i = 1; i < kTries && now != nullptr && found.error.code != ErrorCode::none; i++) {
    auto again = read_list(aot, *now);
    if (again.error.code == ErrorCode::none || again.os_ids.size() > found.os_ids.size()) found = std::move(again);
  }
  return found;
}

std::string_view why_incomplete(const Error& error) {
  if (error.code == ErrorCode::contract_unsupported)
    return "the runtime lists its threads by a version of its contract that is not known: none is marked as managed";
  return "the runtime's list of its threads cannot be read to its end: more threads than those marked may be managed";
}

/// The descriptor that the image exports, if it is of such a runtime.
std::optional<dotnet::Descriptor> aot_descriptor(const images::ElfImage& image, const images::Module& module,
                                                 const MemoryReader& memory) {
  const auto symbol = image.dynamic_symbol(dotnet::kDescriptorSymbol);
  if (!symbol) return std::nullopt;
  const memory::CachedMemory pages(memory);
  auto descriptor = dotnet::Descriptor::read(pages, module.load_bias + *symbol);
  if (!descriptor || !descriptor->is_native_aot()) return std::nullopt;
  return std::move(*descriptor);
}

std::string version_of(const dotnet::Descriptor& descriptor) {
  constexpr std::size_t kLongest = 64;
  return std::string(descriptor.global_text("RuntimeProductVersionString").value_or("").substr(0, kLongest));
}

class LinesOfAot final : public NameProvider {
 public:
  LinesOfAot(std::shared_ptr<NameProvider> names, symbols::DwarfSymbols& lines)
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
  symbols::DwarfSymbols& lines_;
  std::vector<SymbolInfo> inlined_;
};

}  // namespace

std::optional<NativeAot> find_native_aot(const images::ModuleMap& modules, std::string_view executable,
                                         const MemoryReader& memory) {
  for (ModuleIndex i = 0; i < modules.modules().size(); i++) {
    const images::Module& module = modules.modules()[i];
    if (module.path != executable || module.kind != images::ModuleKind::elf) continue;
    const auto image = modules.image(i);
    if (!image) continue;
    NativeAot found;
    found.module = i;
    if (const auto header = (*image)->dynamic_symbol("DotNetRuntimeDebugHeader"))
      found.debug_header = module.load_bias + *header;
    else
      found.descriptor = aot_descriptor(**image, module, memory);
    if (found.debug_header == 0 && !found.descriptor) continue;
    found.summary.kind = "NativeAOT";
    found.summary.module_path = module.path;
    found.summary.base = module.load_bias;
    found.summary.walkable = true;
    if (found.descriptor) found.summary.version = version_of(*found.descriptor);
    return found;
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

std::shared_ptr<NameProvider> with_lines(std::shared_ptr<NameProvider> names, symbols::DwarfSymbols& lines) {
  return std::make_shared<LinesOfAot>(std::move(names), lines);
}

}  // namespace mixstack::session
