#include "session/generated_code.h"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/symbols/demangle.h"
#include "process/kernel/memory_map.h"
#include "process/live/perf_map_file.h"

namespace mixstack::session {
namespace {

using namespace std::chrono_literals;

constexpr char kDescriptor[] = "__jit_debug_descriptor";
constexpr std::size_t kMostSymbolBytes = std::size_t{64} << 20;  // of tables that are searched for it
constexpr std::size_t kMostDescriptors = 16;
constexpr auto kSoonest = 50ms;
constexpr unsigned kCostShare = 20;  // one twentieth of the time at most
constexpr auto kImagesLife = 1s;     // an entry in the middle may go, and no head tells

/// For a process of this machine; a core's number is that of a process which has ended.
std::optional<process::ProcDir> directory_of(const Target& target) {
  if (!target.proves_files() || !target.info().core_path.empty()) return std::nullopt;
  auto proc = process::ProcDir::open(target.info().pid);
  return proc ? std::optional(std::move(*proc)) : std::nullopt;
}

std::string refusal_words(const Error& error) {
  if (error.code == ErrorCode::permission_denied && error.os_error == 0)
    return "names of generated code are not taken from it: it is of user " + std::to_string(error.value) +
           ", or others may write it";
  if (error.code == ErrorCode::mismatch)
    return "names of generated code are not taken from it: it was written before the process began";
  if (error.code == ErrorCode::unsupported)
    return "names of generated code are not taken from it: it is no regular file";
  return "names of generated code cannot be read";
}

}  // namespace

void GeneratedCode::Looked::took(Clock::time_point begin) {
  at = Clock::now();
  again = *at + std::max<Clock::duration>(kSoonest, kCostShare * (*at - begin));
}

GeneratedCode::GeneratedCode(const Target& target) : target_(target), proc_(directory_of(target)) {}

void GeneratedCode::refuse(const Error& error) {
  map_ = std::make_shared<const symbols::PerfMap>();
  map_version_ = 0;
  if (error.code == ErrorCode::not_found || error.code == ErrorCode::no_such_process) return;
  refusal_ = Diagnosis{{}, process::perf_map_path(*proc_), refusal_words(error)};
}

std::shared_ptr<const symbols::PerfMap> GeneratedCode::perf_map() {
  const std::lock_guard lock(mutex_);
  if (!proc_ || !map_looked_.is_due()) return map_;
  const auto begin = Clock::now();
  auto read = process::read_perf_map(*proc_, map_version_, symbols::PerfMap::kMostText);
  if (!read) {
    refuse(read.error());
  } else if (read->version != map_version_) {
    map_ = std::make_shared<const symbols::PerfMap>(std::move(read->text));
    map_version_ = read->version;
  }
  map_looked_.took(begin);
  return map_;
}

void GeneratedCode::find_descriptors(const std::shared_ptr<const ProcessGeneration>& facts) {
  if (searched_ == facts) return;
  searched_ = facts;
  descriptors_.clear();
  const images::ModuleMap& modules = facts->modules();
  std::size_t budget = kMostSymbolBytes;
  for (ModuleIndex i = 0; i < modules.modules().size() && descriptors_.size() < kMostDescriptors; i++) {
    if (modules.modules()[i].kind != images::ModuleKind::elf) continue;
    const auto image = modules.image(i);
    if (!image || !(*image)->is_64_bit()) continue;
    if (const auto at = images::find_data_symbol(**image, kDescriptor, budget))
      descriptors_.push_back(modules.modules()[i].load_bias + *at);
  }
}

std::vector<GeneratedCode::Head> GeneratedCode::read_heads() const {
  std::vector<Head> heads;
  for (const Address descriptor : descriptors_)
    heads.push_back({target_.memory().read<Address>(descriptor + 16).value_or(0),
                     target_.memory().read<Address>(descriptor + 8).value_or(0)});
  return heads;
}

std::shared_ptr<const images::JitImages> GeneratedCode::images(const std::shared_ptr<const ProcessGeneration>& facts) {
  const std::lock_guard lock(mutex_);
  find_descriptors(facts);
  if (descriptors_.empty()) return images_ = std::make_shared<const images::JitImages>();
  if (!images_looked_.is_due()) return images_;
  const auto begin = Clock::now();
  auto heads = read_heads();
  if (images_looked_.at && heads == heads_ && begin < *images_looked_.at + kImagesLife) return images_;
  heads_ = std::move(heads);
  images_ = images::JitImages::read(target_.memory(), descriptors_, target_.info().arch, images_.get(), {});
  tables_ = std::make_shared<unwind::UnwindTables>();
  images_looked_.took(begin);
  return images_;
}

std::shared_ptr<unwind::UnwindTables> GeneratedCode::tables() const {
  const std::lock_guard lock(mutex_);
  return tables_;
}

std::shared_ptr<const images::JitImages> GeneratedCode::known_images() const {
  const std::lock_guard lock(mutex_);
  return images_;
}

std::optional<Diagnosis> GeneratedCode::take_refusal() {
  const std::lock_guard lock(mutex_);
  return std::exchange(refusal_, std::nullopt);
}

std::vector<AddressRange> generated_memory(std::span<const Region> regions) {
  std::vector<AddressRange> ranges;
  for (const Region& r : regions)
    if (process::may_hold_generated_code(r)) ranges.push_back(r.range);
  return ranges;
}

GeneratedNames::GeneratedNames(std::shared_ptr<GeneratedCode> code, std::span<const Region> regions)
    : code_(std::move(code)), generated_(generated_memory(regions)) {}

std::optional<SymbolInfo> GeneratedNames::describe(const Frame& frame) {
  const bool is_of_image = frame.kind == FrameKind::native && frame.module == kNoModule;
  if (!is_of_image && frame.kind != FrameKind::undescribed) return std::nullopt;
  const Address address = frame.pc.lookup();
  const auto behind = std::upper_bound(generated_.begin(), generated_.end(), address,
                                       [](Address a, const AddressRange& r) { return a < r.begin; });
  if (behind == generated_.begin() || !std::prev(behind)->contains(address)) return std::nullopt;
  SymbolInfo info;
  if (is_of_image) {
    const auto images = code_->known_images();
    const images::JitImage* image = images->find(address);
    if (const auto symbol = image != nullptr ? image->find(address) : std::nullopt) {
      info.raw_name = symbols::printable(symbol->name);
      info.name = symbols::printable(symbols::demangle(symbol->name));
      info.module = "[JIT image]";
      info.offset = frame.pc.raw() - symbol->begin;
      return info;
    }
  }
  if (map_ == nullptr) map_ = code_->perf_map();
  auto entry = map_->find(address);
  // It may have been written down since.
  if (!entry) entry = (map_ = code_->perf_map())->find(address);
  if (!entry) return std::nullopt;
  info.name = info.raw_name = std::move(entry->name);
  info.module = "[perf map]";
  info.offset = frame.pc.raw() - entry->range.begin;
  return info;
}

}  // namespace mixstack::session
