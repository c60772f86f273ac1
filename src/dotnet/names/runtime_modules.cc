// Input: the address of a Module of the target.
// Output: its facts and metadata, IL of its methods, its PDB.
// Algorithm: a Module is read once and kept until forget_transient(). Metadata is looked for in this order: the
// snapshot of an emitted module, because its image is none or stale; the image in the target's memory, in the other
// layout too if the layout is not known; last the file, because it must first agree with the runtime's own record of
// the image (size, row counts). The metadata of an edited module is then replaced by the runtime's own tables, which
// have the rows that edits added. IL and PDBs are found through the same image; an edited module has none of them,
// because its file is older.
// Bounds: kMaxModules modules and open images, kMaxPath units in a path, kMaxEmitted bytes for one emitted or edited
// module and kEmittedBudget for all in a capture, IlHandlers::kMaxSections sections behind a method.
#include "dotnet/names/runtime_modules.h"

#include <algorithm>
#include <array>
#include <vector>

#include "dotnet/names/edited_metadata.h"
#include "dotnet/names/il_body.h"
#include "dotnet/names/managed_string.h"
#include "dotnet/names/pdb_finder.h"
#include "engine/images/pe_image.h"

namespace mixstack::dotnet::names {
namespace {

constexpr std::size_t kMaxPath = 4096;            // UTF-16 units
constexpr std::uint32_t kMaxEmitted = 16u << 20;  // bytes of an emitted module's metadata
constexpr std::uint32_t kMayChange = 0x8;         // Module::EDIT_AND_CONTINUE (src/coreclr/vm/ceeload.h)
constexpr std::uint32_t kLayoutIsMapped = 1;      // PEImageLayout::FLAG_MAPPED (src/coreclr/vm/peimagelayout.h)

std::string file_stem(std::string_view path) {
  const auto slash = path.find_last_of("/\\");
  if (slash != std::string_view::npos) path.remove_prefix(slash + 1);
  for (const std::string_view suffix : {".dll", ".exe"})
    if (path.size() > suffix.size() && path.ends_with(suffix)) path.remove_suffix(suffix.size());
  return std::string(path);
}

}  // namespace

const ModuleFacts& RuntimeModules::at(Address module) {
  if (auto it = modules_.find(module); it != modules_.end()) return *it->second;
  if (modules_.size() >= kMaxModules) {
    overflow_.error = {ErrorCode::limit_exceeded, 0, module};
    return overflow_;
  }
  return *modules_.emplace(module, std::make_unique<ModuleFacts>(read(module))).first->second;
}

void RuntimeModules::forget_transient() {
  images_.clear();
  emitted_budget_ = kEmittedBudget;
  std::erase_if(modules_, [](const auto& entry) {
    const ModuleFacts& m = *entry.second;
    return m.is_collectible || m.is_emitted || m.may_change || m.metadata == nullptr || m.metadata->has_holes();
  });
}

std::uint64_t RuntimeModules::loaded_bytes() const {
  std::uint64_t sum = 0;
  for (const auto& [address, m] : modules_)
    if (m->metadata != nullptr && m->source != MetadataSource::file) sum += m->metadata->loaded_bytes();
  return sum;
}

std::vector<std::string> RuntimeModules::files_used() const {
  std::vector<std::string> paths;
  for (const auto& [address, m] : modules_)
    if (m->source == MetadataSource::file) paths.push_back(m->path);
  return paths;
}

std::vector<std::string> RuntimeModules::files_missing() const {
  std::vector<std::string> paths;
  for (const auto& [address, m] : modules_)
    if (m->metadata == nullptr && !m->path.empty()) paths.push_back(m->path);
  return paths;
}

ModuleFacts RuntimeModules::read(Address module) const {
  const Layouts& l = memory_.layouts();
  ModuleFacts facts;
  facts.address = module;
  if (const auto assembly = memory_.pointer(module, l.module.assembly)) {
    const auto flag = memory_.value<std::uint8_t>(*assembly, l.assembly.is_collectible);
    facts.is_collectible = flag && *flag != 0;
  }
  if (const auto path = memory_.pointer(module, l.module.path); path && *path != 0)
    facts.path = read_wide_string(memory_.reader(), *path, kMaxPath).value_or("");
  if (const auto name = memory_.pointer(module, l.module.file_name); name && *name != 0)
    facts.file_name = read_wide_string(memory_.reader(), *name, kMaxPath).value_or("");
  find_metadata(facts);
  find_edits(facts);
  if (facts.metadata != nullptr) facts.assembly = printable(facts.metadata->assembly_name());
  if (facts.assembly.empty()) facts.assembly = file_stem(facts.path.empty() ? facts.file_name : facts.path);
  return facts;
}

/// .NET 11 counts the edits. Before, the IL of edited and added methods lies in a table that the first edit makes.
void RuntimeModules::find_edits(ModuleFacts& facts) const {
  const auto& l = memory_.layouts().module;
  const auto flags = memory_.value<std::uint32_t>(facts.address, l.flags);
  facts.may_change = flags && (*flags & kMayChange) != 0;
  if (!facts.may_change) return;
  const auto edits = memory_.value<std::uint32_t>(facts.address, l.metadata_generation);
  const auto table = memory_.pointer(facts.address, l.dynamic_il);
  facts.is_edited = (edits && *edits != 0) || (table && *table != 0);
  if (!facts.is_edited || facts.metadata == nullptr) return;
  facts.built_methods = facts.metadata->row_count(TableId::method_def);
  if (auto now = edited(facts)) facts.metadata = std::move(*now);
}

/// Edits add rows and never change which module it is.
Result<std::shared_ptr<const Metadata>> RuntimeModules::edited(const ModuleFacts& facts) const {
  const auto assembly = memory_.pointer(facts.address, memory_.layouts().module.pe_assembly);
  if (!assembly) return fail(assembly.error());
  const std::uint64_t budget = std::min<std::uint64_t>(kMaxEmitted, emitted_budget_);
  auto bytes = EditedMetadata::read(memory_, bulk_, *assembly, budget);
  if (!bytes) return fail(bytes.error());
  auto copy = std::make_shared<const std::vector<std::byte>>(std::move(*bytes));
  emitted_budget_ -= std::min<std::uint64_t>(emitted_budget_, copy->size());
  auto now = Metadata::open(MetadataBytes::borrow(*copy, copy));
  if (!now) return fail(now.error());
  for (unsigned t = 0; t < kTableCount; t++)
    if ((*now)->row_count(static_cast<TableId>(t)) < facts.metadata->row_count(static_cast<TableId>(t)))
      return fail(ErrorCode::mismatch, t);
  const auto id = (*now)->mvid();
  if (!id || id != facts.metadata->mvid()) return fail(ErrorCode::mismatch, facts.address);
  return now;
}

void RuntimeModules::find_metadata(ModuleFacts& facts) const {
  const auto accept = [&](Result<std::shared_ptr<const Metadata>> found, MetadataSource source) {
    if (!found) {
      facts.error = found.error();
      return false;
    }
    facts.metadata = std::move(*found);
    facts.source = source;
    facts.error = {};
    return true;
  };
  bool has_image = false;
  Image image = image_of(facts.address, has_image);
  facts.is_emitted = !has_image;
  if (const auto blob = memory_.pointer(facts.address, memory_.layouts().module.dynamic_metadata); blob && *blob != 0) {
    facts.is_emitted = true;
    if (accept(emitted(*blob), MetadataSource::emitted)) return;
  }
  if (!has_image) {
    if (facts.error.code == ErrorCode::none) facts.error = {ErrorCode::not_found, 0, facts.address};
    return;
  }
  if (accept(from_memory(image), MetadataSource::memory)) return;
  if (!image.is_certain) {  // only the base is known: try the other layout
    image.is_mapped = false;
    if (accept(from_memory(image), MetadataSource::memory)) return;
  }
  const Error memory_error = facts.error;
  if (!accept(from_file(facts, image), MetadataSource::file)) facts.error = memory_error;
}

Result<std::shared_ptr<const PortablePdb>> RuntimeModules::pdb(Address module, const PdbFetcher& fetch,
                                                               PdbLookup& lookup) {
  const ModuleFacts& facts = at(module);
  lookup.assembly = facts.assembly;
  lookup.assembly_path = facts.path;
  lookup.is_edited = facts.is_edited;
  if (facts.is_edited) {
    lookup.error = {ErrorCode::mismatch, 0, module};
    return fail(lookup.error);
  }
  bool has_image = false;
  const Image image = image_of(module, has_image);
  if (!has_image || facts.is_emitted) return fail(ErrorCode::not_found, module);
  Result<std::shared_ptr<const PortablePdb>> found = fail(ErrorCode::not_found, module);
  for (const bool is_mapped : {image.is_mapped, !image.is_mapped}) {
    const auto layout = is_mapped ? images::PeLayout::mapped : images::PeLayout::flat;
    if (const auto pe = images::PeImage::from_memory(bulk_, image.base, layout, image.size))
      found = find_pdb(*pe, {facts.path, program_}, opener_, fetch, lookup);
    if (found || image.is_certain) break;
  }
  if (found || facts.source != MetadataSource::file || !opener_) return found;
  // The memory of the image is missing (a core). Its file is there and was proved to be the right one.
  const auto file = opener_(facts.path);
  if (!file) return fail(file.error());
  const auto pe = images::PeImage::from_bytes((*file)->bytes(), images::PeLayout::flat);
  if (!pe) return fail(pe.error());
  return find_pdb(*pe, {facts.path, program_}, opener_, fetch, lookup);
}

namespace {

/// In the wrong layout the header of an image leads to other bytes of it, which may look like the next header.
bool leads_to_metadata(const images::PeImage& pe) {
  constexpr std::array<std::byte, 4> kSignature{std::byte{'B'}, std::byte{'S'}, std::byte{'J'}, std::byte{'B'}};
  const auto cli = pe.cli_header();
  std::array<std::byte, 4> signature{};
  return cli && pe.read(cli->metadata.rva, signature) && signature == kSignature;
}

}  // namespace

RuntimeModules::OpenImage RuntimeModules::open_image(Address module) {
  const ModuleFacts& facts = at(module);
  if (facts.is_edited) return {};
  bool has_image = false;
  const Image image = image_of(module, has_image);
  if (!has_image || facts.is_emitted) return {};
  if (facts.source == MetadataSource::file) {
    auto file = opener_(facts.path);
    if (!file) return {};
    auto pe = images::PeImage::from_bytes((*file)->bytes(), images::PeLayout::flat);
    return pe ? OpenImage{std::move(*file), std::move(*pe)} : OpenImage{};
  }
  for (const bool is_mapped : {image.is_mapped, !image.is_mapped}) {
    const auto layout = is_mapped ? images::PeLayout::mapped : images::PeLayout::flat;
    auto pe = images::PeImage::from_memory(bulk_, image.base, layout, image.size);
    if (pe && leads_to_metadata(*pe)) return {nullptr, std::move(*pe)};
    if (image.is_certain) break;
  }
  return {};
}

Result<RuntimeModules::Il> RuntimeModules::il(Address module, std::uint32_t rva) {
  auto known = images_.find(module);
  if (known == images_.end()) {
    if (images_.size() >= kMaxModules) return fail(ErrorCode::limit_exceeded, module);
    known = images_.emplace(module, open_image(module)).first;
  }
  if (!known->second.pe) return fail(ErrorCode::not_found, module);
  const images::PeImage& pe = *known->second.pe;
  std::array<std::byte, IlBody::kMaxHeader> header{};
  // A tiny method may be the last bytes of its section.
  std::size_t size = header.size();
  if (!pe.read(rva, header)) {
    size = 1;
    if (const auto read = pe.read(rva, std::span(header).first(1)); !read) return fail(read.error());
  }
  const auto body = read_il_header(std::span(header).first(size));
  if (!body) return fail(body.error());
  Il il{std::vector<std::byte>(body->code_size), body->has_handlers, {}};
  const std::uint32_t begin = rva + body->header_size;
  if (const auto read = pe.read(begin, il.code); !read) return fail(read.error());
  if (il.has_handlers) il.handlers = read_handlers(pe, begin + body->code_size);
  return il;
}

// Sections begin at multiples of 4.
IlHandlers RuntimeModules::read_handlers(const images::PeImage& pe, std::uint32_t rva) {
  IlHandlers handlers;
  for (unsigned n = 0; n < IlHandlers::kMaxSections; n++) {
    rva = (rva + 3) & ~3u;
    std::array<std::byte, IlHandlers::kHeader> header{};
    if (!pe.read(rva, header)) return handlers;
    const auto section = read_il_section(header);
    if (!section) return handlers;
    std::vector<std::byte> clauses(section->size - IlHandlers::kHeader);
    if (!pe.read(rva + IlHandlers::kHeader, clauses)) return handlers;
    add_il_handlers(*section, clauses, handlers);
    if (!section->has_next) break;
    rva += section->size;
  }
  return handlers;
}

RuntimeModules::Image RuntimeModules::image_of(Address module, bool& has_image) const {
  const Layouts& l = memory_.layouts();
  Image image;
  // Loader contract: Module -> PEAssembly -> PEImage -> LoadedImageLayout.
  auto at = memory_.pointer(module, l.module.pe_assembly);
  if (at && *at != 0) at = memory_.pointer(*at, l.pe_assembly.pe_image);
  if (at && *at != 0) at = memory_.pointer(*at, l.pe_image.loaded_image_layout);
  if (at && *at != 0) {
    const auto base = memory_.pointer(*at, l.pe_image_layout.base);
    const auto size = memory_.value<std::uint32_t>(*at, l.pe_image_layout.size);
    const auto flags = memory_.value<std::uint32_t>(*at, l.pe_image_layout.flags);
    if (base && size && flags && *base != 0) {
      image = {*base, *size, (*flags & kLayoutIsMapped) != 0, true};
      has_image = true;
      return image;
    }
  }
  // Runtimes that do not describe the chain (.NET 9) describe Module.Base; both layouts must be tried.
  if (const auto base = memory_.pointer(module, l.module.base); base && *base != 0) {
    image = {*base, 0, true, false};
    has_image = true;
  }
  return image;
}

Result<std::shared_ptr<const Metadata>> RuntimeModules::from_memory(const Image& image) const {
  const auto layout = image.is_mapped ? images::PeLayout::mapped : images::PeLayout::flat;
  const auto pe = images::PeImage::from_memory(memory_.reader(), image.base, layout, image.size);
  if (!pe) return fail(pe.error());
  const auto cli = pe->cli_header();
  if (!cli) return fail(cli.error());
  const auto address = pe->address_of(cli->metadata.rva, cli->metadata.size);
  if (!address) return fail(address.error());
  auto bytes = MetadataBytes::lazy(bulk_, *address, cli->metadata.size);
  if (!bytes) return fail(bytes.error());
  return Metadata::open(std::move(*bytes));
}

Result<std::shared_ptr<const Metadata>> RuntimeModules::from_file(const ModuleFacts& facts, const Image& image) const {
  if (!opener_ || facts.path.empty()) return fail(ErrorCode::not_found);
  auto file = opener_(facts.path);
  if (!file) return fail(file.error());
  const auto bytes = (*file)->bytes();
  const auto pe = images::PeImage::from_bytes(bytes, images::PeLayout::flat);
  if (!pe) return fail(pe.error());
  // Without readable memory there is no MVID, so the runtime's own record of the image must agree: its size and its
  // numbers of types, methods, fields and references.
  const std::uint64_t size = image.is_mapped ? pe->size_of_image() : bytes.size();
  if (image.size != 0 && size != image.size) return fail(ErrorCode::mismatch, size);
  const auto cli = pe->cli_header();
  if (!cli) return fail(cli.error());
  const auto blob = pe->bytes(cli->metadata.rva, cli->metadata.size);
  if (blob.empty()) return fail(ErrorCode::truncated, cli->metadata.rva);
  auto metadata = Metadata::open(MetadataBytes::borrow(blob, *file));
  if (metadata && !row_counts_agree(facts.address, **metadata)) return fail(ErrorCode::mismatch, facts.address);
  return metadata;
}

/// The runtime makes its lookup maps as large as the tables of the metadata, plus one slot because row numbers begin at
/// 1 (dotnet/runtime src/coreclr/vm/ceeload.cpp, Module::AllocateMaps).
bool RuntimeModules::row_counts_agree(Address module, const Metadata& metadata) const {
  const Layouts& l = memory_.layouts();
  const std::pair<Field, TableId> maps[] = {{l.module.type_def_to_method_table_map, TableId::type_def},
                                            {l.module.type_ref_to_method_table_map, TableId::type_ref},
                                            {l.module.method_def_to_desc_map, TableId::method_def},
                                            {l.module.field_def_to_desc_map, TableId::field},
                                            {l.module.member_ref_to_desc_map, TableId::member_ref}};
  for (const auto& [map, table] : maps) {
    if (!map) continue;  // .NET 9 does not describe them
    const auto count = memory_.value<std::uint32_t>(module + map.offset, l.module_lookup_map.count);
    if (count && *count != metadata.row_count(table) + 1) return false;
  }
  return true;
}

Result<std::shared_ptr<const Metadata>> RuntimeModules::emitted(Address blob) const {
  const auto& l = memory_.layouts().dynamic_metadata;
  const auto size = memory_.value<std::uint32_t>(blob, l.size);
  if (!size) return fail(size.error());
  if (!l.data) return fail(ErrorCode::field_unavailable, blob);
  if (*size > kMaxEmitted || *size > emitted_budget_) return fail(ErrorCode::limit_exceeded, *size);
  // Copied at once, because the runtime frees this snapshot when it makes the next.
  auto copy = std::make_shared<std::vector<std::byte>>(*size);
  if (auto r = bulk_.read_exact(blob + l.data.offset, *copy); !r) return fail(r.error());
  emitted_budget_ -= *size;
  return Metadata::open(MetadataBytes::borrow(*copy, copy));
}

}  // namespace mixstack::dotnet::names
