#include "dotnet/dac/dac_runtime.h"

#include <algorithm>
#include <unordered_set>

#include "dotnet/dac/dac_checkpoints.h"

namespace mixstack::dotnet::dac {
namespace {

ManagedThread thread_of(const ThreadRecord& facts) {
  ManagedThread t;
  t.address = facts.address;
  t.id = facts.managed_id;
  t.os_id = facts.os_id;
  t.state = facts.state;
  t.cooperative = facts.cooperative;
  t.frame = facts.frame;
  t.stack = facts.stack;
  return t;
}

}  // namespace

void DacRoots::collect(const MemoryReader&, std::vector<AddressRange>& out) {
  for (const Address t : threads_) out.push_back({t, t + kThreadBytes});
}

bool DacRoots::holds(Address thread) const { return std::binary_search(threads_.begin(), threads_.end(), thread); }

DacRuntime::DacRuntime(std::unique_ptr<DacProvider> provider, const images::ModuleMap& modules)
    : provider_(std::move(provider)), stepper_(*provider_, modules), names_(*provider_) {}

Outcome<RootSource*> DacRuntime::prepare_roots(const MemoryReader& live) {
  roots_.reset();
  provider_->renew_budget();
  provider_->bind({&live, {}});
  const auto threads = provider_->threads();
  if (!threads) return tl::unexpected(threads.error());
  std::vector<Address> addresses;
  for (const ThreadRecord& t : *threads) addresses.push_back(t.address);
  std::sort(addresses.begin(), addresses.end());
  roots_ = std::make_unique<DacRoots>(std::move(addresses));
  return roots_.get();
}

void DacRuntime::begin_capture(const Capture& capture, const MemoryReader& overlay) {
  threads_.clear();
  exceptions_.clear();
  registers_.clear();
  for (const ThreadCapture& t : capture.threads)
    if (t.captured && t.instant == 0) registers_.emplace(t.ns_tid, &t.registers);
  provider_->bind({&overlay, [this](std::uint32_t id) -> const Registers* {
                     const auto known = registers_.find(id);
                     return known == registers_.end() ? nullptr : known->second;
                   }});
  names_.begin_capture();
  read_threads();
  std::unordered_set<std::uint64_t> managed;
  for (const ManagedThread& t : threads_) managed.insert(t.os_id);
  std::unordered_map<std::uint32_t, std::uint32_t> ids;
  for (const ThreadCapture& c : capture.threads)
    if (managed.contains(c.ns_tid)) ids.emplace(c.tid, c.ns_tid);
  stepper_.begin_capture(overlay, std::move(ids));
}

void DacRuntime::read_threads() {
  if (roots_ == nullptr) return;
  const auto list = provider_->threads();
  if (!list) return note(list.error());
  for (const ThreadRecord& t : *list) {
    if (!roots_->holds(t.address)) continue;
    threads_.push_back(thread_of(t));
    if (!t.exception_type.empty()) exceptions_.emplace(t.address, t.exception_type);
  }
}

std::string DacRuntime::exception_type(const ManagedThread& thread) const {
  const auto known = exceptions_.find(thread.address);
  return known == exceptions_.end() ? std::string() : known->second;
}

CheckpointList DacRuntime::checkpoints(const ManagedThread& thread) {
  CheckpointList list;
  WalkRequest request;
  request.thread = static_cast<std::uint32_t>(thread.os_id);
  const auto walk = provider_->raw_walk(request);
  if (!walk) {
    note(walk.error());
    return list;
  }
  // TS_Hijacked of ThreadState (src/coreclr/vm/threads.h); where the true address lies no DAC tells.
  constexpr std::uint32_t kHijacked = 0x80;
  if ((thread.state & kHijacked) != 0)
    note({{ErrorCode::field_unavailable, 0, 0},
          "thread " + std::to_string(thread.os_id),
          "a pending suspension has replaced a return address on its stack: frames may be missing there"});
  names_.remember(walk->elements);
  list.checkpoints = checkpoints_of(walk->elements);
  for (walk::Checkpoint& c : list.checkpoints) c.identifier = names_.type_of(c.address);
  if (walk->end == WalkEnd::limit) list.error = {ErrorCode::limit_exceeded, 0, walk->elements.size()};
  if (walk->end == WalkEnd::failed) list.error = {ErrorCode::malformed, 0, static_cast<std::uint32_t>(walk->result)};
  return list;
}

void DacRuntime::note(const mixstack::Diagnosis& d) {
  const bool known = std::any_of(diagnoses_.begin(), diagnoses_.end(), [&](const auto& old) {
    return old.error == d.error && old.subject == d.subject && old.text == d.text;
  });
  if (!known) diagnoses_.push_back(d);
}

std::vector<mixstack::Diagnosis> DacRuntime::take_diagnoses() {
  for (const auto& d : provider_->take_diagnoses()) note(d);
  for (const auto& d : stepper_.take_diagnoses()) note(d);
  return std::move(diagnoses_);
}

}  // namespace mixstack::dotnet::dac
