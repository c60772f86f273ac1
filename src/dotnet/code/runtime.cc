#include "dotnet/code/runtime.h"

#include <algorithm>
#include <charconv>

#include "base/arch/cpu.h"
#include "base/memory/cached_memory.h"
#include "dotnet/code/code_of_9.h"
#include "dotnet/contracts/known/known_runtimes.h"

namespace mixstack::dotnet {
namespace {

// The runtime's version string is in its data: "@(#)Version 10.0.1226.42308 @Commit: 9501..." (sccsid in
// eng/native/version, dotnet/arcade).
constexpr std::string_view kVersionMark = "@(#)Version ";
constexpr std::string_view kCommitMark = "@Commit: ";

constexpr unsigned kFirstWithDescriptor = 9, kFirstWithCode = 10;

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

void find_version(const images::ElfImage& elf, RuntimeImage& image) {
  for (const std::string_view name : {".data", ".rodata"}) {
    const auto section = elf.section(name);
    if (!section) continue;
    if (version_in({reinterpret_cast<const char*>(section->bytes.data()), section->bytes.size()}, image)) return;
  }
  version_from_path(image);
}

// Whether the image exports a descriptor; fills in the other facts of the image.
bool read_image(const images::ElfImage& elf, RuntimeImage& image) {
  const auto address = [&](std::string_view name) {
    const auto symbol = elf.dynamic_symbol(name);
    return symbol ? image.base + *symbol : 0;
  };
  image.descriptor = address(kDescriptorSymbol);
  image.dac_table = address(kDacTableSymbol);
  image.arch = elf.arch();
  if (image.descriptor == 0 && image.is_single_file) return false;
  find_version(elf, image);
  return image.descriptor != 0;
}

// Fills in facts that the image cannot tell (empty machine, small core) from the release with that build id.
void look_up_release(RuntimeImage& image) {
  const auto release = known_release(image.build_id);
  if (!release) return;
  image.is_known_release = true;
  if (image.commit.empty()) image.commit = release->commit;
  if (image.version.empty() || image.commit == release->commit) image.version = release->file_version;
  if (image.dac_table == 0 && release->dac_table != 0) image.dac_table = image.base + release->dac_table;
  for (const Arch arch : kArchs)
    if (const auto rid = arch::cpu(arch).rid;
        image.arch == Arch::unknown && !rid.empty() && release->rid.ends_with(rid))
      image.arch = arch;
}

std::string_view file_name(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

}  // namespace

std::string RuntimeImage::version_for_people() const {
  const auto second = version.find('.', version.find('.') + 1);
  if (second == std::string::npos) return version;
  const auto third = version.find('.', second + 1);
  if (third == std::string::npos) return version;
  const std::string build = version.substr(second + 1, third - second - 1);
  const bool is_number =
      !build.empty() && build.size() < 9 && build.find_first_not_of("0123456789") == std::string::npos;
  if (!is_number) return version;
  return version.substr(0, second + 1) + std::to_string(std::stoul(build) / 100);
}

unsigned RuntimeImage::major_version() const {
  unsigned v = 0;
  std::from_chars(version.data(), version.data() + version.size(), v);
  return v;
}

std::vector<RuntimeImage> find_runtimes(const images::ModuleMap& modules, std::string_view executable) {
  std::vector<RuntimeImage> found;
  const auto all = modules.modules();
  for (ModuleIndex i = 0; i < all.size(); i++) {
    const images::Module& m = all[i];
    const bool is_library = file_name(m.path) == "libcoreclr.so";
    if (m.kind != images::ModuleKind::elf || (!is_library && m.path != executable)) continue;
    RuntimeImage image;
    image.module = i;
    image.path = m.path;
    image.base = m.load_bias;
    image.is_single_file = !is_library;
    const auto elf = modules.image(i);
    const bool is_runtime = elf && read_image(**elf, image);
    if (!is_runtime && !is_library) continue;
    if (is_library) image.build_id = modules.build_id(i);
    if (!is_runtime || image.commit.empty() || image.major_version() < kFirstWithCode) look_up_release(image);
    if (elf || image.is_known_release) found.push_back(std::move(image));
  }
  return found;
}

std::shared_ptr<const RuntimeFacts> RuntimeFacts::from_descriptor(const MemoryReader& memory, Descriptor descriptor,
                                                                  const RuntimeImage& image,
                                                                  const MemoryReader* constants, Diagnosis no_code) {
  auto runtime = std::make_shared<RuntimeFacts>();
  runtime->constants_ = constants;
  runtime->image_ = image;
  runtime->no_code_ = std::move(no_code);
  runtime->descriptor_ = std::move(descriptor);
  runtime->layouts_ = resolve_layouts(runtime->descriptor_);
  runtime->contracts_ = Contracts::judge(runtime->descriptor_, runtime->layouts_);
  runtime->supplement_ = Supplement::apply(runtime->layouts_);
  if (runtime->contracts_.admits(Contract::thread)) runtime->supplement_.verify(memory, runtime->layouts_);
  return runtime;
}

// From the process; where the process lacks it (a small core), from the release with that build id.
static Diagnosed<Descriptor> read_descriptor(const MemoryReader& constants, const RuntimeImage& image) {
  Diagnosed<Descriptor> descriptor = image.descriptor != 0
                                         ? Descriptor::read(constants, image.descriptor)
                                         : refuse(ErrorCode::not_found, std::string(kDescriptorSymbol));
  if (descriptor) return descriptor;
  const ErrorCode why = descriptor.error().error.code;
  if (why != ErrorCode::not_found && why != ErrorCode::unreadable_memory) return descriptor;
  if (const auto release = known_release(image.build_id))
    if (auto known = release->descriptor(image.base)) return std::move(*known);
  // .NET 9 and later export one: then its library's exports could not be read (a core without the file).
  if (image.descriptor == 0 && image.major_version() < kFirstWithDescriptor)
    return refuse(ErrorCode::contract_unsupported, std::string(kDescriptorSymbol), image.major_version());
  return descriptor;
}

Diagnosed<std::shared_ptr<const RuntimeFacts>> RuntimeFacts::open(const MemoryReader& memory, const RuntimeImage& image,
                                                                  const MemoryReader* constants) {
  // Hundreds of small reads: pages at a time.
  const memory::CachedMemory cached(memory);
  const memory::CachedMemory cached_constants(constants != nullptr ? *constants : memory);
  auto descriptor = read_descriptor(cached_constants, image);
  if (!descriptor) return tl::unexpected(descriptor.error());
  if (!leaves_out_code(*descriptor)) return from_descriptor(cached, std::move(*descriptor), image, constants);
  const DacTablePlace place{image.dac_table, image.base, image.arch, image.is_known_release};
  auto whole = describe_code_of_9(cached, place, *descriptor, constants);
  if (whole) return from_descriptor(cached, std::move(*whole), image, constants);
  return from_descriptor(cached, std::move(*descriptor), image, constants, std::move(whole.error()));
}

bool RuntimeFacts::can_walk() const {
  return contracts_.admits(Contract::thread) && contracts_.admits(Contract::execution_manager) &&
         contracts_.admits(Contract::stack_walk);
}

}  // namespace mixstack::dotnet
