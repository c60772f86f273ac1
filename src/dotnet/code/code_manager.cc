// Input: a code address of the target, or the CodeInfo of an earlier answer.
// Output: CodeInfo (kind, method, row that unwinds it), the unwind rule, and tables of the method: IL map, variables,
// GC info, inlined methods, suspension points.
// Algorithm: find() asks two caches, then look_up(). Range section first, because it says which code map holds the
// address: nibble map (JIT), image tables (ReadyToRun) or precode (stubs). Answers about methods that are never freed
// go to `kept_`, which outlives a capture; all others go to `of_capture_`, which clear() empties, because their code
// may be replaced. compact() makes a rule once for each pc and keeps equal rules once (intern).
// Bounds: kMaxCached entries in each cache; GC info is read in the steps of kSizes, at most 1 MiB; tables of images and
// of debug information have the limits of their decoders.
#include "dotnet/code/code_manager.h"

#include <array>

#include "dotnet/code/gc_ref_map.h"
#include "engine/unwind/windows/format.h"

namespace mixstack::dotnet {
namespace {

/// By the major version of the image. 0: none was read.
std::optional<DebugInfoForm> form_of_image(std::uint16_t version) {
  constexpr std::uint16_t kFirstOfBits = 16, kFirstOfHeaders = 17, kLast = 26;
  if (version == 0 || version > kLast) return std::nullopt;
  if (version < kFirstOfBits) return DebugInfoForm::nibbles;
  return version < kFirstOfHeaders ? DebugInfoForm::bits : DebugInfoForm::headers;
}

}  // namespace

CodeManager::CodeManager(const RuntimeMemory& memory, const Contracts& contracts)
    : memory_(memory), ranges_(memory), precode_() {
  usable_ = contracts.admits(Contract::execution_manager);
  if (usable_ && contracts.admits(Contract::precode_stubs)) precode_ = PrecodeStubs(memory);
}

void CodeManager::Known::clear() {
  found.clear();
  rules.clear();
  interned.clear();
  by_hash.clear();
}

void CodeManager::clear() {
  ranges_.clear();
  images_.clear();
  of_capture_.clear();
  begin_generation();
}

void CodeManager::forget_images() {
  kept_.clear();
  inlining_.clear();
  clear();
}

void CodeManager::rebind(const RuntimeMemory& memory) {
  memory_ = memory;
  clear();
  ranges_.rebind(memory);
}

/// Known method: the answer is final. (Until the runtime prepares a precompiled method, its MethodDesc is not known.)
bool CodeManager::is_kept(const CodeInfo& info) {
  return info.is_managed() && info.method_desc != 0 && !info.is_collectible && info.error.code == ErrorCode::none;
}

const CodeInfo& CodeManager::find(CodeAddress pc) {
  const Address address = pc.lookup();
  if (const CodeInfo* known = kept_.found.find(address)) return *known;
  if (const CodeInfo* known = of_capture_.found.find(address)) return *known;
  const CodeInfo info = look_up(address);
  return (is_kept(info) ? kept_ : of_capture_).found.insert(address, info);
}

CodeInfo CodeManager::look_up(Address address) {
  CodeInfo info;
  if (!usable_) return info;
  auto section = ranges_.find(address);
  if (!section) {
    info.error = section.error();
    return info;
  }
  info.is_collectible = section->is_collectible;
  switch (section->kind) {
    case RangeSection::Kind::code_heap:
      describe_jit(*section, address, info);
      break;
    case RangeSection::Kind::ready_to_run:
      describe_ready_to_run(*section, address, info);
      break;
    case RangeSection::Kind::stub_list:
      describe_stub(*section, address, info);
      break;
    case RangeSection::Kind::none:
      break;
  }
  return info;
}

void CodeManager::take_row(const FunctionRow& row, Address image_base, CodeInfo& info) {
  info.image_base = image_base;
  info.row = row.function;
  info.function_begin = image_base + row.function.begin;
  info.function_end = row.end == 0 ? 0 : image_base + row.end;
  info.unwind_info = image_base + row.function.unwind_data;
}

void CodeManager::describe_jit(const RangeSection& section, Address address, CodeInfo& info) {
  auto code = find_jit_code(memory_, section, memory_.layouts().algorithms.nibble_map, address);
  if (!code) {
    if (code.error().code != ErrorCode::not_found) info.error = code.error();
    return;
  }
  info.method_start = code->method_start;
  if (code->is_stub) {
    info.kind = CodeKind::stub;
    info.stub = stub_kind_of_block(code->stub_block);
    return;
  }
  info.kind = CodeKind::jit;
  info.funclet = code->funclet;
  info.method_desc = code->method_desc;
  info.code_header = code->code_header;
  info.origin = code->method_start;
  take_row(code->row, section.range.begin, info);
}

Result<const ReadyToRunImage*> CodeManager::image_of(const RangeSection& section) {
  if (const auto known = images_.find(section.address); known != images_.end()) return &known->second;
  auto opened = ReadyToRunImage::open(memory_, section);
  if (!opened) return fail(opened.error());
  return &images_.emplace(section.address, std::move(*opened)).first->second;
}

void CodeManager::describe_ready_to_run(const RangeSection& section, Address address, CodeInfo& info) {
  info.module = section.module;
  const auto image = image_of(section);
  if (!image) {
    info.error = image.error();
    return;
  }
  auto code = (*image)->find(memory_, address);
  if (!code) {
    if (code.error().code != ErrorCode::not_found) info.error = code.error();
    return;
  }
  if (code->is_thunk) {
    info.kind = CodeKind::stub;
    info.stub = StubKind::method_call_thunk;
    return;
  }
  info.kind = CodeKind::r2r;
  info.funclet = code->funclet;
  info.is_cold = code->is_cold;
  info.origin = code->origin;
  info.method_desc = code->method_desc;
  info.method_start = code->method_start;
  take_row(code->row, section.range.begin, info);
}

void CodeManager::describe_stub(const RangeSection& section, Address address, CodeInfo& info) {
  info.kind = CodeKind::stub;
  info.stub = stub_kind_of_block(section.list_kind);
  const auto may_be_precode = info.stub == StubKind::unknown || info.stub == StubKind::precode ||
                              info.stub == StubKind::stub_precode || info.stub == StubKind::fixup_precode;
  if (!may_be_precode) return;
  if (auto stub = precode_.find(memory_, section, address)) {
    info.stub = stub->kind;
    info.method_start = stub->start;
    info.method_desc = stub->method_desc;
  }
}

Result<CodeManager::DebugInfo> CodeManager::debug_info(const CodeInfo& info) {
  if (info.kind == CodeKind::jit) {
    const auto blob = memory_.pointer(info.code_header, memory_.layouts().real_code_header.debug_info);
    if (!blob) return fail(blob.error());
    if (*blob == 0) return fail(ErrorCode::not_found, info.method_start);
    return DebugInfo{*blob, &memory_.reader(), DebugInfoWriter::jit, memory_.layouts().algorithms.jit_debug_info};
  }
  if (info.kind != CodeKind::r2r) return fail(ErrorCode::not_found, info.method_start);
  const auto section = ranges_.find(info.method_start);
  if (!section) return fail(section.error());
  const auto image = image_of(*section);
  if (!image) return fail(image.error());
  const auto blob = (*image)->debug_info(memory_, info.method_start);
  if (!blob) return fail(blob.error());
  const auto form = form_of_image((*image)->major_version());
  if (!form) return fail(ErrorCode::unsupported, (*image)->major_version());
  return DebugInfo{*blob, &memory_.constants().reader(), DebugInfoWriter::ready_to_run, *form};
}

Result<std::vector<IlMapRow>> CodeManager::il_map(const CodeInfo& info) {
  const auto at = debug_info(info);
  if (!at) return fail(at.error());
  return read_il_map(*at->memory, at->blob, at->writer, at->form);
}

Result<std::vector<VariableHome>> CodeManager::variables(const CodeInfo& info) {
  const auto at = debug_info(info);
  if (!at) return fail(at.error());
  return read_variables(*at->memory, at->blob, at->writer, at->form, memory_.layouts().arch);
}

Result<GcInfoPlace> CodeManager::gc_info_place(const CodeInfo& info) {
  if (info.kind == CodeKind::jit) return gc_info_of_jit(memory_, info.code_header);
  if (info.kind != CodeKind::r2r) return fail(ErrorCode::not_found, info.method_start);
  const auto section = ranges_.find(info.method_start);
  if (!section) return fail(section.error());
  const auto image = image_of(*section);
  if (!image) return fail(image.error());
  return gc_info_of_image(memory_, (*image)->functions(), info.method_start, (*image)->major_version());
}

Result<GcInfoHeader> CodeManager::gc_info(const CodeInfo& info) {
  const auto at = gc_info_place(info);
  if (!at) return fail(at.error());
  const MemoryReader& reader = at->is_constant ? memory_.constants().reader() : memory_.reader();
  std::array<std::byte, kMostGcInfoHeader> bytes{};
  const auto count = reader.read_some(at->begin, bytes);
  if (!count) return fail(count.error());
  return decode_gc_info_header(std::span(bytes).first(*count), memory_.layouts().arch, at->version);
}

Result<LiveSlots> CodeManager::live_slots(const CodeInfo& info, const LiveSlotsQuery& query) {
  // GC info has no length: nearly all is shorter than the first size; only a method of megabytes needs the last.
  constexpr std::array<std::size_t, 3> kSizes{1u << 9, 1u << 14, 1u << 20};
  const auto at = gc_info_place(info);
  if (!at) return fail(at.error());
  const MemoryReader& reader = at->is_constant ? memory_.constants().reader() : memory_.reader();
  for (const std::size_t size : kSizes) {
    std::vector<std::byte> bytes(size);
    const auto count = reader.read_some(at->begin, bytes);
    if (!count) return fail(count.error());
    auto live = decode_live_slots(std::span(bytes).first(*count), memory_.layouts().arch, at->version, query);
    if (live || live.error().code != ErrorCode::truncated || *count < size) return live;
  }
  return fail(ErrorCode::limit_exceeded, at->begin);
}

Result<Address> CodeManager::gc_ref_map(Address slot) {
  const auto section = ranges_.find(slot);
  if (!section) return fail(section.error());
  if (section->kind != RangeSection::Kind::ready_to_run) return fail(ErrorCode::not_found, slot);
  const auto image = image_of(*section);
  if (!image) return fail(image.error());
  return find_gc_ref_map(memory_.constants().reader(), (*image)->base(), (*image)->import_sections(), slot);
}

Result<std::vector<SuspensionPoint>> CodeManager::suspension_points(const CodeInfo& info) {
  const auto at = debug_info(info);
  if (!at) return fail(at.error());
  return read_async_info(*at->memory, at->blob, at->writer, at->form);
}

Result<RichDebugInfo> CodeManager::rich_debug_info(const CodeInfo& info) {
  if (info.kind != CodeKind::jit) return fail(ErrorCode::not_found, info.method_start);
  const auto blob = memory_.pointer(info.code_header, memory_.layouts().real_code_header.debug_info);
  if (!blob) return fail(blob.error());
  if (*blob == 0) return fail(ErrorCode::not_found, info.method_start);
  return read_rich_debug_info(memory_.reader(), *blob, memory_.pointer_size(),
                              memory_.layouts().algorithms.jit_debug_info);
}

const InliningTable* CodeManager::inlining(const CodeInfo& info) {
  if (info.kind != CodeKind::r2r) return nullptr;
  auto known = inlining_.find(info.image_base);
  if (known == inlining_.end()) {
    known = inlining_.emplace(info.image_base, std::nullopt).first;
    const auto section = ranges_.find(info.method_start);
    const auto image = section ? image_of(*section) : fail(section.error());
    if (image)
      if (auto table = (*image)->inlining(memory_)) known->second = std::move(*table);
  }
  return known->second ? &*known->second : nullptr;
}

Result<unwind::UnwindRule> CodeManager::general(CodeAddress pc) {
  const CodeInfo& info = find(pc);
  if (!info.is_managed())
    return fail(info.error.code != ErrorCode::none ? info.error : Error{ErrorCode::not_found, 0, pc.raw()});
  const RuntimeMemory memory = info.kind == CodeKind::r2r ? memory_.constants() : memory_;
  const unwind::windows::MemoryUnwindData data(memory.reader(), info.image_base);
  const auto rva = static_cast<std::uint32_t>(pc.raw() - info.image_base);
  const auto* format = unwind::windows::format_of(memory_.layouts().arch);
  if (format == nullptr) return fail(ErrorCode::unsupported_cpu);
  return format->rule(data, {info.row, rva, !pc.is_exact()});
}

const unwind::CompactRule& CodeManager::compact(CodeAddress pc) {
  // Code addresses never use the top bit of a 64-bit address space's lower half.
  const Address key = pc.raw() << 1 | (pc.is_exact() ? 1u : 0u);
  for (const Known* known : {&kept_, &of_capture_})
    if (const unwind::CompactRule* const* rule = known->rules.find(key)) return **rule;
  const unwind::CompactRule* made = &unwind::kNoCompactRule;
  Known* keeper = &of_capture_;
  if (const auto rule = general(pc)) {
    // Without a method the unwind codes may belong to other code: no compact rule, because that would be believed.
    const CodeInfo& info = find(pc);
    const auto small = info.method_desc != 0 ? unwind::compact(*rule, memory_.layouts().arch) : std::nullopt;
    if (is_kept(info)) keeper = &kept_;
    made = small ? keeper->intern(*small) : &unwind::kInterpretedRule;
  }
  return *keeper->rules.insert(key, made);
}

const unwind::CompactRule* CodeManager::Known::intern(const unwind::CompactRule& rule) {
  const std::uint64_t hash = unwind::hash_of(rule);
  const auto [first, last] = by_hash.equal_range(hash);
  for (auto it = first; it != last; ++it)
    if (it->second->same_rule(rule)) return it->second;
  if (interned.size() >= kMaxCached) return &unwind::kInterpretedRule;
  interned.push_back(rule);
  by_hash.emplace(hash, &interned.back());
  return &interned.back();
}

}  // namespace mixstack::dotnet
