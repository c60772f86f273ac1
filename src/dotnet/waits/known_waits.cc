#include "dotnet/waits/known_waits.h"

#include <array>
#include <string_view>

namespace mixstack::dotnet::objects {
namespace {

constexpr std::string_view kCoreLib = "System.Private.CoreLib";
constexpr std::string_view kThread = "System.Threading.Thread";

struct KnownField {
  std::string_view type, field;
};
constexpr std::array kFieldsOfManagedWaits{
    KnownField{"System.Threading.ThreadBlockingInfo", "t_first"},
    KnownField{"System.Threading.Lock", "_owningThreadId"},
    KnownField{"System.Threading.Condition", "_lock"},
    KnownField{"System.Threading.WaitSubsystem+ThreadWaitInfo", "_thread"},
    KnownField{"System.Threading.WaitSubsystem+ThreadWaitInfo", "_waitSignalState"},
    KnownField{"System.Threading.WaitSubsystem+ThreadWaitInfo", "_waitedCount"},
    KnownField{"System.Threading.WaitSubsystem+ThreadWaitInfo", "_waitedObjects"},
    KnownField{"System.Threading.WaitSubsystem+WaitableObject", "_type"},
    KnownField{"System.Threading.WaitSubsystem+WaitableObject", "_ownershipInfo"},
};

std::string lacks(const KnownField& f) { return std::string(f.type) + " has no field " + std::string(f.field); }

}  // namespace

std::string why_waits_are_unknown(ManagedObjects& objects) {
  LoadedTypes& types = objects.types();
  const bool are_managed = objects.memory().layouts().algorithms.waits == WaitForm::managed;
  const KnownField wait_info{kThread, "_waitInfo"};
  const Address thread = types.find(kCoreLib, kThread);
  const bool has_wait_info = types.field(thread, wait_info.field).has_value();
  if (!are_managed) return has_wait_info ? "its threads wait in another way than its sync blocks say" : std::string();
  if (thread == 0) return "its type of threads is not found";
  if (!has_wait_info) return lacks(wait_info);
  for (const KnownField& f : kFieldsOfManagedWaits) {
    const Address type = types.find(kCoreLib, f.type);
    if (type != 0 && !types.field(type, f.field)) return lacks(f);
  }
  return {};
}

}  // namespace mixstack::dotnet::objects
