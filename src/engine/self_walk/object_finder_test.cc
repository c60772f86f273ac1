#include "engine/self_walk/object_finder.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>

#include <atomic>
#include <thread>

#include "engine/self_walk/bare_code.h"

namespace mixstack::self_walk {
namespace {

[[nodiscard]] Address code_here() { return reinterpret_cast<std::uintptr_t>(&code_here); }

/// A library of the C library that nothing here needs, so that it comes with dlopen and goes with dlclose.
void* open_library() {
  for (const char* name : {"libBrokenLocale.so.1", "libthread_db.so.1", "libresolv.so.2", "libanl.so.1"}) {
    if (void* loaded = ::dlopen(name, RTLD_NOW | RTLD_NOLOAD); loaded != nullptr) {
      ::dlclose(loaded);
    } else if (void* library = ::dlopen(name, RTLD_NOW); library != nullptr) {
      return library;
    }
  }
  return nullptr;
}

// The list replaces _dl_find_object on musl and older C libraries.
TEST(ObjectFinder, TheListKnowsWhatIsLoadedAfterAnUpdate) {
  const ObjectFinder list(ObjectFinder::Way::list), linker;
  LoadedObject a, b;
  ASSERT_TRUE(list.find(code_here(), a));
  ASSERT_TRUE(linker.find(code_here(), b));
  EXPECT_EQ(a.eh_frame_hdr, b.eh_frame_hdr);
  EXPECT_TRUE(a.range.contains(code_here()));
  void* library = open_library();
  ASSERT_NE(library, nullptr);
  const Address there = reinterpret_cast<std::uintptr_t>(static_cast<link_map*>(library)->l_ld);
  EXPECT_FALSE(list.find(there, a));
  list.update();
  EXPECT_TRUE(list.find(there, a));
  EXPECT_TRUE(list.find(code_here(), b));
  ::dlclose(library);
  list.update();
  EXPECT_FALSE(list.find(there, a));
  EXPECT_TRUE(list.find(code_here(), b));
}

TEST(ObjectFinder, WhatStaysLoadedIsFoundThroughout) {
  const ObjectFinder list(ObjectFinder::Way::list);
  std::atomic<bool> is_over{false};
  std::atomic<unsigned> missed{0}, found{0};
  std::thread reader([&] {
    LoadedObject o;
    while (!is_over) (list.find(code_here(), o) && o.range.contains(code_here()) ? found : missed)++;
  });
  unsigned opened = 0;
  for (int i = 0; i < 300; i++) {
    void* library = open_library();
    list.update();
    if (library != nullptr) opened++, ::dlclose(library);
    list.update();
  }
  is_over = true;
  reader.join();
  EXPECT_EQ(opened, 300u);
  EXPECT_EQ(missed, 0u);
  EXPECT_GT(found, 0u);
}

TEST(BareCode, ImagesWithUnwindInformationAreLeftOut) {
  const BareCode code = BareCode::of_loaded_images();
  EXPECT_FALSE(code.covers(code_here()));
  EXPECT_EQ(code.rule(CodeAddress::exact(code_here())).error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace mixstack::self_walk
