// What libscen.so offers to the managed scenarios. Everything that "blocks" first counts itself in place.
#pragma once

extern "C" {

typedef int (*scen_callback)(void* argument);
typedef int (*scen_text_callback)(const char* text);

struct ScenStrings {
  int count;
  const char* first;
  const char* second;
};

int scen_in_place();
void scen_block();
int scen_block_value(int value);
int scen_block_string(const char* text);
// Functions of equal signatures. A text that begins with 's' makes the first three block.
int scen_open_door(const char* text);
int scen_launch_missile(const char* text);
int scen_feed_cat(const char* text);
// Call back, or block without a callback.
int scen_ring(const char* text, scen_callback callback);
int scen_knock(const char* text, scen_callback callback);
int scen_enter(const char* text, scen_callback callback);
int scen_reset(void* statement);
int scen_step(void* statement);
int scen_block_struct(const ScenStrings* strings);
int scen_block_errno();
// Prints READY itself, from native code, when so many have counted themselves in place; then blocks.
void scen_announce(int expected);
void scen_spin();
// The same in a thread that may ask the kernel only for what docs/agent.md lists for the agent's handler; anything else
// ends the process by SIGSYS. `strictly`: not for gettid either, for which every sample asks.
void scen_spin_confined(int strictly);
// Writes where it must not.
int scen_fault(int* nowhere);

int scen_call(scen_callback callback, void* argument);
int scen_call_deep(scen_callback callback, void* argument, int depth);
// `frames` native frames, with frame pointers and without, then the callback.
int scen_chain_kept(scen_callback callback, void* argument, int frames);
int scen_chain_bare(scen_callback callback, void* argument, int frames);
int scen_call_errno(scen_callback callback, void* argument);
int scen_call_string(scen_text_callback callback, const char* text);
// `argument` is itself a callback: visits managed code once, then blocks in native code for good.
int scen_return_then_block(void* argument);
int scen_sort(int* values, long count, int (*compare)(const void*, const void*));
// Assembly: calls back with rbp holding a value that is no address at all.
int scen_call_rbp_plain(scen_callback callback, void* argument);

int scen_native_deep(int depth);
void scen_start_native_threads(int count, int depth);
void scen_start_callback_thread(scen_callback callback, void* argument);

int scen_gettid();
void scen_install_handler(int signal_number, int on_alternate_stack);
void scen_use_alternate_stack();
void scen_count_signals(int signal_number);
long scen_signals_got();
int scen_signal_thread(int tid, int signal_number);
// Takes a signal on an alternate stack of this size, computes there for some microseconds, and puts the thread's own
// alternate stack back. 1: the result was right.
int scen_visit_alternate_stack(long size);
int scen_vfork_parent(int seconds);
// Forks without another program: answers the child's wait status, 0 when it came to its end.
int scen_fork_child();
// What a signal costs the thread that gets it, ns: the fastest of many, from before it is sent until after its handler
// has returned. `value`: what it carries; 0: to a handler of ours that only reads registers.
double scen_signal_cost(unsigned long value, int rounds);
// For how long a thread that computes does not run, ns, when another one sends it that signal: the median of many.
double scen_signal_gap(unsigned long value, int rounds);
}
