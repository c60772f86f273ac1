// Errors of the StackwalkerAPI. Code and text belong to the calling thread. Numbers as in Dyninst's swk_errors.h.
#pragma once

#include <cstdio>

namespace Dyninst::Stackwalker {

typedef unsigned err_t;

inline constexpr err_t err_badparam = 0x10000;      ///< null, out of range, or a Frame whose Walker is gone
inline constexpr err_t err_nostepper = 0x10001;     ///< no stepper can continue: the stack is cut here
inline constexpr err_t err_nosymlookup = 0x10002;   ///< the Walker has no SymbolLookup
inline constexpr err_t err_procread = 0x10003;      ///< memory of the target cannot be read
inline constexpr err_t err_nosymbol = 0x10004;      ///< no symbol is known for the address
inline constexpr err_t err_internal = 0x10005;      ///< a callback threw, or a limit was hit
inline constexpr err_t err_prem = 0x10006;          ///< Dyninst's other spelling of err_perm
inline constexpr err_t err_perm = 0x10006;          ///< no permission to read the target
inline constexpr err_t err_noproc = 0x10007;        ///< no such process
inline constexpr err_t err_interrupt = 0x10008;     ///< a signal interrupted the wait for events
inline constexpr err_t err_procexit = 0x10009;      ///< the process ended, or became another program
inline constexpr err_t err_stackbottom = 0x10010;   ///< walkSingleFrame: the frame has no caller
inline constexpr err_t err_nofile = 0x10011;        ///< no such file, or no library there
inline constexpr err_t err_unsupported = 0x10012;   ///< not possible for this kind of process
inline constexpr err_t err_symtab = 0x10013;        ///< a symbol table cannot be read
inline constexpr err_t err_nolibtracker = 0x10014;  ///< the ProcessState has no LibraryState
inline constexpr err_t err_nogroup = 0x10015;       ///< the Walker has no StepperGroup
inline constexpr err_t err_nothrd = 0x10016;        ///< no such thread
inline constexpr err_t err_proccontrol = 0x10017;   ///< the debugger interface refused

/// 0: nothing has failed since `clearLastError`.
[[nodiscard]] err_t getLastError();
void clearLastError();
/// Never null; valid until the next error of this thread.
[[nodiscard]] const char* getLastErrorMsg();
/// Copies the text (up to 255 bytes); null: uses the code's own words.
void setLastError(err_t err, const char* msg = nullptr);

/// The log of walks, one line per step: off by default, to stderr by default. The caller keeps ownership of `file`.
void setDebugChannel(std::FILE* file);
void setDebug(bool enable);
[[nodiscard]] std::FILE* getDebugChannel();

}  // namespace Dyninst::Stackwalker
