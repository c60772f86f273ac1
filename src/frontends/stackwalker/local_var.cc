#include "stackwalker/local_var.h"

#include <algorithm>
#include <cstring>

#include "frontends/stackwalker/access.h"
#include "frontends/stackwalker/error_map.h"
#include "frontends/stackwalker/symtab_store.h"
#include "process/kernel/vector_set.h"

namespace Dyninst::Stackwalker {
namespace {

using mixstack::stackwalker::SymtabAccess;
using mixstack::symbols::VariableStatus;

constexpr unsigned kCallersAsked = 4;

/// Reads through the Walker's ProcessState.
class StateReader final : public mixstack::MemoryReader {
 public:
  explicit StateReader(ProcessState& state) : state_(state) {}
  [[nodiscard]] mixstack::Result<std::size_t> read_some(Address address, std::span<std::byte> out) const override {
    try {
      if (state_.readMem(out.data(), address, out.size())) return out.size();
    } catch (...) {
    }
    return mixstack::fail(mixstack::ErrorCode::unreadable_memory, address);
  }

 private:
  ProcessState& state_;
};

int failed_with(int code, err_t error, const char* text) {
  setLastError(error, text);
  return code;
}

mixstack::Registers registers_of(const Frame& frame, Engine& engine, mixstack::Arch arch) {
  const auto origin = FrameAccess::origin(frame);
  if (origin && FrameAccess::is_as_found(frame) && origin->found->engine.lock().get() == &engine)
    return origin->place.registers;
  mixstack::Registers registers(arch);
  registers.set_pc(frame.getRA());
  registers.set_sp(frame.getSP());
  registers.set_fp(frame.getFP());
  return registers;
}

/// Walks do not follow vector registers through calls: they are known where a thread stopped, and where a signal
/// interrupted it.
std::shared_ptr<const mixstack::VectorRegisters> vectors_of(const std::vector<Frame>& swalk, unsigned index,
                                                            const StateReader& memory) {
  const auto place_of = [&](unsigned i) -> const FramePlace* {
    const auto origin = FrameAccess::origin(swalk[i]);
    return origin && FrameAccess::is_as_found(swalk[i]) ? &origin->place : nullptr;
  };
  const FramePlace* place = place_of(index);
  if (place == nullptr) return nullptr;
  if (place->frame.found_by == mixstack::StepperId::initial) return FrameAccess::origin(swalk[index])->found->vectors;
  const FramePlace* callee = index > 0 && place->frame.is_interrupted ? place_of(index - 1) : nullptr;
  if (callee == nullptr || callee->frame.kind != mixstack::FrameKind::signal_trampoline) return nullptr;
  return mixstack::process::read_interrupted_vectors(place->registers.arch(), memory, callee->frame.sp);
}

/// A frame of a call stack as debug information sees it: offset, file, and registers.
struct VariableFrame {
  SymtabAPI::Function* function = nullptr;
  mixstack::symbols::DwarfFile* file = nullptr;
  mixstack::Registers registers;
  std::shared_ptr<const mixstack::VectorRegisters> vectors;
  mixstack::symbols::DwarfFrame frame;
};

/// Null without debug information. `frame` borrows from the place and from `memory`.
std::unique_ptr<VariableFrame> variable_frame(const std::vector<Frame>& swalk, unsigned index, Engine& engine,
                                              const StateReader& memory) {
  const Frame& at = swalk[index];
  auto place = std::make_unique<VariableFrame>();
  std::string library;
  Offset offset = 0;
  void* symtab = nullptr;
  place->function = getFunctionForFrame(at);
  if (place->function == nullptr || !at.getLibOffset(library, offset, symtab)) return nullptr;
  place->file = SymtabAccess::dwarf(*place->function->getSymtab());
  if (place->file == nullptr) return nullptr;
  place->registers = registers_of(at, engine, engine.target().info().arch);
  place->frame.registers = &place->registers;
  place->vectors = vectors_of(swalk, index, memory);
  place->frame.vectors = place->vectors.get();
  place->frame.memory = &memory;
  place->frame.load_bias = at.getRA() - offset;
  const Address lookup = FrameAccess::lookup_address(at);
  place->frame.pc = lookup - place->frame.load_bias;
  if (lookup != at.getRA()) place->frame.return_address = offset;
  // The caller's stack pointer, from the next frame, found by unwind information.
  if (index + 1 < swalk.size() && !at.isBottomFrame()) place->frame.cfa = swalk[index + 1].getSP();
  return place;
}

int copy_value(VariableStatus status, const std::vector<std::byte>& value, void* out_buffer, unsigned out_buffer_size) {
  switch (status) {
    case VariableStatus::found:
      if (value.size() > out_buffer_size)
        return failed_with(glvv_EBufferSize, err_badparam, "the value is larger than the buffer");
      std::memcpy(out_buffer, value.data(), value.size());
      return glvv_Success;
    case VariableStatus::unknown_variable:
      return failed_with(glvv_EParam, err_badparam, "no variable of this frame's function");
    case VariableStatus::out_of_scope:
      return failed_with(glvv_EOutOfScope, err_nosymbol, "the variable has no place here");
    case VariableStatus::unavailable:
      break;
  }
  return failed_with(glvv_EUnknown, err_unsupported, "the value cannot be had: optimised away, or not readable");
}

}  // namespace

SymtabAPI::Function* getFunctionForFrame(Frame f) {
  std::string library;
  Offset offset = 0;
  void* symtab = nullptr;
  if (!f.getLibOffset(library, offset, symtab)) return nullptr;
  if (symtab == nullptr) {
    setLastError(err_symtab, "the frame's code has no symbol table");
    return nullptr;
  }
  // A return address may already lie in the next function.
  const Offset lookup = offset - (f.getRA() - FrameAccess::lookup_address(f));
  SymtabAPI::Function* function = nullptr;
  (void)static_cast<SymtabAPI::Symtab*>(symtab)->getContainingFunction(lookup, function);
  return function;
}

int getLocalVariableValue(SymtabAPI::localVar* var, std::vector<Frame>& swalk, unsigned frame, void* out_buffer,
                          unsigned out_buffer_size) {
  clearLastError();
  if (var == nullptr || frame >= swalk.size() || out_buffer == nullptr)
    return failed_with(glvv_EParam, err_badparam, "no variable, no such frame, or no buffer");
  const Frame& at = swalk[frame];
  SymtabAPI::Function* function = getFunctionForFrame(at);
  if (function == nullptr || function != SymtabAccess::function_of(*var))
    return failed_with(glvv_EParam, err_badparam, "not a variable of this frame's function");
  const auto engine = WalkerAccess::engine(at.getWalker());
  const StateReader memory(*at.getWalker()->getProcessState());
  std::vector<std::unique_ptr<VariableFrame>> places;
  if (engine) places.push_back(variable_frame(swalk, frame, *engine, memory));
  if (places.empty() || places.front() == nullptr)
    return failed_with(glvv_EUnknown, err_symtab, "no debug information");
  // An argument's value may be described at the call, in terms of the caller's values (DW_OP_entry_value).
  for (unsigned i = 1; i <= kCallersAsked && frame + i < swalk.size() && !swalk[frame + i - 1].isBottomFrame(); i++) {
    auto caller = variable_frame(swalk, frame + i, *engine, memory);
    if (caller == nullptr) break;
    places.back()->frame.caller = &caller->frame;
    places.back()->frame.caller_file = caller->file;
    places.push_back(std::move(caller));
  }
  clearLastError();
  std::vector<std::byte> value;
  const VariableFrame& asked = *places.front();
  const VariableStatus status = asked.file->value(SymtabAccess::die_of(*var), asked.frame, out_buffer_size, value);
  return copy_value(status, value, out_buffer, out_buffer_size);
}

}  // namespace Dyninst::Stackwalker
