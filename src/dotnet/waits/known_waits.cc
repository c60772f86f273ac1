#include "dotnet/waits/known_waits.h"

#include <array>
#include <string_view>

#include "dotnet/bcl/locks.h"
#include "dotnet/bcl/threads.h"
#include "dotnet/bcl/types.h"
#include "dotnet/bcl/waits.h"

namespace mixstack::dotnet::objects {
namespace {

struct KnownField {
  std::string_view type, field;
};
constexpr std::array kFieldsOfManagedWaits{
    KnownField{bcl::BlockingInfo::kType, bcl::BlockingInfo::kFirst},
    KnownField{bcl::Lock::kType, bcl::Lock::kOwner},
    KnownField{bcl::Condition::kType, bcl::Condition::kLock},
    KnownField{bcl::WaitInfo::kType, bcl::WaitInfo::kThread},
    KnownField{bcl::WaitInfo::kType, bcl::WaitInfo::kState},
    KnownField{bcl::WaitInfo::kType, bcl::WaitInfo::kCount},
    KnownField{bcl::WaitInfo::kType, bcl::WaitInfo::kObjects},
    KnownField{bcl::Waitable::kType, bcl::Waitable::kKind},
    KnownField{bcl::Waitable::kType, bcl::Waitable::kOwnership},
};

std::string lacks(const KnownField& f) { return std::string(f.type) + " has no field " + std::string(f.field); }

}  // namespace

std::string why_waits_are_unknown(ManagedObjects& objects) {
  LoadedTypes& types = objects.types();
  const bool are_managed = objects.memory().layouts().algorithms.waits == WaitForm::managed;
  const KnownField wait_info{bcl::Thread::kType, bcl::Thread::kWaitInfo};
  const Address thread = types.find(bcl::kCoreLib, bcl::Thread::kType);
  const bool has_wait_info = types.field(thread, wait_info.field).has_value();
  if (!are_managed) return has_wait_info ? "its threads wait in another way than its sync blocks say" : std::string();
  if (thread == 0) return "its type of threads is not found";
  if (!has_wait_info) return lacks(wait_info);
  for (const KnownField& f : kFieldsOfManagedWaits) {
    const Address type = types.find(bcl::kCoreLib, f.type);
    if (type != 0 && !types.field(type, f.field)) return lacks(f);
  }
  return {};
}

}  // namespace mixstack::dotnet::objects
