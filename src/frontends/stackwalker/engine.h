// The parts of mixstack that the StackwalkerAPI's classes use: a session over a target, the capture being walked,
// single steps.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "session/process_session.h"
#include "stackwalker/dyntypes.h"

namespace mixstack::stackwalker {

/// Where a register's value was found.
struct Location {
  enum class Kind : std::uint8_t { unknown, memory, in_register } kind = Kind::unknown;
  Address address = 0;  ///< of memory
  unsigned reg = 0;     ///< of in_register: its DWARF number
};

/// A frame, its registers, and where their values were found.
struct FramePlace {
  Registers registers;
  Frame frame;
  Location ra, sp, fp;
};

/// A frame's FP as the manual defines it: the frame pointer register if it points into the frame, as at the top; else
/// the beginning of the frame, where a frame record is or would be. 0 if neither is known.
[[nodiscard]] Address frame_pointer_of(const FramePlace& place);

struct WalkedStack {
  std::vector<FramePlace> places;  ///< innermost first
  StopReason stop = StopReason::not_captured;
  Error error;
};

inline constexpr std::uint32_t kMaxFrames = 65536;

/// The registers that a trace keeps for a frame, or null.
[[nodiscard]] const Registers* registers_of(const Trace& trace, const Frame& frame);

/// The ways to find a caller that the StackwalkerAPI has a stepper for.
enum class Method : std::uint8_t { unwind_info, signal, frame_pointer, prologue, scan };

/// Keeps one capture of one thread at a time. Walks and steps use its copied bytes, so that the target runs meanwhile.
/// Not thread-safe.
class Engine : public std::enable_shared_from_this<Engine> {
 public:
  [[nodiscard]] static Result<std::shared_ptr<Engine>> open(std::unique_ptr<Target> target);

  [[nodiscard]] Target& target() { return session_->target(); }
  [[nodiscard]] const images::ModuleMap& modules() { return session_->facts()->modules(); }
  [[nodiscard]] symbols::SymbolTables& tables() { return session_->symbol_tables(); }
  /// Reads the modules again if the mappings of files have changed; true if so, and then the capture ends. Does nothing
  /// during a walk.
  [[nodiscard]] Result<bool> refresh();

  /// Replaces the capture. Errors: those of the target; the thread's own if it could not be captured; invalid_argument
  /// during a walk.
  [[nodiscard]] Result<void> capture(ThreadId tid);
  /// Number of the capture, 0: none.
  [[nodiscard]] std::uint64_t capture_id() const { return capture_id_; }
  [[nodiscard]] ThreadId captured_thread() const;
  /// The API's name of it.
  [[nodiscard]] Dyninst::THR_ID captured_thread_name() const;
  /// Our number of a thread; nothing for what is none.
  [[nodiscard]] std::optional<ThreadId> number_of(Dyninst::THR_ID thread) const;
  /// Vector registers of the captured thread's innermost frame; null if the target has none.
  [[nodiscard]] std::shared_ptr<const VectorRegisters> captured_vectors() const;

  /// While the thread is stopped as captured, memory outside of its copied stack is read from the target.
  void target_stands(bool still);
  /// A walk is under way: the capture stays, whatever an advisor does.
  [[nodiscard]] bool is_walking() const { return is_walking_; }

  /// Walks the captured thread with all mechanisms: two witnesses for each transition between native and managed code.
  [[nodiscard]] WalkedStack walk(walk::Advisor* advisor = nullptr);
  /// A walked frame with its locations; without `callee` it is the innermost.
  [[nodiscard]] FramePlace place_of(const Frame& frame, const Registers& registers, const FramePlace* callee);
  /// The innermost frame of the captured thread.
  [[nodiscard]] std::optional<FramePlace> initial();
  /// A frame that no walk found. `interrupted`: its pc is exact, not a return address.
  [[nodiscard]] FramePlace place_at(const Registers& registers, bool interrupted);
  /// Forgets a frame pointer register that was made from a frame's FP, if that FP is only the beginning of the frame.
  void forget_frame_base(FramePlace& place);

  struct Step {
    StepStatus status = StepStatus::failed;
    Error error;
    FramePlace caller;
  };
  /// One step by the chain of steppers, like `Walker::step`.
  [[nodiscard]] Step step(const FramePlace& from, walk::Advisor* advisor = nullptr);
  /// One step by one mechanism alone. not_mine: it does not apply.
  [[nodiscard]] Step step_by(Method method, const FramePlace& from);
  /// Whether it has no caller: the unwind information says so, or it is the first function of a program or thread.
  [[nodiscard]] bool is_outermost(const FramePlace& at);
  /// Whether a call instruction ends at the address. `target` is 0 for indirect calls.
  [[nodiscard]] bool follows_call(Address return_address, Address& target);
  [[nodiscard]] bool read_word(Address address, std::uint64_t& word);

  [[nodiscard]] SymbolInfo name(const Frame& frame);
  /// Describes the code at an address as a frame.
  [[nodiscard]] Frame classify(Address address);
  /// Start address of the function around it, if a symbol says so.
  [[nodiscard]] std::optional<Address> function_start(Address address);

 private:
  explicit Engine(std::unique_ptr<session::ProcessSession> session) : session_(std::move(session)) {}
  struct Mapping {
    AddressRange range;
    std::uint64_t inode = 0;
    friend bool operator==(const Mapping&, const Mapping&) = default;
  };
  [[nodiscard]] static std::vector<Mapping> file_mappings(const std::vector<Region>& regions);
  [[nodiscard]] Result<bool> refresh(const std::vector<Region>& regions);
  [[nodiscard]] Result<void> ensure_parts();
  [[nodiscard]] const ThreadCapture* thread() const;
  void locate(const FramePlace& from, FramePlace& to);
  [[nodiscard]] bool locate_by_rule(const FramePlace& from, FramePlace& to);
  void locate_by_record(const FramePlace& from, FramePlace& to);
  [[nodiscard]] Step ask(walk::FrameStepper& stepper, const FramePlace& from);
  [[nodiscard]] Step step_to(const FramePlace& from, const Cursor& caller, const StepOutcome& outcome);
  [[nodiscard]] Step scan(const FramePlace& from);
  [[nodiscard]] bool is_signal_frame(const FramePlace& at);

  std::unique_ptr<session::ProcessSession> session_;
  std::vector<Mapping> mappings_;
  std::unique_ptr<Walker::Implementation> walk_;  ///< over the capture
  std::uint64_t capture_id_ = 0;
  std::uint64_t last_id_ = 0;
  bool is_walking_ = false;
};

}  // namespace mixstack::stackwalker
