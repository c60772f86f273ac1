// What the StackwalkerAPI's classes need of mixstack: a session over a target, the capture being walked, single steps.
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

/// A frame with all that is known of it.
struct Place {
  Registers registers;
  Frame frame;
  Location ra, sp, fp;
};

/// What the manual calls a frame's FP: the frame pointer register where it points into the frame, as it does at the
/// top; else the beginning of the frame, where a frame record is or would be. 0 where neither is known.
[[nodiscard]] Address frame_pointer_of(const Place& place);

struct WalkedStack {
  std::vector<Place> places;  ///< innermost first
  StopReason stop = StopReason::not_captured;
  Error error;
};

inline constexpr std::uint32_t kMaxFrames = 65536;

/// What a trace keeps of a frame's registers, or null.
[[nodiscard]] const Registers* registers_of(const Trace& trace, const Frame& frame);

/// The ways to find a caller that have a stepper of their own in the StackwalkerAPI.
enum class Method : std::uint8_t { unwind_info, signal, frame_pointer, prologue, scan };

/// Keeps one capture of one thread at a time; walking and stepping happen on its copied bytes, so the target runs
/// meanwhile. Not thread-safe.
class Engine : public std::enable_shared_from_this<Engine> {
 public:
  [[nodiscard]] static Result<std::shared_ptr<Engine>> open(std::unique_ptr<Target> target);

  [[nodiscard]] Target& target() { return session_->target(); }
  [[nodiscard]] const object::ModuleMap& modules() { return session_->facts()->modules(); }
  [[nodiscard]] symbolize::SymbolTables& tables() { return session_->symbol_tables(); }
  /// Reads the modules again if the mappings of files have changed; true if so. Ends the capture then. Does nothing
  /// during a walk.
  [[nodiscard]] Result<bool> refresh();

  /// Replaces the capture. Errors: those of the target; the thread's own, if it could not be captured.
  [[nodiscard]] Result<void> capture(ThreadId tid);
  /// Number of the capture, 0: none.
  [[nodiscard]] std::uint64_t capture_id() const { return capture_id_; }
  [[nodiscard]] ThreadId captured_thread() const;
  /// The API's name of it.
  [[nodiscard]] Dyninst::THR_ID captured_thread_name() const;
  /// Our number of a thread; nothing for what is none.
  [[nodiscard]] std::optional<ThreadId> number_of(Dyninst::THR_ID thread) const;
  /// Of the captured thread's innermost frame; null where the target does not tell.
  [[nodiscard]] std::shared_ptr<const VectorRegisters> captured_vectors() const;

  /// While the thread stands as it was captured, what lies off its captured stack is read from its memory.
  void target_stands(bool still);
  /// A walk is under way: the capture stays, whatever an advisor asks for.
  [[nodiscard]] bool is_walking() const { return is_walking_; }

  /// The whole captured thread by the whole engine: both witnesses of each transition between native and managed code.
  [[nodiscard]] WalkedStack walk(walk::Advisor* advisor = nullptr);
  /// A walked frame with its places; without `callee` it is the innermost.
  [[nodiscard]] Place place_of(const Frame& frame, const Registers& registers, const Place* callee);
  /// The innermost frame of the captured thread.
  [[nodiscard]] std::optional<Place> initial();
  /// A frame that was not walked to. `interrupted`: it did not call.
  [[nodiscard]] Place place_at(const Registers& registers, bool interrupted);
  /// Forgets a frame pointer register that was made of a frame's FP, where that was but the beginning of the frame.
  void forget_frame_base(Place& place);

  struct Step {
    StepStatus status = StepStatus::failed;
    Error error;
    Place caller;
  };
  /// By the chain of steppers, as `Walker::step`.
  [[nodiscard]] Step step(const Place& from, walk::Advisor* advisor = nullptr);
  /// By one mechanism alone. Not mine: it does not apply.
  [[nodiscard]] Step step_by(Method method, const Place& from);
  /// No caller: the unwind information says so, or it is a program's or thread's first function.
  [[nodiscard]] bool is_outermost(const Place& at);
  /// Does a call end at the address? (Its target is 0 for indirect calls.)
  [[nodiscard]] bool follows_call(Address return_address, Address& target);
  [[nodiscard]] bool read_word(Address address, std::uint64_t& word);

  [[nodiscard]] SymbolInfo name(const Frame& frame);
  /// The frame description of an address: what code lies there.
  [[nodiscard]] Frame classify(Address address);
  /// First address of the function around it, if a symbol tells.
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
  [[nodiscard]] Result<void> begin(Capture capture, std::vector<Region> regions);
  [[nodiscard]] const ThreadCapture* thread() const;
  void locate(const Place& from, Place& to);
  [[nodiscard]] bool locate_by_rule(const Place& from, Place& to);
  void locate_by_record(const Place& from, Place& to);
  [[nodiscard]] Step ask(walk::FrameStepper& stepper, const Place& from);
  [[nodiscard]] Step step_to(const Place& from, const Cursor& caller, const StepOutcome& outcome);
  [[nodiscard]] Step scan(const Place& from);
  [[nodiscard]] bool is_signal_frame(const Place& at);

  std::unique_ptr<session::ProcessSession> session_;
  std::vector<Mapping> mappings_;
  std::unique_ptr<Walker::Implementation> walk_;  ///< over the capture
  std::uint64_t capture_id_ = 0;
  std::uint64_t last_id_ = 0;
  bool is_walking_ = false;
};

}  // namespace mixstack::stackwalker
