using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Scenarios;

/// <summary>
/// Ends of a process, each on a thread of its own. These never print READY themselves: either they are left to die (a
/// core is wanted), or libholdabort.so is preloaded, which prints it and stands still where the runtime calls abort.
/// </summary>
internal static class Crashes
{
    private sealed class CrashException(string message, Exception? inner = null) : Exception(message, inner);

    private static int s_depth;

    /// <summary>A crash never counts itself in place, so that the scenario waits for its own end.</summary>
    private static void Crash(Action body, int stackSize = 1536 * 1024)
    {
        Scene.Extra("bystander", Scene.Park);
        Scene.Expect(2);
        Scene.Extra("crash", body, stackSize);
    }

    [Scenario("crash_fail_fast")]
    private static void FailFast() => Crash(() => GiveUp("the \"disk\" is on fire \u2620 \U0001F525"));

    [Scenario("crash_fail_fast_exception")]
    private static void FailFastWithException() => Crash(() =>
    {
        try
        {
            Throw(3);
        }
        catch (CrashException error)
        {
            Environment.FailFast("could not go on", error);
        }
    });

    [Scenario("crash_fail_fast_silent")]
    private static void FailFastWithoutMessage() => Crash(() => Environment.FailFast(null));

    [Scenario("crash_assert")]
    private static void Assert() => Crash(() => System.Diagnostics.Trace.Fail("short", "detailed"));

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void GiveUp(string why)
    {
        Environment.FailFast(why);
        s_depth++;
    }

    // Two methods in turn until the stack is used up.
    [Scenario("crash_stack_overflow")]
    private static void StackOverflow() => Crash(() => Ping(1));

    // Few enough frames for a witness that needs milliseconds for each.
    [Scenario("crash_stack_overflow_small")]
    private static void SmallStackOverflow() => Crash(() => Ping(1), 128 * 1024);

    [Scenario("crash_stack_overflow_main")]
    private static void StackOverflowOnMain()
    {
        Scene.Extra("bystander", Scene.Park);
        Thread.Sleep(200);
        Ping(1);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Ping(int n)
    {
        int below = Pong(n + 1);
        return below + n;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Pong(int n)
    {
        s_depth = n;
        int below = Ping(n + 1);
        return below ^ n;
    }

    // Native frames between the managed ones that overflow.
    [Scenario("crash_stack_overflow_mixed")]
    private static unsafe void StackOverflowThroughNative() => Crash(() => Native.Call(&Deeper, 1));

    [UnmanagedCallersOnly(CallConvs = [typeof(CallConvCdecl)])]
    private static unsafe int Deeper(nint n) => Native.Call(&Deeper, n + 1) + (int)n;

    [Scenario("crash_unhandled")]
    private static void Unhandled() => Crash(() => Wrap(2));

    // No frame above native code catches: the exception never reaches the managed caller of the native code.
    [Scenario("crash_unhandled_native")]
    private static unsafe void UnhandledThroughNative() => Crash(() => Native.Call(&ThrowFromCallback, 2));

    [UnmanagedCallersOnly(CallConvs = [typeof(CallConvCdecl)])]
    private static int ThrowFromCallback(nint depth) => Wrap((int)depth);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Wrap(int depth)
    {
        try
        {
            return Throw(depth);
        }
        catch (CrashException error)
        {
            throw new InvalidOperationException("wrapped once", new CrashException("wrapped twice", error));
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Throw(int depth)
    {
        if (depth <= 0)
        {
            throw new CrashException("at the bottom");
        }
        int below = Throw(depth - 1);
        return below + 1;
    }

    // The signal comes from native code: the runtime takes it for a fault of its own and aborts.
    [Scenario("crash_native_fault")]
    private static void NativeFault() => Crash(() => Native.Fault());

    // Native code calls through a null pointer.
    [Scenario("crash_null_call")]
    private static unsafe void NullCall() => Crash(() => Native.Call(null, 1));
}
