// The walker that samples are walked with, and what is known of the code that lay at their places.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "features/record/code_changes.h"
#include "features/record/sample_source.h"
#include "features/record/shared_recording.h"
#include "mixstack/walker.h"

namespace mixstack::record {

/// When a sample was taken (ns): at some moment between the two.
struct Taken {
  std::uint64_t from_ns = 0, until_ns = 0;
};

/// Makes walkers and keeps the last one. Batches of threads that were not stopped share one, since all are walked over
/// their own bytes: a new walker for each batch costs more than its walks. One thread at a time.
class SampleWalker {
 public:
  /// none -> of_samples, of_stop: `make`. of_samples -> of_samples: `renew`. Any -> none: the session could make no
  /// walker (its process has ended).
  enum class State : std::uint8_t {
    none,
    of_samples,  ///< shared by batches
    of_stop,     ///< owns the bytes of one stop
  };
  /// `mappings_are_told`: a source reports new mappings of code (`SampleBatch::mapped`).
  SampleWalker(SharedSession& session, std::uint32_t max_frames, bool mappings_are_told)
      : session_(session), max_frames_(max_frames), mappings_are_told_(mappings_are_told) {}

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] bool is_shared() const { return state_ == State::of_samples; }
  /// Only if there is one.
  [[nodiscard]] Walker& operator*() { return *walker_; }
  [[nodiscard]] Walker* operator->() { return &*walker_; }
  [[nodiscard]] std::uint64_t made_ns() const { return made_ns_; }
  /// A collection was pending when the last walker was made.
  [[nodiscard]] bool gc_pending() const { return gc_pending_; }
  [[nodiscard]] const CodeChanges& changes() const { return changes_; }

  /// For a batch, which was taken then.
  [[nodiscard]] Result<void> make(Capture capture, Taken taken);
  /// Another one of samples, with the mappings as they are now. False: none could be made.
  [[nodiscard]] bool renew();

  /// Takes what a source reports out of its batch.
  void note_mapped(SampleBatch& batch);
  /// Whether mappings made until that moment, or until the walker read the mappings, may not be reported yet.
  [[nodiscard]] bool is_ahead_of_reports(std::uint64_t until_ns = 0) const;
  /// It is shared, code has changed, and it is old enough to be made anew.
  [[nodiscard]] bool may_be_renewed() const;
  /// Whether code was mapped at the place after the walker's mappings were read and before the sample was taken.
  [[nodiscard]] bool is_newer_code(CodeAddress place, Taken taken) const;
  /// Whether the walker may know other code at the place than was there when the sample was taken.
  [[nodiscard]] bool is_other_code(CodeAddress place, Taken taken) const;

 private:
  static constexpr std::uint64_t kLeastLife = 2'000'000;         ///< ns: for targets that map code all the time
  static constexpr std::uint64_t kMappingsLife = 1'000'000'000;  ///< ns: unmapping is not reported

  /// The mappings that the walker knows.
  struct Mappings {
    enum class Origin : std::uint8_t {
      read,     ///< when it was made
      lent,     ///< by the walker before: no source has reported a change
      of_stop,  ///< with its threads
    };
    std::shared_ptr<const std::vector<Region>> list;  ///< null: to be read again
    Origin origin = Origin::read;
    std::uint64_t begin_ns = 0, end_ns = 0;  ///< when reading them began and ended
  };

  void choose_mappings(std::shared_ptr<const std::vector<Region>>& regions, State wanted, Taken taken);
  [[nodiscard]] Result<void> keep(Result<Walker> made, State wanted, Taken taken);

  SharedSession& session_;
  std::uint32_t max_frames_;
  bool mappings_are_told_;
  State state_ = State::none;
  std::optional<Walker> walker_;
  std::uint64_t made_ns_ = 0;  ///< 0: no walker was made yet
  bool gc_pending_ = false;
  Mappings mappings_;
  ReportedCode known_code_;
  CodeChanges changes_;
  std::uint64_t told_until_ns_ = 0;  ///< all mappings made until then are known
};

}  // namespace mixstack::record
