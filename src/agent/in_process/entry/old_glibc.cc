// Implements functions of glibc newer than .NET's minimum (2.27) by older ones, since the agent is loaded into
// processes with any glibc. Not part of the agent for musl.
//
// Some only have a newer symbol version since they moved from libpthread and libdl into libc (2.32, 2.34): they are
// called by the version that every glibc has. Others are implemented here. All are hidden: only this library uses them,
// its libstdc++ and libgcc included.
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <ctime>

namespace {

using OnceFunction = void (*)();
using Thread = void* (*)(void*);
using Destructor = void (*)(void*);

}  // namespace

#define MIXSTACK_OLD_NAME(result, name, version, parameters, arguments)                      \
  extern "C" result mixstack_old_##name parameters;                                          \
  asm(".symver mixstack_old_" #name ", " #name "@" version);                                 \
  extern "C" [[gnu::visibility("hidden")]] result mixstack_new_##name parameters asm(#name); \
  result mixstack_new_##name parameters { return mixstack_old_##name arguments; }

#define MIXSTACK_MOVED(result, name, parameters, arguments) \
  MIXSTACK_OLD_NAME(result, name, MIXSTACK_FIRST_GLIBC, parameters, arguments)

// NOLINTBEGIN(readability-identifier-naming): names of glibc
MIXSTACK_MOVED(void*, dlopen, (const char* file, int mode), (file, mode))
MIXSTACK_MOVED(void*, dlsym, (void* handle, const char* name), (handle, name))
MIXSTACK_MOVED(int, dlclose, (void* handle), (handle))
MIXSTACK_MOVED(int, dladdr, (const void* address, Dl_info* info), (address, info))
MIXSTACK_MOVED(int, pthread_create,
               (pthread_t * thread, const pthread_attr_t* attributes, Thread function, void* argument),
               (thread, attributes, function, argument))
MIXSTACK_MOVED(int, pthread_detach, (pthread_t thread), (thread))
MIXSTACK_MOVED(int, pthread_join, (pthread_t thread, void** result), (thread, result))
MIXSTACK_MOVED(int, pthread_once, (pthread_once_t * control, OnceFunction function), (control, function))
MIXSTACK_MOVED(int, pthread_key_create, (pthread_key_t * key, Destructor destructor), (key, destructor))
MIXSTACK_MOVED(int, __pthread_key_create, (pthread_key_t * key, Destructor destructor), (key, destructor))
MIXSTACK_MOVED(int, pthread_key_delete, (pthread_key_t key), (key))
MIXSTACK_MOVED(void*, pthread_getspecific, (pthread_key_t key), (key))
MIXSTACK_MOVED(int, pthread_setspecific, (pthread_key_t key, const void* value), (key, value))
MIXSTACK_MOVED(int, pthread_sigmask, (int how, const sigset_t* set, sigset_t* before), (how, set, before))
MIXSTACK_MOVED(int, pthread_getattr_np, (pthread_t thread, pthread_attr_t* attributes), (thread, attributes))
MIXSTACK_MOVED(int, pthread_attr_getstack, (const pthread_attr_t* attributes, void** begin, std::size_t* size),
               (attributes, begin, size))
MIXSTACK_OLD_NAME(int, pthread_setname_np, MIXSTACK_SETNAME_GLIBC, (pthread_t thread, const char* name), (thread, name))
// NOLINTEND

#undef MIXSTACK_MOVED
#undef MIXSTACK_OLD_NAME

namespace mixstack::agent {
namespace {

#define MIXSTACK_HIDDEN extern "C" [[gnu::visibility("hidden")]]

/// struct dl_find_object of <dlfcn.h> (2.35) on CPUs where it has no further fields.
struct FoundObject {
  unsigned long long flags;
  void *map_start, *map_end;
  void* link_map;
  void* eh_frame;
  unsigned long long reserved[7];
};
using FindObject = int(void*, void*);

[[nodiscard]] void* pointer(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

struct Search {
  std::uintptr_t address;
  FoundObject* found;
};

int look_at_object(dl_phdr_info* info, std::size_t, void* data) {
  const auto& search = *static_cast<const Search*>(data);
  std::uintptr_t begin = ~std::uintptr_t{0}, end = 0, eh_frame = 0;
  for (unsigned i = 0; i < info->dlpi_phnum; i++) {
    const auto& p = info->dlpi_phdr[i];
    const std::uintptr_t at = info->dlpi_addr + p.p_vaddr;
    if (p.p_type == PT_GNU_EH_FRAME) eh_frame = at;
    if (p.p_type != PT_LOAD) continue;
    begin = at < begin ? at : begin;
    end = at + p.p_memsz > end ? at + p.p_memsz : end;
  }
  if (search.address < begin || search.address >= end || eh_frame == 0) return 0;
  *search.found = {0, pointer(begin), pointer(end), nullptr, pointer(eh_frame), {}};
  return 1;
}

template <class Function>
[[nodiscard]] Function* of_glibc(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_DEFAULT, name));
}

}  // namespace

// For engine/self_walk/object_finder.cc in handlers: the dynamic linker's function, or null.
extern "C" [[gnu::visibility("hidden")]] FindObject* mixstack_linkers_find_object;
FindObject* mixstack_linkers_find_object = nullptr;

namespace {

[[gnu::constructor(101)]] void look_up() { mixstack_linkers_find_object = of_glibc<FindObject>("_dl_find_object"); }

}  // namespace

// For libgcc, when an exception is thrown; never in a handler.
MIXSTACK_HIDDEN int mixstack_new_find_object(void* address, void* found) asm("_dl_find_object");
int mixstack_new_find_object(void* address, void* found) {
  if (mixstack_linkers_find_object != nullptr) return mixstack_linkers_find_object(address, found);
  Search search{reinterpret_cast<std::uintptr_t>(address), static_cast<FoundObject*>(found)};
  return ::dl_iterate_phdr(look_at_object, &search) == 1 ? 0 : -1;
}

// While this is not 0, libstdc++ counts references without atomics.
MIXSTACK_HIDDEN char mixstack_new_single_threaded asm("__libc_single_threaded");
char mixstack_new_single_threaded = 0;

MIXSTACK_HIDDEN std::uint32_t mixstack_new_random() asm("arc4random");
std::uint32_t mixstack_new_random() {
  std::uint32_t value = 0;
  while (::getrandom(&value, sizeof(value), 0) != sizeof(value)) {
  }
  return value;
}

MIXSTACK_HIDDEN int mixstack_new_fstat(int file, struct stat* out) asm("fstat");
int mixstack_new_fstat(int file, struct stat* out) { return static_cast<int>(::syscall(SYS_fstat, file, out)); }
MIXSTACK_HIDDEN int mixstack_new_lstat(const char* path, struct stat* out) asm("lstat");
int mixstack_new_lstat(const char* path, struct stat* out) {
  return static_cast<int>(::syscall(SYS_newfstatat, AT_FDCWD, path, out, AT_SYMLINK_NOFOLLOW));
}
MIXSTACK_HIDDEN int mixstack_new_fstat64(int file, struct stat* out) asm("fstat64");
int mixstack_new_fstat64(int file, struct stat* out) { return mixstack_new_fstat(file, out); }

/// Older glibc waits by the realtime clock only: convert the deadline. Callers check their own clock afterwards.
MIXSTACK_HIDDEN int mixstack_new_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                           const timespec* until) asm("pthread_cond_clockwait");
int mixstack_new_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const timespec* until) {
  constexpr long kSecond = 1'000'000'000;
  timespec now{}, wall{};
  (void)::clock_gettime(clock, &now);
  (void)::clock_gettime(CLOCK_REALTIME, &wall);
  wall.tv_sec += until->tv_sec - now.tv_sec;
  wall.tv_nsec += until->tv_nsec - now.tv_nsec;
  for (; wall.tv_nsec < 0; wall.tv_nsec += kSecond) wall.tv_sec--;
  for (; wall.tv_nsec >= kSecond; wall.tv_nsec -= kSecond) wall.tv_sec++;
  return ::pthread_cond_timedwait(condition, mutex, &wall);
}

MIXSTACK_HIDDEN int mixstack_new_closefrom(void* actions, int from) asm("posix_spawn_file_actions_addclosefrom_np");
int mixstack_new_closefrom(void* actions, int from) {
  const auto function = of_glibc<int(void*, int)>("posix_spawn_file_actions_addclosefrom_np");
  // dlsym finds glibc's function: ours is hidden.
  return function == nullptr ? ENOSYS : function(actions, from);
}

}  // namespace mixstack::agent
