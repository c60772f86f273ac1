// Code that compilers other than the .NET runtime generate in the process, by what they write down for tools.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "engine/images/jit_images.h"
#include "engine/symbols/perf_map.h"
#include "engine/unwind/unwind_tables.h"
#include "mixstack/diagnosis.h"
#include "mixstack/symbolizer.h"
#include "mixstack/target.h"
#include "process/live/proc_dir.h"
#include "session/process_generation.h"

namespace mixstack::session {

/// The list that the process keeps for perf (`process/live/perf_map_file.h`) and the images that it shows to debuggers
/// (`engine/images/jit_images.h`), as they were when last looked at. Nothing is read before unknown code is met. One
/// for each session; thread-safe. Borrows the target.
class GeneratedCode {
 public:
  explicit GeneratedCode(const Target& target);

  /// Before any other call: names come from memory alone.
  void leave_out_perf_map() { proc_.reset(); }
  /// Never null. Looked at again where that is due: not sooner than twenty times what the last look took.
  [[nodiscard]] std::shared_ptr<const symbols::PerfMap> perf_map();
  /// Never null. The lists' heads are looked at each time, the rest where these have changed or after a second, and
  /// with the same bound.
  [[nodiscard]] std::shared_ptr<const images::JitImages> images(const std::shared_ptr<const ProcessGeneration>& facts);
  /// As the last call of `images` answered.
  [[nodiscard]] std::shared_ptr<const images::JitImages> known_images() const;
  /// For the unwind information of images; begun anew with each reading of the lists, lest images that are gone are
  /// kept.
  [[nodiscard]] std::shared_ptr<unwind::UnwindTables> tables() const;
  /// The reason why a list exists and is not used: a remark, once for each look.
  [[nodiscard]] std::optional<Diagnosis> take_refusal();

 private:
  using Clock = std::chrono::steady_clock;
  /// When something was looked at last, and when it may be again.
  struct Looked {
    std::optional<Clock::time_point> at;
    Clock::time_point again{};
    [[nodiscard]] bool is_due() const { return !at || Clock::now() >= again; }
    void took(Clock::time_point begin);
  };
  /// The first entry of a list, and the entry that changed last.
  struct Head {
    Address first = 0, relevant = 0;
    friend bool operator==(const Head&, const Head&) = default;
  };

  void find_descriptors(const std::shared_ptr<const ProcessGeneration>& facts);
  [[nodiscard]] std::vector<Head> read_heads() const;
  void refuse(const Error& error);

  const Target& target_;
  std::optional<process::ProcDir> proc_;  ///< none: not a process of this machine
  mutable std::mutex mutex_;
  Looked map_looked_, images_looked_;
  std::uint64_t map_version_ = 0;
  std::shared_ptr<const symbols::PerfMap> map_ = std::make_shared<const symbols::PerfMap>();
  std::optional<Diagnosis> refusal_;
  std::shared_ptr<const ProcessGeneration> searched_;  ///< in whose images the lists were looked for
  std::vector<Address> descriptors_;
  std::vector<Head> heads_;
  std::shared_ptr<const images::JitImages> images_ = std::make_shared<const images::JitImages>();
  std::shared_ptr<unwind::UnwindTables> tables_ = std::make_shared<unwind::UnwindTables>();
};

/// Names such code: first by the symbols of its image, then by the process's list. Frames in memory that can hold no
/// generated code, or that something else knows, are not named. Not thread-safe.
class GeneratedNames final : public NameProvider {
 public:
  GeneratedNames(std::shared_ptr<GeneratedCode> code, std::span<const Region> regions);

  [[nodiscard]] std::string_view provider_name() const override { return "generated code"; }
  [[nodiscard]] std::optional<SymbolInfo> describe(const Frame& frame) override;

 private:
  std::shared_ptr<GeneratedCode> code_;
  std::vector<AddressRange> generated_;
  std::shared_ptr<const symbols::PerfMap> map_;  ///< null: not asked for yet
};

/// Where code may have been generated, ascending as the regions are.
[[nodiscard]] std::vector<AddressRange> generated_memory(std::span<const Region> regions);

}  // namespace mixstack::session
