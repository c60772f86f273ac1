// Which timers are there, and when are they due?
#pragma once

#include "dotnet/bcl/kinds.h"

namespace mixstack::dotnet::bcl {

struct TimerQueue {
  static constexpr TypeName kType = "System.Threading.TimerQueue";
  static constexpr FieldName kInstances = "<Instances>k__BackingField";
  static constexpr FieldName kShort = "_shortTimers";
  static constexpr FieldName kLong = "_longTimers";
};

/// When is one due, who has it, does its callback run, and who is told when it has ended?
struct Timer {
  static constexpr TypeName kType = "System.Threading.TimerQueueTimer";
  static constexpr FieldName kStart = "_startTicks";
  static constexpr FieldName kDue = "_dueTime";
  static constexpr FieldName kState = "_state";
  static constexpr FieldName kNext = "_next";
  static constexpr FieldName kCallback = "_timerCallback";
  static constexpr FieldName kQueue = "_associatedTimerQueue";
  static constexpr FieldName kRunning = "_callbacksRunning";
  static constexpr FieldName kTold = "_notifyWhenNoCallbacksRunning";
};
inline constexpr NameStart kTimerMethods = "System.Threading.TimerQueueTimer.";

}  // namespace mixstack::dotnet::bcl
