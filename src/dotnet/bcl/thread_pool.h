// How many threads has the pool, and what is queued in it?
#pragma once

#include "dotnet/bcl/kinds.h"

namespace mixstack::dotnet::bcl {

/// How many threads has it, and how many may it have?
struct Pool {
  static constexpr TypeName kType = "System.Threading.PortableThreadPool";
  static constexpr FieldName kInstance = "ThreadPoolInstance";
  static constexpr FieldName kSeparated = "_separated";
  static constexpr FieldName kMinThreads = "_minThreads";
  static constexpr FieldName kMaxThreads = "_maxThreads";
  static constexpr FieldName kBlockedThreads = "_numBlockedThreads";
};
struct PoolCounts {
  static constexpr TypeName kType = "System.Threading.PortableThreadPool+CacheLineSeparated";
  static constexpr FieldName kCounts = "counts";
  /// When was an item taken out?
  static constexpr FieldName kLastDequeue = "lastDequeueTime";    // [9-10]
  static constexpr FieldName kLastDispatch = "lastDispatchTime";  // [11]
};

/// Where are its queues?
struct PoolStatics {
  static constexpr TypeName kType = "System.Threading.ThreadPool";
  static constexpr FieldName kWorkQueue = "s_workQueue";
};
struct WorkQueue {
  static constexpr TypeName kType = "System.Threading.ThreadPoolWorkQueue";
  static constexpr FieldName kHigh = "highPriorityWorkItems";
  static constexpr FieldName kItems = "workItems";
  static constexpr FieldName kLow = "lowPriorityWorkItems";
  static constexpr FieldName kAssignable = "_assignableWorkItemQueues";
};
struct LocalQueues {
  static constexpr TypeName kType = "System.Threading.ThreadPoolWorkQueue+WorkStealingQueueList";
  static constexpr FieldName kQueues = "s_queues";
};

/// What is in the queue of one worker, a ring between two indices?
struct LocalQueue {
  static constexpr TypeName kType = "System.Threading.ThreadPoolWorkQueue+WorkStealingQueue";
  static constexpr FieldName kHead = "m_headIndex";
  static constexpr FieldName kTail = "m_tailIndex";
  static constexpr FieldName kMask = "m_mask";
  static constexpr FieldName kArray = "m_array";
};

/// What is in a queue of all, a list of rings of slots?
struct ConcurrentQueue {
  static constexpr TypeName kType = "System.Collections.Concurrent.ConcurrentQueue`1";
  static constexpr FieldName kHead = "_head";
};
struct QueueSegment {
  static constexpr TypeName kType = "System.Collections.Concurrent.ConcurrentQueueSegment`1";
  static constexpr FieldName kNext = "_nextSegment";
  static constexpr FieldName kEnds = "_headAndTail";
  static constexpr FieldName kSlots = "_slots";
  static constexpr FieldName kIsFrozen = "_frozenForEnqueues";
};
struct QueueEnds {
  static constexpr TypeName kType = "System.Collections.Concurrent.PaddedHeadAndTail";
  static constexpr FieldName kHead = "Head";
  static constexpr FieldName kTail = "Tail";
};
struct QueueSlot {
  static constexpr TypeName kType = "System.Collections.Concurrent.ConcurrentQueueSegment`1+Slot";
  static constexpr FieldName kItem = "Item";
  static constexpr FieldName kTurn = "SequenceNumber";
};

/// What does an item of QueueUserWorkItem call, and with what?
struct UserWorkItem {
  static constexpr TypeName kType = "System.Threading.QueueUserWorkItemCallback";
  static constexpr FieldName kCallback = "_callback";
  static constexpr FieldName kState = "_state";
};

/// Which threads are its workers, and which of them work?
inline constexpr NameStart kWorkerThread = "System.Threading.PortableThreadPool.WorkerThread.WorkerThreadStart";
inline constexpr NameStart kWorks = "System.Threading.ThreadPoolWorkQueue.Dispatch";

}  // namespace mixstack::dotnet::bcl
