#include "dotnet/code/runtime.h"

#include <algorithm>
#include <charconv>

#include "memory/cached_memory.h"

namespace mixstack::dotnet {
namespace {

// The runtime's version string is in its data: "@(#)Version 10.0.1226.42308 @Commit: 9501..." (sccsid in
// eng/native/version, dotnet/arcade).
constexpr std::string_view kVersionMark = "@(#)Version ";
constexpr std::string_view kCommitMark = "@Commit: ";

std::string_view word_at(std::string_view text) {
  const auto end = text.find_first_of(std::string_view(" \0\n", 3));
  return text.substr(0, std::min<std::size_t>(end, 64));
}

bool version_in(std::string_view text, RuntimeImage& image) {
  const auto at = text.find(kVersionMark);
  if (at == std::string_view::npos) return false;
  text = text.substr(at + kVersionMark.size(), 256);
  image.version = word_at(text);
  text = text.substr(0, text.find('\0'));
  if (const auto commit = text.find(kCommitMark); commit != std::string_view::npos)
    image.commit = word_at(text.substr(commit + kCommitMark.size()));
  return true;
}

// .../shared/Microsoft.NETCore.App/10.0.12/libcoreclr.so
void version_from_path(RuntimeImage& image) {
  const auto end = image.path.rfind('/');
  if (end == std::string::npos || end == 0) return;
  const auto start = image.path.rfind('/', end - 1);
  const auto part = image.path.substr(start + 1, end - start - 1);
  if (!part.empty() && part[0] >= '0' && part[0] <= '9') image.version = part;
}

void find_version(const object::ElfImage& elf, RuntimeImage& image) {
  for (const std::string_view name : {".data", ".rodata"}) {
    const auto section = elf.section(name);
    if (!section) continue;
    if (version_in({reinterpret_cast<const char*>(section->bytes.data()), section->bytes.size()}, image)) return;
  }
  version_from_path(image);
}

std::string_view file_name(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

}  // namespace

unsigned RuntimeImage::major_version() const {
  unsigned v = 0;
  std::from_chars(version.data(), version.data() + version.size(), v);
  return v;
}

std::vector<RuntimeImage> find_runtimes(const object::ModuleMap& modules, std::string_view executable) {
  std::vector<RuntimeImage> found;
  const auto all = modules.modules();
  for (ModuleIndex i = 0; i < all.size(); i++) {
    const object::Module& m = all[i];
    const bool is_library = file_name(m.path) == "libcoreclr.so";
    if (m.kind != object::ModuleKind::elf || (!is_library && m.path != executable)) continue;
    auto elf = modules.image(i);
    if (!elf) continue;
    const auto symbol = (*elf)->dynamic_symbol(kDescriptorSymbol);
    if (!symbol && !is_library) continue;
    RuntimeImage image;
    image.module = i;
    image.path = m.path;
    image.base = m.load_bias;
    image.descriptor = symbol ? m.load_bias + *symbol : 0;
    image.is_single_file = !is_library;
    find_version(**elf, image);
    found.push_back(std::move(image));
  }
  return found;
}

std::shared_ptr<const RuntimeFacts> RuntimeFacts::from_descriptor(const MemoryReader& memory, Descriptor descriptor,
                                                                  const RuntimeImage& image,
                                                                  const MemoryReader* constants) {
  auto runtime = std::make_shared<RuntimeFacts>();
  runtime->constants_ = constants;
  runtime->image_ = image;
  runtime->descriptor_ = std::move(descriptor);
  runtime->layouts_ = resolve_layouts(runtime->descriptor_);
  runtime->contracts_ = Contracts::judge(runtime->descriptor_, runtime->layouts_);
  runtime->supplement_ = Supplement::apply(runtime->layouts_);
  if (runtime->contracts_.admits(Contract::thread)) runtime->supplement_.verify(memory, runtime->layouts_);
  return runtime;
}

Diagnosed<std::shared_ptr<const RuntimeFacts>> RuntimeFacts::open(const MemoryReader& memory, const RuntimeImage& image,
                                                                  const MemoryReader* constants) {
  // .NET 9 and later export one: then its library's exports could not be read (a core without the file).
  constexpr unsigned kFirstWithDescriptor = 9;
  if (image.descriptor == 0 && image.major_version() >= kFirstWithDescriptor)
    return refuse(ErrorCode::not_found, std::string(kDescriptorSymbol));
  if (image.descriptor == 0)
    return refuse(ErrorCode::contract_unsupported, std::string(kDescriptorSymbol), image.major_version());
  // Hundreds of small reads: pages at a time.
  const memory::CachedMemory cached(memory);
  const memory::CachedMemory cached_constants(constants != nullptr ? *constants : memory);
  auto descriptor = Descriptor::read(cached_constants, image.descriptor);
  if (!descriptor) return tl::unexpected(descriptor.error());
  return from_descriptor(cached, std::move(*descriptor), image, constants);
}

bool RuntimeFacts::can_walk() const {
  return contracts_.admits(Contract::thread) && contracts_.admits(Contract::execution_manager) &&
         contracts_.admits(Contract::stack_walk);
}

}  // namespace mixstack::dotnet
