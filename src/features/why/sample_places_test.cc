#include "features/why/sample_places.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

namespace mixstack::why {
namespace {

/// One thread's samples, each a stack from the innermost frame outwards.
class Places : public testing::Test {
 protected:
  std::uint32_t frame(const std::string& name, CodeKind kind, bool is_user = false) {
    const auto function = recording_.function({.name = name, .module = module_, .kind = kind, .is_user = is_user});
    return *recording_.frame({.function = *function});
  }
  void add(std::initializer_list<std::uint32_t> frames) {
    std::uint32_t node = 0;
    for (auto f = std::rbegin(frames); f != std::rend(frames); ++f) node = *recording_.node({node, *f});
    const auto context =
        recording_.context({.thread = thread_, .clock = SampleClock::cpu, .activity = Activity::running});
    ASSERT_TRUE(recording_.add({.stack = node, .context = *context, .count = 1}));
  }
  std::string place() const {
    return place_of_samples(recording_, [](auto) { return true; }).place;
  }

  Recording recording_;
  std::uint32_t process_ = *recording_.process({.pid = 1});
  std::uint32_t thread_ = *recording_.add_thread({.process = process_, .tid = 7, .comm = "worker"});
  std::uint32_t module_ = *recording_.module({.name = "here"});
};

TEST_F(Places, TheProgramsOwnFunctionComesFirst) {
  add({frame("pwrite", CodeKind::native), frame("System.IO.RandomAccess.WriteAtOffset()", CodeKind::managed),
       frame("Shop.Note()", CodeKind::managed, true), frame("Shop.Main()", CodeKind::managed, true)});
  EXPECT_EQ(place(), "Shop.Note()");
}

TEST_F(Places, WithoutOneTheInnermostManagedOne) {
  add({frame("ksys_pwrite64", CodeKind::kernel), frame("pwrite", CodeKind::native),
       frame("System.IO.RandomAccess.WriteAtOffset()", CodeKind::managed),
       frame("System.Threading.ThreadPoolWorkQueue.Dispatch()", CodeKind::managed)});
  EXPECT_EQ(place(), "System.IO.RandomAccess.WriteAtOffset()");
}

TEST_F(Places, NativeCodeAlone) {
  add({frame("ksys_write", CodeKind::kernel), frame("write", CodeKind::native),
       frame("logger_main", CodeKind::native)});
  EXPECT_EQ(place(), "write");
}

TEST_F(Places, StacksWhoseCallersWereLostDoNotHideTheProgram) {
  const std::uint32_t clear = frame("memset", CodeKind::native), emit = frame("Shop.Emit()", CodeKind::managed, true);
  for (int i = 0; i < 3; i++) add({clear});
  add({clear, emit});
  EXPECT_EQ(place(), "Shop.Emit()");
  for (int i = 0; i < 3; i++) add({clear});
  EXPECT_EQ(place(), "memset") << "most of it is not the program's, as far as is known";
}

}  // namespace
}  // namespace mixstack::why
