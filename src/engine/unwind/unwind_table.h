// The unwind information of one image: from a code location to its rule. The index is made at construction; functions
// are compiled into rows of interned rules when they are first asked for.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>

#include "engine/images/elf_image.h"
#include "engine/unwind/cfi_compiler.h"
#include "engine/unwind/cfi_interpreter.h"
#include "engine/unwind/fde_index.h"
#include "engine/unwind/lazy_section.h"
#include "engine/unwind/row_store.h"
#include "engine/unwind/rule.h"

namespace mixstack::unwind {

/// All addresses are link-time addresses (target address minus load bias), so one table serves every process that has
/// the image loaded. Thread-safe: look-ups take no lock; the first look-up in a function takes one for some 300 ns.
/// .debug_frame is asked where .eh_frame has nothing. Hostile sections cost time and memory in proportion to the FDEs
/// touched, and give `interpret` or no rule.
class UnwindTable final : public ExpressionPool {
 public:
  struct Options {
    std::shared_ptr<const void> keep_alive;            ///< owner of the sections' bytes, normally the ElfImage
    BytesAt bytes_at;                                  ///< for pointers of indirect encoding; may be empty
    std::unique_ptr<const LazySection> lazy_eh_frame;  ///< where `eh_frame.bytes` was left empty
    bool corrects_known_errors = true;                 ///< known_cfi_errors.h; needs `bytes_at`
  };
  /// Never null. Without usable sections the table is empty.
  [[nodiscard]] static std::shared_ptr<const UnwindTable> create(const images::UnwindSections& sections,
                                                                 Options options);
  /// Keeps the image alive and reads indirect pointers through it.
  [[nodiscard]] static std::shared_ptr<const UnwindTable> create(std::shared_ptr<const images::ElfImage> image,
                                                                 bool corrects_known_errors = true);

  [[nodiscard]] Arch arch() const { return arch_; }
  [[nodiscard]] bool empty() const { return parts_[0].index.size() == 0 && parts_[1].index.size() == 0; }

  /// The table's rule for `pc`. Kind `none`: not covered; `interpret`: use `rule`. Valid as long as the table.
  [[nodiscard]] const CompactRule& find(std::uint64_t pc) const {
    const CompactRule& rule = find_in(parts_[0], pc);
    if (rule.kind != CompactKind::none) [[likely]]
      return rule;
    return find_elsewhere(pc);
  }
  /// The rule in general form, by any means. `load_bias` is for expressions with addresses. Errors: `no_unwind_info`
  /// (value = pc), or the FDE's fault. The rule borrows the table.
  [[nodiscard]] Result<UnwindRule> rule(std::uint64_t pc, std::uint64_t load_bias = 0) const;
  /// The same by executing the FDE, never by the compiled table.
  [[nodiscard]] Result<UnwindRule> interpret(std::uint64_t pc, std::uint64_t load_bias = 0) const;
  /// Code of the function (as its FDE says) around `pc`.
  [[nodiscard]] std::optional<AddressRange> function_at(std::uint64_t pc) const;

  [[nodiscard]] std::span<const std::byte> expression(std::uint32_t number) const override;

  /// Compiles everything now. For benchmarks and tests.
  void compile_all() const;
  struct Statistics {
    std::size_t functions = 0, rows = 0, rules = 0;
    std::size_t bytes = 0;  ///< of rows, rules, index and states, without borrowed sections
    std::size_t section_bytes = 0;
  };
  [[nodiscard]] Statistics statistics() const;
  /// Start of code of every function that has an FDE, ascending per section.
  [[nodiscard]] std::vector<std::uint64_t> function_starts() const;

  explicit UnwindTable(const images::UnwindSections& sections, Options options);

 private:
  struct FreeMemory {
    void operator()(void* memory) const { std::free(memory); }
  };
  struct Part {
    Part(CfiSection cfi, const images::Section& header);

    /// The FDE that an empty one hides; nothing where there is none.
    [[nodiscard]] std::optional<std::uint64_t> hidden_by(const Fde& empty) const;

    CfiSection section;
    FdeIndex index;
    mutable std::once_flag has_scanned;
    mutable std::unique_ptr<const FdeIndex> scanned;  ///< of the section itself, made when an empty FDE is found
    std::unique_ptr<std::atomic<std::uint32_t>[], FreeMemory> runs;  ///< RowRun of each FDE
    std::unique_ptr<CfiCompiler> compiler;                           ///< under `mutex_`
  };
  static constexpr unsigned kLookBack = 8;

  [[nodiscard]] const CompactRule& find_in(const Part& part, std::uint64_t pc) const {
    const std::size_t i = part.index.find(pc);
    if (i == part.index.size()) return rows_.rule(RowStore::kNoRule);
    return find_at(part, i, pc);
  }
  [[nodiscard]] const CompactRule& find_at(const Part& part, std::size_t i, std::uint64_t pc) const {
    RowRun run(part.runs[i].load(std::memory_order_acquire));
    if (run.word() == RowRun::kEmpty || run.word() == RowRun::kNotCompiled) [[unlikely]] {
      run = compile(part, i);
      if (run.word() == RowRun::kNotCompiled) return not_compiled(part, i, pc);
    }
    return rows_.find(run, pc - part.index.code(i));
  }
  [[nodiscard]] const CompactRule& find_elsewhere(std::uint64_t pc) const;
  [[nodiscard]] const CompactRule& not_compiled(const Part& part, std::size_t i, std::uint64_t pc) const;
  [[nodiscard]] RowRun compile(const Part& part, std::size_t i) const;
  [[nodiscard]] CfiSection section(CfiFlavour flavour, const images::UnwindSections& sections) const;

  struct Found {
    const Part* part = nullptr;
    Cie cie;
    Fde fde;
  };
  [[nodiscard]] Result<Found> fde_at(std::uint64_t pc) const;
  [[nodiscard]] static Result<Found> read_fde_of(const Part& part, std::uint64_t offset);
  [[nodiscard]] static Result<Found> read_at(const Part& part, std::size_t i);

  Arch arch_;
  Options options_;
  Part parts_[2];  ///< .eh_frame, .debug_frame
  mutable std::mutex mutex_;
  mutable RowStore rows_;
};

}  // namespace mixstack::unwind
