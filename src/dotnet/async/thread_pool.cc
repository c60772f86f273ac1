#include "dotnet/async/thread_pool.h"

#include <algorithm>

#include "dotnet/bcl/tasks.h"
#include "dotnet/bcl/thread_pool.h"
#include "dotnet/bcl/timers.h"
#include "dotnet/bcl/types.h"

namespace mixstack::dotnet::objects {
namespace {

/// ThreadCounts (src/System/Threading/PortableThreadPool.ThreadCounts.cs): three numbers of 16 bits in one word.
std::int32_t part_of(std::uint64_t counts, unsigned index) {
  return static_cast<std::int16_t>(counts >> (16 * index) & 0xffff);
}

}  // namespace

bool ThreadPoolReader::read_counts(Address pool, ThreadPool& out) {
  const Address separated = objects_.types().find(bcl::kCoreLib, bcl::PoolCounts::kType);
  const auto inner = objects_.structure(pool, bcl::Pool::kSeparated, separated);
  if (!inner) return false;
  const auto counts = objects_.value<std::uint64_t>(*inner, bcl::PoolCounts::kCounts);
  const auto min = objects_.value<std::int16_t>(pool, bcl::Pool::kMinThreads);
  const auto max = objects_.value<std::int16_t>(pool, bcl::Pool::kMaxThreads);
  if (!counts || !min || !max) return false;
  out.processing = part_of(*counts, 0);
  out.existing = part_of(*counts, 1);
  out.goal = part_of(*counts, 2);
  out.min = *min;
  out.max = *max;
  out.blocked = std::max<std::int32_t>(0, objects_.value<std::int16_t>(pool, bcl::Pool::kBlockedThreads).value_or(0));
  auto last = objects_.value<std::int32_t>(*inner, bcl::PoolCounts::kLastDequeue);
  if (!last) last = objects_.value<std::int32_t>(*inner, bcl::PoolCounts::kLastDispatch);
  if (now_ && last) {
    // The low 32 bits of the same clock.
    const auto since = static_cast<std::int32_t>(static_cast<std::uint32_t>(*now_) - static_cast<std::uint32_t>(*last));
    out.since_dequeue = std::chrono::milliseconds(std::max(since, 0));
  }
  return out.processing >= 0 && out.existing >= 0;
}

std::optional<ThreadPool> ThreadPoolReader::read() {
  LoadedTypes& types = objects_.types();
  items_.clear();
  has_more_ = false;
  const Address pool =
      objects_.static_reference(types.find(bcl::kCoreLib, bcl::Pool::kType), bcl::Pool::kInstance).value_or(0);
  ThreadPool out;
  if (!objects_.is_a(pool, bcl::Pool::kType) || !read_counts(pool, out)) return std::nullopt;
  const Address queue =
      objects_.static_reference(types.find(bcl::kCoreLib, bcl::PoolStatics::kType), bcl::PoolStatics::kWorkQueue)
          .value_or(0);
  if (objects_.type_of(queue) != 0) read_queues(queue);
  out.queued = static_cast<std::uint32_t>(items_.size());
  out.has_more = has_more_;
  for (std::size_t i = 0; i < std::min(items_.size(), kMostNamed); i++) {
    QueuedWork work = describe(items_[i]);
    const auto is_it = [&](const QueuedWork& w) {
      return w.what == work.what && w.is_continuation == work.is_continuation;
    };
    const auto known = std::find_if(out.work.begin(), out.work.end(), is_it);
    if (known == out.work.end()) {
      out.work.push_back(std::move(work));
    } else {
      known->count++;
    }
  }
  std::stable_sort(out.work.begin(), out.work.end(),
                   [](const QueuedWork& a, const QueuedWork& b) { return a.count > b.count; });
  return out;
}

/// Workers' own queues first: what a worker waits for is mostly there, and the common queue may have more items than
/// are read.
void ThreadPoolReader::read_queues(Address work_queue) {
  const Address list = objects_.types().find(bcl::kCoreLib, bcl::LocalQueues::kType);
  const Address locals = objects_.static_reference(list, bcl::LocalQueues::kQueues).value_or(0);
  for (const Address queue : objects_.references_in(locals, kMostQueues))
    if (queue != 0) read_local_queue(queue);
  for (const std::string_view field : {bcl::WorkQueue::kHigh, bcl::WorkQueue::kItems, bcl::WorkQueue::kLow})
    if (const Address queue = objects_.reference(work_queue, field).value_or(0); queue != 0) read_queue(queue);
  const Address assignable = objects_.reference(work_queue, bcl::WorkQueue::kAssignable).value_or(0);
  for (const Address queue : objects_.references_in(assignable, kMostQueues))
    if (queue != 0) read_queue(queue);
}

void ThreadPoolReader::read_queue(Address concurrent_queue) {
  Address segment = objects_.reference(concurrent_queue, bcl::ConcurrentQueue::kHead).value_or(0);
  for (std::size_t i = 0; segment != 0; i++) {
    if (i == kMostSegments || items_.size() >= kMostItems) {
      has_more_ = true;
      return;
    }
    read_segment(segment);
    segment = objects_.reference(segment, bcl::QueueSegment::kNext).value_or(0);
  }
}

// ConcurrentQueueSegment (src/System/Collections/Concurrent/ConcurrentQueueSegment.cs): a ring of slots, each with a
// number that says which turn it is of; it holds an item where that is the item's position and one.
void ThreadPoolReader::read_segment(Address segment) {
  LoadedTypes& types = objects_.types();
  const Address padded = types.find(bcl::kCoreLib, bcl::QueueEnds::kType);
  const auto ends = objects_.structure(segment, bcl::QueueSegment::kEnds, padded);
  const Address slots = objects_.reference(segment, bcl::QueueSegment::kSlots).value_or(0);
  const TypeFacts* array = types.at(objects_.type_of(slots));
  const auto length = objects_.array_length(slots);
  if (!ends || array == nullptr || !array->is_array || !length || *length == 0 || (*length & (*length - 1)) != 0)
    return;
  const std::uint32_t stride = array->component_size;
  const auto item_at = types.field(array->instantiation, bcl::QueueSlot::kItem);
  const auto turn_at = types.field(array->instantiation, bcl::QueueSlot::kTurn);
  const auto head = objects_.value<std::uint32_t>(*ends, bcl::QueueEnds::kHead);
  auto tail = objects_.value<std::uint32_t>(*ends, bcl::QueueEnds::kTail);
  if (!item_at || !turn_at || !head || !tail || stride == 0) return;
  if (objects_.value<std::uint8_t>(segment, bcl::QueueSegment::kIsFrozen).value_or(0) != 0) *tail -= 2 * *length;
  const std::uint32_t count = std::min(*tail - *head, *length);
  for (std::uint32_t i = 0; i < count; i++) {
    if (items_.size() == kMostItems) {
      has_more_ = true;
      return;
    }
    const std::uint32_t position = *head + i;
    const Address slot = objects_.elements_of(slots) + std::uint64_t{position & (*length - 1)} * stride;
    const auto turn = objects_.read<std::uint32_t>(slot + turn_at->offset);
    if (turn && *turn == position + 1) add(objects_.read<std::uint64_t>(slot + item_at->offset).value_or(0));
  }
}

// WorkStealingQueue (src/System/Threading/ThreadPoolWorkQueue.cs): a ring between two indices; taken items are null.
void ThreadPoolReader::read_local_queue(Address queue) {
  const auto head = objects_.value<std::int32_t>(queue, bcl::LocalQueue::kHead);
  const auto tail = objects_.value<std::int32_t>(queue, bcl::LocalQueue::kTail);
  const auto mask = objects_.value<std::int32_t>(queue, bcl::LocalQueue::kMask);
  const Address array = objects_.reference(queue, bcl::LocalQueue::kArray).value_or(0);
  const auto length = objects_.array_length(array);
  if (!head || !tail || !mask || !length || *tail <= *head || *mask < 0) return;
  const std::uint32_t count = std::min(static_cast<std::uint32_t>(*tail) - static_cast<std::uint32_t>(*head), *length);
  for (std::uint32_t i = 0; i < count; i++) {
    if (items_.size() == kMostItems) {
      has_more_ = true;
      return;
    }
    const std::uint32_t at = (static_cast<std::uint32_t>(*head) + i) & static_cast<std::uint32_t>(*mask);
    if (at < *length)
      add(objects_.read<std::uint64_t>(objects_.elements_of(array) + std::uint64_t{at} * 8).value_or(0));
  }
}

void ThreadPoolReader::add(Address item) {
  if (item == 0 || objects_.type_of(item) == 0) return;
  // The rest of an async method may be wrapped, to run in its own scheduler or execution context.
  if (!machines_.is_task(item) && !machines_.is_async(item)) {
    for (const std::string_view field :
         {bcl::AwaitContinuation::kAction, bcl::UserWorkItem::kCallback, bcl::UserWorkItem::kState}) {
      const Address action = objects_.reference(item, field).value_or(0);
      const Address target = delegates_.is_delegate(action) ? delegates_.target(action) : action;
      if (target == 0 || !machines_.is_async(target)) continue;
      items_.push_back(target);
      return;
    }
  }
  items_.push_back(item);
}

QueuedWork ThreadPoolReader::describe(Address item) {
  QueuedWork work{{}, false, 1};
  if (const auto machine = machines_.machine_of(item)) {
    work.what = machines_.method_of(*machine);
    work.is_continuation = true;
    return work;
  }
  std::vector<AsyncStep> steps;
  if (machines_.runtime_async().is_task(item)) (void)machines_.add_steps(item, steps);
  if (!steps.empty()) {
    work.what = steps.back().method;
    work.is_continuation = true;
    return work;
  }
  if (objects_.is_a(item, bcl::TimerQueue::kType)) {
    work.what = "timers that are due";
    return work;
  }
  for (const std::string_view field : {bcl::Task::kAction, bcl::UserWorkItem::kCallback}) {
    const Address action = objects_.reference(item, field).value_or(0);
    if (!delegates_.is_delegate(action)) continue;
    work.what = delegates_.method(action);
    if (work.what.empty()) work.what = objects_.type_name(delegates_.target(action));
    if (!work.what.empty()) return work;
  }
  work.what = objects_.type_name(item);
  return work;
}

}  // namespace mixstack::dotnet::objects
