#include "dotnet/code/code_manager.h"

#include "unwind/windows/format.h"

namespace mixstack::dotnet {

CodeManager::CodeManager(const RuntimeMemory& memory, const Contracts& contracts)
    : memory_(memory), ranges_(memory), precode_() {
  usable_ = contracts.admits(Contract::execution_manager);
  if (contracts.version(Contract::execution_manager) == 1) nibbles_ = NibbleMap::Version::linear;
  if (usable_ && contracts.admits(Contract::precode_stubs)) precode_ = PrecodeStubs(memory);
}

void CodeManager::clear() {
  ranges_.clear();
  images_.clear();
  found_.clear();
  rules_.clear();
  interned_.clear();
  by_hash_.clear();
  begin_generation();
}

void CodeManager::rebind(const RuntimeMemory& memory) {
  memory_ = memory;
  clear();
  ranges_.rebind(memory);
}

RangeSection::Kind CodeManager::range_kind(Address address) {
  if (!usable_) return RangeSection::Kind::none;
  auto section = ranges_.find(address);
  return section ? section->kind : RangeSection::Kind::none;
}

const CodeInfo& CodeManager::find(CodeAddress pc) {
  const Address address = pc.lookup();
  if (const CodeInfo* known = found_.find(address)) [[likely]]
    return *known;
  return found_.insert(address, look_up(address));
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
  auto code = find_jit_code(memory_, section, nibbles_, address);
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
  info.is_funclet = code->is_funclet;
  info.method_desc = code->method_desc;
  info.code_header = code->code_header;
  take_row(code->row, section.range.begin, info);
}

void CodeManager::describe_ready_to_run(const RangeSection& section, Address address, CodeInfo& info) {
  info.module = section.module;
  auto image = images_.find(section.address);
  if (image == images_.end()) {
    auto opened = ReadyToRunImage::open(memory_, section);
    if (!opened) {
      info.error = opened.error();
      return;
    }
    image = images_.emplace(section.address, std::move(*opened)).first;
  }
  auto code = image->second.find(memory_, address);
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
  info.is_funclet = code->is_funclet;
  info.is_cold = code->is_cold;
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
  if (const unwind::CompactRule* const* known = rules_.find(key)) [[likely]]
    return **known;
  const unwind::CompactRule* made = &unwind::kNoCompactRule;
  if (const auto rule = general(pc)) {
    // Unwind codes of a method that cannot be found may as well be another's: no small rule, which would be believed.
    const bool is_known = find(pc).method_desc != 0;
    const auto small = is_known ? unwind::compact(*rule, memory_.layouts().arch) : std::nullopt;
    made = small ? intern(*small) : &unwind::kInterpretedRule;
  }
  return *rules_.insert(key, made);
}

const unwind::CompactRule* CodeManager::intern(const unwind::CompactRule& rule) {
  const std::uint64_t hash = unwind::hash_of(rule);
  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto it = first; it != last; ++it)
    if (it->second->same_rule(rule)) return it->second;
  if (interned_.size() >= kMaxCached) return &unwind::kInterpretedRule;
  interned_.push_back(rule);
  by_hash_.emplace(hash, &interned_.back());
  return &interned_.back();
}

}  // namespace mixstack::dotnet
