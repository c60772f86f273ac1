// Input: a `Target`, and a thread to capture or registers and a frame to step from. Output: walked stacks and single
// steps with the locations of RA, SP and FP, names and function starts: the only part of mixstack that this folder
// uses.
// Algorithm of `capture`: (1) drop the old walk, which borrows from the session; (2) read the mappings, and the modules
// again only if mappings of files have changed, since that is expensive; (3) stop and copy the thread; (4) make a
// walker over the copy, so that the target runs on. `walk` and `step` then use the copy, and locate each caller's
// values from the frame it called.
// Bounds: `kStopTimeout` for the stop, `kMaxFrames` a walk, `arch::kMaxCallLength` bytes before a return address.
// `is_walking_` keeps the capture while a user's stepper runs inside a walk.
#include "frontends/stackwalker/engine.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/arch/call_site.h"
#include "frontends/stackwalker/access.h"
#include "frontends/stackwalker/state_target.h"

namespace mixstack::stackwalker {
namespace {

constexpr Address kFrameRecord = 16;  // the caller's frame pointer, and the return address
constexpr auto kStopTimeout = std::chrono::milliseconds(1000);

Location in_register(unsigned reg) { return {Location::Kind::in_register, 0, reg}; }

/// The innermost frame's values are still in their registers.
void locate_innermost(FramePlace& place) {
  const ArchRegisters numbers = arch_registers(place.registers.arch());
  place.ra = in_register(numbers.pc);
  place.sp = in_register(numbers.sp);
  place.fp = in_register(numbers.fp);
}

WalkOptions walk_options() {
  WalkOptions options;
  options.keep_registers = true;
  return options;
}

}  // namespace

Address frame_pointer_of(const FramePlace& place) {
  const Address fp = place.registers.value_or_zero(arch_registers(place.registers.arch()).fp);
  const Address sp = place.frame.sp, cfa = place.frame.cfa;
  const bool is_its_own = fp >= sp && fp < cfa;
  const bool is_told = place.frame.found_by == StepperId::initial || place.frame.found_by == StepperId::user;
  if (is_its_own || is_told || cfa <= sp) return fp;
  return std::max(cfa - kFrameRecord, sp);
}

const Registers* registers_of(const Trace& trace, const Frame& frame) {
  const bool kept = frame.registers != 0 && frame.registers <= trace.registers.size();
  return kept ? &trace.registers[frame.registers - 1] : nullptr;
}

Result<std::shared_ptr<Engine>> Engine::open(std::unique_ptr<Target> target) {
  auto session = session::ProcessSession::open(std::move(target), nullptr, NativeLines::none);
  if (!session) return fail(session.error());
  std::shared_ptr<Engine> engine(new Engine(std::move(*session)));
  auto regions = engine->target().regions();
  if (!regions) return fail(regions.error());
  engine->mappings_ = file_mappings(*regions);
  return engine;
}

/// Only mappings of files are compared: JIT memory changes often, files rarely.
std::vector<Engine::Mapping> Engine::file_mappings(const std::vector<Region>& regions) {
  std::vector<Mapping> list;
  for (const Region& r : regions)
    if (r.executable && r.inode != 0 && !r.path.starts_with("/memfd:")) list.push_back({r.range, r.inode});
  return list;
}

Result<bool> Engine::refresh(const std::vector<Region>& regions) {
  std::vector<Mapping> now = file_mappings(regions);
  if (now == mappings_) return false;
  walk_.reset();
  capture_id_ = 0;
  if (auto read = session_->refresh(); !read) return fail(read.error());
  mappings_ = std::move(now);
  return true;
}

Result<bool> Engine::refresh() {
  if (is_walking_) return false;
  auto regions = target().regions();
  if (!regions) return fail(regions.error());
  return refresh(*regions);
}

Result<void> Engine::capture(ThreadId tid) {
  if (is_walking_) return fail(ErrorCode::invalid_argument);
  // The walk borrows the session's knowledge of its runtimes, which belongs to one capture.
  walk_.reset();
  capture_id_ = 0;
  auto regions = target().regions();
  if (!regions) return fail(regions.error());
  if (auto read = refresh(*regions); !read) return fail(read.error());
  DumpOptions options;
  options.threads = {tid};
  options.stop_timeout = kStopTimeout;
  options.vectors = true;
  auto capture = session_->capture(options);
  if (!capture) return fail(capture.error());
  if (capture->threads.empty()) return fail(ErrorCode::no_such_thread, tid);
  const Error error = capture->threads.front().error;
  if (!capture->threads.front().captured)
    return fail(error.code == ErrorCode::none ? Error{ErrorCode::no_such_thread, 0, tid} : error);
  if (!capture->regions) capture->regions = std::make_shared<const std::vector<Region>>(std::move(*regions));
  walk_ = std::make_unique<Walker::Implementation>(session_->parts(), std::move(*capture), walk_options());
  capture_id_ = ++last_id_;
  return {};
}

/// Lets addresses be asked about while no thread is captured.
Result<void> Engine::ensure_parts() {
  if (walk_) return {};
  auto regions = target().regions();
  if (!regions) return fail(regions.error());
  WalkContext context{Consistency::all_stopped_together,
                      std::make_shared<const std::vector<Region>>(std::move(*regions))};
  walk_ = Walker::Implementation::over(std::move(context), session_->parts(), walk_options());
  return {};
}

const ThreadCapture* Engine::thread() const {
  return walk_ && !walk_->capture.threads.empty() ? &walk_->capture.threads.front() : nullptr;
}

ThreadId Engine::captured_thread() const {
  const ThreadCapture* captured = thread();
  return captured != nullptr ? captured->tid : 0;
}

Dyninst::THR_ID Engine::captured_thread_name() const {
  const auto* numbers = dynamic_cast<const ThreadNumbers*>(&session_->target());
  return numbers != nullptr ? numbers->name_of(captured_thread()) : static_cast<Dyninst::THR_ID>(captured_thread());
}

std::optional<ThreadId> Engine::number_of(Dyninst::THR_ID thread) const {
  const auto* numbers = dynamic_cast<const ThreadNumbers*>(&session_->target());
  return numbers != nullptr ? numbers->number_of(thread) : Dyninst::Stackwalker::engine_thread(thread);
}

std::shared_ptr<const VectorRegisters> Engine::captured_vectors() const {
  const ThreadCapture* captured = thread();
  return captured != nullptr ? captured->vectors : nullptr;
}

void Engine::target_stands(bool still) {
  if (walk_) walk_->walk.stands_still(still);
}

FramePlace Engine::place_of(const Frame& frame, const Registers& registers, const FramePlace* callee) {
  FramePlace place{registers, frame, {}, {}, {}};
  place.frame.registers = place.frame.evidence = 0;
  if (callee == nullptr) {
    locate_innermost(place);
  } else {
    locate(*callee, place);
  }
  return place;
}

WalkedStack Engine::walk(walk::Advisor* advisor) {
  WalkedStack stack;
  const ThreadCapture* captured = thread();
  if (captured == nullptr) return stack;
  const bool is_nested = std::exchange(is_walking_, true);
  Trace trace = std::move(walk_->walk.walk(*captured, kMaxFrames, advisor).trace);
  is_walking_ = is_nested;
  stack.stop = trace.stop;
  stack.error = trace.stop_error;
  stack.places.reserve(trace.frames.size());
  for (const Frame& frame : trace.frames) {
    const Registers* registers = registers_of(trace, frame);
    const FramePlace* callee = stack.places.empty() ? nullptr : &stack.places.back();
    stack.places.push_back(place_of(frame, registers != nullptr ? *registers : Registers(), callee));
  }
  return stack;
}

std::optional<FramePlace> Engine::initial() {
  const ThreadCapture* captured = thread();
  if (captured == nullptr) return std::nullopt;
  Cursor cursor = walk_->walk.walker().initial(walk_->walk.input_for(*captured));
  FramePlace place{cursor.registers, cursor.frame, {}, {}, {}};
  locate_innermost(place);
  return place;
}

Frame Engine::classify(Address address) {
  if (!ensure_parts()) return Frame{.pc = CodeAddress::exact(address)};
  ThreadInput input;
  input.registers = Registers(target().info().arch);
  input.registers.set_pc(address);
  return walk_->walk.walker().initial(input).frame;
}

FramePlace Engine::place_at(const Registers& registers, bool interrupted) {
  FramePlace place;
  place.registers = registers;
  const CodeAddress pc = interrupted ? CodeAddress::exact(registers.pc()) : CodeAddress::after_call(registers.pc());
  place.frame = classify(pc.lookup());
  place.frame.pc = pc;
  place.frame.sp = registers.sp();
  place.frame.is_interrupted = interrupted;
  place.frame.found_by = StepperId::none;
  return place;
}

void Engine::forget_frame_base(FramePlace& place) {
  FramePlace without = place;
  without.registers.forget(arch_registers(place.registers.arch()).fp);
  const Step step = this->step(without);
  const bool knows_caller = step.status == StepStatus::caller;
  if (knows_caller && step.caller.frame.sp - kFrameRecord == place.registers.fp()) place = without;
}

Engine::Step Engine::step_to(const FramePlace& from, const Cursor& caller, const StepOutcome& outcome) {
  Step step{outcome.status, outcome.error, {}};
  if (outcome.status != StepStatus::caller) return step;
  step.caller.registers = caller.registers;
  step.caller.frame = caller.frame;
  locate(from, step.caller);
  return step;
}

Engine::Step Engine::step(const FramePlace& from, walk::Advisor* advisor) {
  const ThreadCapture* captured = thread();
  if (captured == nullptr) return {StepStatus::failed, {ErrorCode::no_such_thread, 0, 0}, {}};
  Cursor cursor{from.registers, from.frame};
  const bool is_nested = std::exchange(is_walking_, true);
  const StepOutcome outcome = walk_->walk.walker().step(cursor, walk_->walk.input_for(*captured), advisor);
  is_walking_ = is_nested;
  Step step = step_to(from, cursor, outcome);
  if (outcome.status != StepStatus::failed) return step;
  Trace end;
  end.frames = {from.frame};
  end.stop = outcome.error.code == ErrorCode::no_unwind_info ? StopReason::no_unwind_info : StopReason::max_frames;
  walk_->walk.judge_stop(end);
  if (end.stop == StopReason::end_of_stack) step.status = StepStatus::end_of_stack;
  return step;
}

bool Engine::is_outermost(const FramePlace& at) { return step(at).status == StepStatus::end_of_stack; }

bool Engine::read_word(Address address, std::uint64_t& word) {
  const ThreadCapture* captured = thread();
  return captured != nullptr && walk_->walk.input_for(*captured).stack.word(address, word);
}

bool Engine::follows_call(Address return_address, Address& target) {
  target = 0;
  std::array<std::byte, arch::kMaxCallLength> before{};
  if (!ensure_parts() || return_address < before.size()) return false;
  if (!walk_->walk.memory().read_exact(return_address - before.size(), before)) return false;
  const auto call = arch::call_before(this->target().info().arch, before, return_address);
  if (call) target = call->target.value_or(0);
  return call.has_value();
}

SymbolInfo Engine::name(const Frame& frame) {
  if (!ensure_parts()) return {};
  return walk_->symbolizer.symbols()[walk_->symbolizer.name(frame)];
}

std::optional<Address> Engine::function_start(Address address) {
  const Frame frame = classify(address);
  if (frame.kind == FrameKind::managed && frame.method_start != 0) return frame.method_start;
  if (frame.kind != FrameKind::native) return std::nullopt;
  return walk_->elf.function_start(frame);
}

}  // namespace mixstack::stackwalker
