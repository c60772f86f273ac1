#include "dotnet/runtime/aot_symbols.h"

namespace mixstack::dotnet {
namespace {

// Where the linker gathers a pointer to each module's ReadyToRun header, and the compiler its code
// (src/coreclr/nativeaot/Bootstrap/main.cpp).
constexpr std::string_view kModulesSection = "__modules", kCodeSection = "__managedcode";

Result<std::vector<std::byte>> bytes_of(const MemoryReader& memory, const AddressRange& range) {
  std::vector<std::byte> bytes(range.size());
  if (auto r = memory.read_exact(range.begin, bytes); !r) return fail(r.error());
  return bytes;
}

}  // namespace

std::shared_ptr<AotSymbols> AotSymbols::open(const images::ModuleMap& modules, ModuleIndex module,
                                             const MemoryReader& memory,
                                             std::shared_ptr<const unwind::UnwindTable> functions) {
  const auto image = modules.image(module);
  if (!image || !(*image)->is_64_bit() || functions == nullptr) return nullptr;
  const auto list = (*image)->section(kModulesSection);
  const auto managed = (*image)->section(kCodeSection);
  if (!list || !managed) return nullptr;
  const Address bias = modules.modules()[module].load_bias;
  const AddressRange code{bias + managed->address, bias + managed->address + managed->size};
  const auto header = memory.read<std::uint64_t>(bias + list->address);
  const auto blobs = header ? names::find_aot_blobs(memory, *header) : std::nullopt;
  if (!blobs || blobs->methods.empty()) return nullptr;
  auto metadata = bytes_of(memory, blobs->metadata);
  auto map = bytes_of(memory, blobs->methods);
  if (!metadata || !map) return nullptr;
  auto methods = names::AotMethods::parse(std::move(*metadata), std::move(*map), blobs->methods.begin, code);
  if (!methods) return nullptr;
  return std::shared_ptr<AotSymbols>(new AotSymbols(modules, module, std::move(*methods), std::move(functions)));
}

std::optional<SymbolInfo> AotSymbols::describe(const Frame& frame) {
  if (frame.kind != FrameKind::native || modules_.find(frame.pc.lookup()) != module_) return std::nullopt;
  const images::Module& module = modules_.modules()[module_];
  const auto function = functions_->function_at(module.link_address(frame.pc.lookup()));
  if (!function) return std::nullopt;
  const Address start = module.load_bias + function->begin;
  auto name = methods_.name(start);
  if (!name) return std::nullopt;
  SymbolInfo info;
  info.name = std::move(name->name);
  info.raw_name = std::move(name->raw_name);
  info.module_path = module.path;
  info.module = module.path.substr(module.path.rfind('/') + 1);
  info.build_id = modules_.build_id(module_).hex();
  info.offset = frame.pc.raw() - start;
  return info;
}

}  // namespace mixstack::dotnet
