// Errors of the StackwalkerAPI. The code and its text belong to the calling thread.
#pragma once

#include <cstdio>

namespace Dyninst::Stackwalker {

typedef unsigned err_t;

inline constexpr err_t err_badparam = 0x10000;      ///< null, out of range, or a Frame whose Walker is gone
inline constexpr err_t err_nostepper = 0x10001;     ///< no stepper can go on: the stack is cut here
inline constexpr err_t err_nosymlookup = 0x10002;   ///< the Walker has no SymbolLookup
inline constexpr err_t err_procread = 0x10003;      ///< memory of the target cannot be read
inline constexpr err_t err_nosymbol = 0x10004;      ///< nothing is known of the address
inline constexpr err_t err_internal = 0x10005;      ///< a callback threw, or a limit was hit
inline constexpr err_t err_prem = 0x10006;          ///< the original's other spelling of err_perm
inline constexpr err_t err_perm = 0x10006;          ///< the target may not be looked into
inline constexpr err_t err_noproc = 0x10007;        ///< no such process
inline constexpr err_t err_interrupt = 0x10008;     ///< a signal ended the waiting for events
inline constexpr err_t err_procexit = 0x10009;      ///< the process ended, or became another program
inline constexpr err_t err_stackbottom = 0x10010;   ///< walkSingleFrame: the frame has no caller
inline constexpr err_t err_nofile = 0x10011;        ///< no such file, or no library there
inline constexpr err_t err_unsupported = 0x10012;   ///< not possible for this kind of process
inline constexpr err_t err_symtab = 0x10013;        ///< a symbol table cannot be read
inline constexpr err_t err_nolibtracker = 0x10014;  ///< the ProcessState has no LibraryState
inline constexpr err_t err_nogroup = 0x10015;       ///< the Walker has no StepperGroup
inline constexpr err_t err_nothrd = 0x10016;        ///< no such thread
inline constexpr err_t err_proccontrol = 0x10017;   ///< the debugger interface refused

/// 0 when nothing failed since `clearLastError`.
[[nodiscard]] err_t getLastError();
void clearLastError();
/// Never null; holds until the next error of this thread.
[[nodiscard]] const char* getLastErrorMsg();
/// The text is copied (and cut at 255 bytes); without one the code's own words are used.
void setLastError(err_t err, const char* msg = nullptr);

/// Where walks tell what they do, line by line: off unless switched on, to stderr unless told otherwise.
void setDebugChannel(std::FILE* file);
void setDebug(bool enable);
[[nodiscard]] std::FILE* getDebugChannel();

}  // namespace Dyninst::Stackwalker
