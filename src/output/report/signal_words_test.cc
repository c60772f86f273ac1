#include "output/report/signal_words.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <cstring>

namespace mixstack::report {
namespace {

TEST(SignalWords, NamesAreThoseOfTheSystem) {
  for (int signal = 1; signal < 32; signal++) {
    const char* name = sigabbrev_np(signal);
    if (name == nullptr) continue;
    std::string expected = std::string("SIG") + name;
    if (expected == "SIGPOLL") expected = "SIGIO";  // two names of one number
    EXPECT_EQ(signal_name(signal), expected) << signal;
  }
  EXPECT_EQ(signal_name(40), "signal 40");
  EXPECT_EQ(signal_name(0), "signal 0");
  EXPECT_EQ(signal_name(-3), "signal -3");
}

TEST(SignalWords, SaysWhatRaisedIt) {
  EXPECT_EQ(signal_code_words(SIGSEGV, SEGV_MAPERR), "nothing is mapped there");
  EXPECT_EQ(signal_code_words(SIGSEGV, SEGV_ACCERR), "access not permitted there");
  EXPECT_EQ(signal_code_words(SIGBUS, BUS_ADRERR), "no memory behind the address: a mapped file was truncated");
  EXPECT_EQ(signal_code_words(SIGFPE, FPE_INTDIV), "integer division by zero");
  EXPECT_EQ(signal_code_words(SIGABRT, SI_TKILL), "sent to the thread: raise, abort or tgkill");
  EXPECT_EQ(signal_code_words(SIGTERM, SI_USER), "sent by kill");
  EXPECT_EQ(signal_code_words(SIGSEGV, SI_KERNEL), "raised by the kernel");
  EXPECT_EQ(signal_code_words(SIGUSR1, 99), "");
}

}  // namespace
}  // namespace mixstack::report
