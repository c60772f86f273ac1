// A library that a helper takes for a DAC, misbehaving in the way it was compiled for (FAKE_*).
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>

// Where no memory is, in a way that no compiler sees through.
[[maybe_unused]] static int* volatile s_nowhere = nullptr;

extern "C" {

[[gnu::visibility("default")]] int DllMain(void*, std::uint32_t, void*);
[[gnu::visibility("default")]] std::int32_t CLRDataCreateInstance(const void*, void*, void**);

int DllMain(void*, std::uint32_t, void*) { return 1; }

#ifdef FAKE_CRASH_ON_LOAD
[[gnu::constructor]] static void on_load() { *s_nowhere = 1; }
#endif

std::int32_t CLRDataCreateInstance(const void*, void*, void** out) {
  *out = nullptr;
  constexpr auto kFail = static_cast<std::int32_t>(0x80004005u);
#if defined(FAKE_CRASH)
  *s_nowhere = 1;
#elif defined(FAKE_HANG)
  for (;;) ::usleep(100000);
#elif defined(FAKE_SPIN)
  for (volatile unsigned spin = 0; spin == 0;) {
  }
#elif defined(FAKE_EXIT)
  ::_exit(0);
#elif defined(FAKE_NONSENSE)
  // Into the helper's own socket: a huge message that never comes.
  const std::array<std::uint32_t, 2> header{0xffffffffu, 0x00010020u};
  if (::write(3, header.data(), sizeof header) != sizeof header) return kFail;
  for (;;) ::usleep(100000);
#elif defined(FAKE_ESCAPE)
  // What a sealed helper cannot do; the exit status says what it could.
  if (::fork() >= 0) ::_exit(41);
  if (::geteuid() == 0) ::_exit(42);
  char shell[] = "/bin/true";
  char* arguments[] = {shell, nullptr};
  ::execv(shell, arguments);
  if (::access("/proc/self/fd/5", F_OK) == 0) ::_exit(43);
  if (::kill(::getppid(), 0) == 0) ::_exit(44);
#endif
  return kFail;
}
}
