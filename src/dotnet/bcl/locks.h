// Locks: their owners, and what they are.
#pragma once

#include "dotnet/bcl/kinds.h"
#include "dotnet/bcl/waits.h"

namespace mixstack::dotnet::bcl {

/// What does a thread note of its waits for locks?
struct BlockingInfo {
  static constexpr TypeName kType = "System.Threading.ThreadBlockingInfo";
  static constexpr FieldName kFirst = "t_first";
};

/// The owner of a Lock. Monitors of .NET 11 are made of such, too.
struct Lock {
  static constexpr TypeName kType = "System.Threading.Lock";
  static constexpr FieldName kOwner = "_owningThreadId";  ///< to .NET 10 the system's number, then the managed one
  static constexpr FieldName kRecursion = "_recursionCount";
  static constexpr FieldName kState = "_state";
  static constexpr FieldName kContentions = "s_contentionCount";  ///< waits for all of them, a static
};
inline constexpr NameStart kLockMethods = "System.Threading.Lock.";

/// The lock behind a Monitor.Wait.
struct Condition {
  static constexpr TypeName kType = "System.Threading.Condition";  // [11]
  static constexpr FieldName kLock = "_lock";
};
inline constexpr NameStart kConditionMethods = "System.Threading.Condition.";  // [11]

/// Threads that spin for a SpinLock.
inline constexpr TypeName kSpinLock = "System.Threading.SpinLock";
inline constexpr NameStart kSpinLockMethods = "System.Threading.SpinLock.";

/// The writer under a ReaderWriterLockSlim, and which of its events a thread waits for.
struct ReaderWriterLock {
  static constexpr TypeName kType = "System.Threading.ReaderWriterLockSlim";
  static constexpr FieldName kWriter = "_writeLockOwnerId";
  static constexpr FieldName kUpgrader = "_upgradeLockOwnerId";
  static constexpr FieldName kWriteEvent = "_writeEvent";
  static constexpr FieldName kReadEvent = "_readEvent";
  static constexpr FieldName kUpgradeEvent = "_upgradeEvent";
  static constexpr FieldName kWaitUpgradeEvent = "_waitUpgradeEvent";
  static constexpr FieldName kId = "_lockID";
  static constexpr FieldName kCounts = "t_rwc";
};

/// The writer under a ReaderWriterLock, the older class, and its two events. Its readers are only counted.
struct OlderReaderWriterLock {
  static constexpr TypeName kType = "System.Threading.ReaderWriterLock";
  static constexpr FieldName kWriter = "_writerID";
  static constexpr FieldName kWriteEvent = "_writerEvent";
  static constexpr FieldName kReadEvent = "_readerEvent";
};

/// Readers under a ReaderWriterLockSlim: each thread has a list of the locks that it reads under.
struct ReaderWriterCount {
  static constexpr TypeName kType = "System.Threading.ReaderWriterCount";
  static constexpr FieldName kLockId = "lockID";
  static constexpr FieldName kReads = "readercount";
  static constexpr FieldName kNext = "next";
};

/// Code that waits for a lock without sleeping, or for a moment only.
inline constexpr std::array<NameStart, 14> kSpinning{
    kSpinWaitMethods,
    kSpinLockMethods,
    "System.Threading.Thread.SpinWait",
    kYield,
    kSleep,
    "System.Threading.Thread.UninterruptibleSleep0",
    "System.Threading.Monitor.Enter",
    "System.Threading.Monitor.TryEnter",
    "System.Threading.Monitor.ReliableEnter",  // [9]
    kLockMethods,
    "System.Threading.LowLevelLock.",
    "System.Threading.LowLevelSpinWaiter.",
    "System.Threading.LowLevelLifoSemaphore.",
    "System.Threading.ReaderWriterLockSlim.SpinLock.",
};

}  // namespace mixstack::dotnet::bcl
