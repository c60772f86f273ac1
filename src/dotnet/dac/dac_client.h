// The library's side of the conversation: asks the helper, serves it memory and registers, survives it.
#pragma once

#include <chrono>
#include <functional>

#include "dotnet/dac/assembly_file.h"
#include "dotnet/dac/helper_process.h"
#include "mixstack/memory_reader.h"

namespace mixstack::dotnet::dac {

struct ClientLimits {
  std::chrono::milliseconds silence{5000};   ///< longest time without a word from the helper
  std::chrono::milliseconds request{10000};  ///< longest time for one answer
  std::chrono::milliseconds total{10000};    ///< for all answers of one dump, starts and restarts included
  std::uint64_t storage = 256u << 20;        ///< bytes that all answers of one dump may make us hold
  std::uint32_t max_frames = 1u << 18;
  std::uint32_t max_threads = 1u << 16;
  unsigned restarts = 8;  ///< after crashes and hangs; their time counts in `total`
};

/// The answers to the helper's questions come from here. Borrowed; bound for the length of a capture.
struct Source {
  const MemoryReader* memory = nullptr;
  /// Registers of a thread (its id in the target's own pid namespace), or null.
  std::function<const Registers*(std::uint32_t)> registers;
};

/// Starts the helper when first asked. Every failure is a diagnosis and leaves the client usable: after a crash or a
/// hang the next question starts a new helper, up to `restarts` times; a question over which the helper crashed is
/// asked again a few times. When the time or the memory for all its answers is used up, the helper is ended and nothing
/// is asked any more. Not thread-safe.
class DacClient {
 public:
  struct Setup {
    base::TrustedFile helper;  ///< mixstack-helper
    std::string subject;       ///< the name of the DAC in diagnoses: its path
    base::ScopedFd dac;        ///< see sealed_copy
    Opening facts;
    /// Opens files as the target sees them: assemblies whose metadata is not in its memory.
    std::function<Result<std::shared_ptr<const FileBytes>>(const std::string&)> open_path;
    ClientLimits limits;
  };
  explicit DacClient(Setup setup) : setup_(std::move(setup)) {}

  /// The state for all later questions; the helper forgets what it has read of an earlier one.
  void bind(Source source);
  /// Begins another dump with a new budget; a budget that was used up stays so.
  void renew_budget();

  /// Starts the helper and opens the DAC, if that is not done.
  [[nodiscard]] Outcome<void> open();
  [[nodiscard]] Outcome<std::vector<ThreadRecord>> threads();
  struct Walk {
    std::vector<Element> elements;
    WalkEnd end = WalkEnd::end_of_stack;
    std::int32_t result = 0;  ///< HRESULT when it failed
  };
  [[nodiscard]] Outcome<Walk> walk(const WalkRequest& request);
  [[nodiscard]] Outcome<Description> describe(Address code);
  [[nodiscard]] Outcome<Description> describe_method(Address method);

  [[nodiscard]] pid_t helper_pid() const { return helper_.pid(); }

 private:
  using Sink = std::function<bool(const DacMessage&)>;  ///< true: the answer is complete
  using Deadline = MessageChannel::Clock::time_point;

  template <class Ask>
  [[nodiscard]] auto again_after_crash(Ask ask) -> decltype(ask());
  [[nodiscard]] Outcome<std::vector<ThreadRecord>> threads_once();
  [[nodiscard]] Outcome<Walk> walk_once(const WalkRequest& request);
  [[nodiscard]] Outcome<Description> describe_once(Address code);
  [[nodiscard]] Outcome<Description> describe_method_once(Address method);
  [[nodiscard]] Outcome<void> start();
  /// Sends a question and serves the helper until its answer is complete.
  [[nodiscard]] Outcome<void> ask(MessageType question, std::span<const std::byte> payload, MessageType answer,
                                  const Sink& sink);
  [[nodiscard]] Outcome<void> converse(MessageType question, std::span<const std::byte> payload, MessageType answer,
                                       const Sink& sink);
  [[nodiscard]] Outcome<void> exchange(MessageType question, std::span<const std::byte> payload, MessageType answer,
                                       const Sink& sink);
  [[nodiscard]] Result<void> serve(const DacMessage& message);
  [[nodiscard]] Result<void> serve_memory(const DacMessage& message);
  [[nodiscard]] Result<void> serve_context(const DacMessage& message);
  [[nodiscard]] Result<void> serve_metadata(const DacMessage& message);
  [[nodiscard]] Deadline next_deadline() const;
  [[nodiscard]] bool is_late() const;
  /// Counts bytes that an answer makes us hold. False: too many.
  [[nodiscard]] bool charge(std::size_t bytes);
  /// Ends the helper and says why.
  [[nodiscard]] mixstack::Diagnosis lost(const Error& error);
  [[nodiscard]] mixstack::Diagnosis refused(const DacMessage& message);

  Setup setup_;
  Source source_;
  AssemblyFile assembly_;  ///< the one of the last request
  HelperProcess helper_;
  Deadline request_deadline_{}, budget_end_{};
  std::chrono::nanoseconds time_spent_{};  ///< by finished conversations of this dump
  std::uint64_t bytes_held_ = 0;           ///< by all answers of this dump
  bool is_open_ = false;
  bool is_stale_ = false;
  bool has_crashed_ = false;  ///< the helper, over the last question
  unsigned starts_ = 0;
  std::optional<mixstack::Diagnosis> refusal_;  ///< a DAC that cannot be opened, or asked too much, is not tried again
};

}  // namespace mixstack::dotnet::dac
