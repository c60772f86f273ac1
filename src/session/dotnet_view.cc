#include "session/dotnet_view.h"

#include "base/arch/context.h"
#include "dotnet/code/stack_walk.h"

namespace mixstack::dotnet {
namespace {

WalkState public_state(StackWalkState state) {
  switch (state) {
    case StackWalkState::complete:
      return WalkState::complete;
    case StackWalkState::error:
      return WalkState::error;
    case StackWalkState::frameless:
      return WalkState::frameless;
    case StackWalkState::frame:
      return WalkState::frame;
    case StackWalkState::native:
      return WalkState::native;
    case StackWalkState::skipped_frame:
      return WalkState::skipped_frame;
  }
  return WalkState::error;
}

ManagedCode public_kind(CodeKind kind) {
  if (kind == CodeKind::stub) return ManagedCode::stub;
  return kind == CodeKind::r2r ? ManagedCode::ready_to_run : ManagedCode::jit;
}

}  // namespace

class StackWalk::Implementation {
 public:
  Implementation(CodeManager& code, const ManagedThread& thread, const ThreadCapture& capture, const StackView& stack,
                 std::uint64_t pac_mask)
      : contract_(code, code.memory(), pac_mask),
        walk_(contract_.create_stack_walk(thread, capture.registers, stack)) {}

  bool next() {
    if (!walk_.next()) return false;
    const StackDataFrame& at = walk_.current();
    element_ = {.state = public_state(at.state),
                .context = at.context,
                .pc_is_return_address = at.pc_is_return_address,
                .frame = StackWalkContract::frame_address(at),
                .frame_name = {},
                .method = 0,
                .context_frame = at.context_frame,
                .context_flags = at.context_flags,
                .stored_context = at.stored};
    if (element_.frame != 0) element_.frame_name = std::string(contract_.frame_name(at.frame.identifier));
    element_.method = contract_.method_desc(at).value_or(0);
    return true;
  }
  [[nodiscard]] const WalkElement& current() const { return element_; }
  [[nodiscard]] const Error& error() const { return walk_.error(); }

 private:
  StackWalkContract contract_;
  StackWalkContract::Walk walk_;
  WalkElement element_;
};

StackWalk::StackWalk(std::unique_ptr<Implementation> implementation) : implementation_(std::move(implementation)) {}
StackWalk::StackWalk(StackWalk&&) noexcept = default;
StackWalk& StackWalk::operator=(StackWalk&&) noexcept = default;
StackWalk::~StackWalk() = default;
bool StackWalk::next() { return implementation_->next(); }
const WalkElement& StackWalk::current() const { return implementation_->current(); }
Result<std::size_t> StackWalk::raw_context(std::span<std::byte> out) const { return raw_context(current(), out); }
Result<std::size_t> StackWalk::raw_context(const WalkElement& element, std::span<std::byte> out) {
  const auto& stored = element.stored_context;
  return arch::encode_context(element.context, out, element.context_flags,
                              stored ? std::span<const std::byte>(*stored) : std::span<const std::byte>());
}
const Error& StackWalk::error() const { return implementation_->error(); }

Runtime::Runtime(std::shared_ptr<Implementation> implementation) : implementation_(std::move(implementation)) {}
const RuntimeSummary& Runtime::summary() const { return implementation_->runtime().summary(); }
const std::string& Runtime::version() const { return summary().version; }

std::vector<RuntimeThread> Runtime::threads() const {
  std::vector<RuntimeThread> all;
  ManagedRuntime& runtime = implementation_->common();
  for (const ManagedThread& t : runtime.threads()) {
    RuntimeThread facts{t.address, t.id, t.os_id, t.state, t.cooperative, t.is_background(), t.is_dead(), {}};
    if (RuntimeByContracts* contracts = runtime.contracts()) facts.name = contracts->thread_name(t);
    all.push_back(std::move(facts));
  }
  return all;
}

std::optional<CodeFacts> Runtime::code_at(Address address) const {
  CodeManager* code = implementation_->code();
  if (code == nullptr) return std::nullopt;
  const CodeInfo& info = code->find(CodeAddress::exact(address));
  if (info.kind == CodeKind::none) return std::nullopt;
  return CodeFacts{public_kind(info.kind), info.is_funclet(), info.method_desc, info.method_start,
                   AddressRange{info.function_begin, info.function_end}};
}

Result<std::vector<FrameFacts>> Runtime::explicit_frames(const ThreadCapture& thread) const {
  const ManagedThread* managed = implementation_->managed(thread);
  if (managed == nullptr) return fail(ErrorCode::no_such_thread, thread.tid);
  ManagedRuntime& runtime = implementation_->runtime();
  const CheckpointList list = runtime.checkpoints(*managed, true);
  if (list.checkpoints.empty() && list.error.code != ErrorCode::none) return fail(list.error);
  std::vector<FrameFacts> all;
  for (const Checkpoint& c : list.checkpoints) {
    Frame record;
    record.kind = FrameKind::runtime_frame;
    record.explicit_frame = c.address;
    record.frame_identifier = c.identifier;
    const auto name = runtime.names() != nullptr ? runtime.names()->describe(record) : std::nullopt;
    all.push_back({c.address, c.identifier, name ? name->raw_name : std::string(), c.method, c.resumes, c.context});
  }
  return all;
}

std::string Runtime::frame_name(std::uint64_t identifier) const {
  RuntimeByContracts* contracts = implementation_->contracts();
  if (contracts == nullptr) return {};
  return std::string(dotnet::frame_name(contracts->captured_memory().layouts(), identifier));
}

Result<Address> Runtime::frame_method(Address frame) const {
  CodeManager* code = implementation_->code();
  if (code == nullptr) return fail(ErrorCode::contract_unsupported);
  return StackWalkContract(*code, code->memory()).method_desc(frame);
}

Result<std::string> Runtime::method_name(Address method, bool raw) const {
  RuntimeByContracts* contracts = implementation_->contracts();
  if (contracts == nullptr) return fail(ErrorCode::contract_unsupported);
  const auto name = contracts->method_names().describe(method);
  if (!name) return fail(name.error());
  return raw ? (*name)->raw_name : (*name)->name;
}

Result<std::string> Runtime::type_name(Address method_table, bool raw) const {
  RuntimeByContracts* contracts = implementation_->contracts();
  if (contracts == nullptr) return fail(ErrorCode::contract_unsupported);
  return contracts->method_names().type_name(method_table, raw);
}

Result<StackWalk> Runtime::stack_walk(const ThreadCapture& thread) const {
  if (implementation_->code() == nullptr) return fail(ErrorCode::contract_unsupported);
  const ManagedThread* managed = implementation_->managed(thread);
  if (managed == nullptr || !thread.captured) return fail(ErrorCode::no_such_thread, thread.tid);
  session::CaptureWalk& walk = implementation_->walk_of(thread);
  return StackWalk(std::make_unique<StackWalk::Implementation>(*implementation_->code(), *managed, thread,
                                                               walk.input_for(thread).stack, walk.pac_mask()));
}

}  // namespace mixstack::dotnet
