using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Scenarios;

internal static unsafe class Threads
{
    private static long s_churned;
    private static readonly object s_gate = new();

    public static long Churned => Volatile.Read(ref s_churned);

    // sleepers [count] [depth] [spinners]
    [Scenario("sleepers")]
    private static void Sleepers()
    {
        int count = Program.Argument(0, 500), depth = Program.Argument(1, 20), spinners = Program.Argument(2, 0);
        for (int i = 0; i < count; i++)
        {
            Scene.Actor("sleep" + i, () => Even(depth));
        }
        Spin(spinners);
    }

    private static void Spin(int count)
    {
        for (int i = 0; i < count; i++)
        {
            Scene.Actor("spin" + i, () =>
            {
                Scene.InPlace();
                Spinning.Forever();
            });
        }
    }

    // wakers [count] [depth] [ms] [spinners]: threads that wait, and run for a moment all the time.
    [Scenario("wakers")]
    private static void Wakers()
    {
        int count = Program.Argument(0, 500), depth = Program.Argument(1, 20), ms = Program.Argument(2, 8);
        for (int i = 0; i < count; i++)
        {
            Scene.Actor("wake" + i, () => WakeBelow(depth, ms));
        }
        Spin(Program.Argument(3, 0));
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int WakeBelow(int n, int ms)
    {
        if (n > 0)
        {
            return WakeBelow(n - 1, ms) + n;
        }
        Scene.InPlace();
        while (true)
        {
            Thread.Sleep(ms);
            s_churned++;
        }
    }

    // Four threads in the same methods, two in the one call and two in the other.
    [Scenario("two_calls")]
    private static void TwoCalls()
    {
        foreach (string name in (string[])["first0", "first1", "second0", "second1"])
        {
            Scene.Actor(name, () => OneOfTwo(name.StartsWith('f')));
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void OneOfTwo(bool first)
    {
        if (first)
        {
            Scene.Park();
            s_churned++;
        }
        Scene.Park();
        s_churned--;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Even(int n)
    {
        if (n <= 0)
        {
            Scene.Park();
            return 0;
        }
        return Odd(n - 1, "x") + n;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Odd<T>(int n, T value)
    {
        if (n <= 0)
        {
            Scene.Park();
            return 1;
        }
        return Even(n - 1) ^ value!.GetHashCode();
    }

    [Scenario("churn")]
    private static void Churn()
    {
        for (int i = 0; i < 2; i++)
        {
            Scene.Actor("parent" + i, () =>
            {
                Scene.InPlace();
                for (; ; )
                {
                    Thread child = new(() => Thread.Sleep(1), 128 * 1024) { Name = "child" };
                    child.Start();
                    child.Join();
                    Interlocked.Increment(ref s_churned);
                }
            });
        }
        Scene.Actor("steady", Scene.Park);
    }

    // Counts SIGRTMIN+6 in a native handler; the test sends them and asks "signals".
    [Scenario("signals")]
    private static void Signals()
    {
        Native.CountSignals(Program.Argument(0, 40));
        Scene.Actor("sleeper", Scene.Park);
        Scene.Actor("spinner", () =>
        {
            Scene.InPlace();
            Spinning.Forever();
        });
    }

    [Scenario("signal_handler")]
    private static void SignalHandler() => Interrupted(false, false);

    [Scenario("signal_handler_altstack")]
    private static void SignalHandlerAltStack() => Interrupted(true, false);

    [Scenario("signal_handler_own_altstack")]
    private static void SignalHandlerOwnAltStack() => Interrupted(true, true);

    private static void Interrupted(bool onAlternateStack, bool ownStack)
    {
        const int signal = 41;
        int spinner = 0, sleeper = 0;
        Native.InstallHandler(signal, onAlternateStack ? 1 : 0);
        Scene.Actor("interrupted-spin", () =>
        {
            if (ownStack)
            {
                Native.UseAlternateStack();
            }
            Volatile.Write(ref spinner, Native.GetTid());
            Spinning.Forever();
        });
        Scene.Actor("interrupted-sleep", () =>
        {
            Volatile.Write(ref sleeper, Native.GetTid());
            Thread.Sleep(Timeout.Infinite);
        });
        while (Volatile.Read(ref spinner) == 0 || Volatile.Read(ref sleeper) == 0)
        {
            Thread.Sleep(1);
        }
        Thread.Sleep(100);
        Native.SignalThread(spinner, signal);
        Native.SignalThread(sleeper, signal);
    }

    [Scenario("locks")]
    private static void Locks()
    {
#if NET9_0_OR_GREATER
        Lock gate = new();
#endif
        SemaphoreSlim semaphore = new(0);
        ManualResetEventSlim slim = new(false);
        ManualResetEvent plain = new(false);
        Monitor.Enter(s_gate);
#if NET9_0_OR_GREATER
        gate.Enter();
        Scene.Actor("lock-enter", () => Waiting(() => { lock (gate) { } }));
#endif
        Scene.Actor("monitor-enter", () => Waiting(() => { lock (s_gate) { } }));
        Scene.Actor("monitor-wait", () => { object own = new(); lock (own) { Waiting(() => Monitor.Wait(own)); } });
        Scene.Actor("semaphore", () => Waiting(semaphore.Wait));
        Scene.Actor("event-slim", () => Waiting(slim.Wait));
        Scene.Actor("event", () => Waiting(() => plain.WaitOne()));
        Scene.Actor("task-wait", () => Waiting(() => new TaskCompletionSource<int>().Task.Wait()));
        Scene.Actor("join", () => { Thread other = Scene.Extra("other", () => Thread.Sleep(Timeout.Infinite)); Waiting(other.Join); });
        Scene.Actor("synchronized", () => new Holder().Outer());
        Thread.Sleep(200);
    }

    private sealed class Holder
    {
        [MethodImpl(MethodImplOptions.Synchronized | MethodImplOptions.NoInlining)]
        public void Outer()
        {
            Inner(this);
        }

        [MethodImpl(MethodImplOptions.Synchronized | MethodImplOptions.NoInlining)]
        private static void Inner(object value)
        {
            Scene.Park();
            GC.KeepAlive(value);
        }
    }

    private static void Waiting(Action wait)
    {
        Scene.InPlace();
        wait();
    }

    // A collection that never gets its suspension: one thread spins in native code in cooperative mode, one waits for
    // all to stop, the others wait for the collection in every way a thread can.
    [Scenario("gc_wait")]
    private static void GcWait()
    {
        for (int i = 0; i < 2; i++)
        {
            Scene.Extra("loop" + i, () => Loop(0));
        }
        Scene.Extra("allocator", () =>
        {
            for (; ; )
            {
                GC.KeepAlive(new byte[1000]);
            }
        });
        Scene.Extra("returning", () =>
        {
            for (; ; )
            {
                Native.GetTid();
            }
        });
        Scene.Extra("collector", () =>
        {
            while (Native.InPlace() == 0)
            {
            }
            GC.Collect();
        });
        Thread.Sleep(100);
        // From here on any suspension (a collection, the tiering of methods) stays pending for ever, so the main
        // thread must not enter managed code again.
        Scene.Extra("uncooperative", () =>
        {
            Thread.Sleep(400);
            Native.SpinWithoutTransition();
        });
        Native.Announce(1);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Loop(int seed)
    {
        for (; ; )
        {
            seed = Mix(seed);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Mix(int seed) => seed * 31 + 7;

    // Suspensions one after the other over methods so small that hijacks and activations hit them everywhere.
    [Scenario("gc_storm")]
    private static void GcStorm()
    {
        for (int i = 0; i < 2; i++)
        {
            Scene.Actor("tiny" + i, () =>
            {
                Scene.InPlace();
                Loop(1);
            });
        }
        Scene.Actor("fully-optimized", () =>
        {
            Scene.InPlace();
            OptimizedLoop();
        });
        Scene.Actor("collector", () =>
        {
            Scene.InPlace();
            for (; ; )
            {
                GC.Collect(0);
                Thread.SpinWait(10_000);
            }
        });
    }

    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
    private static void OptimizedLoop()
    {
        for (object? value = null; ; )
        {
            value = Returns(value);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
    private static object? Returns(object? value) => Again(value) ?? "text";

    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
    private static object? Again(object? value) => value is null ? s_gate : null;

    // A name that would ring a bell and clear a screen.
    [Scenario("control_name")]
    private static void ControlName() => Scene.Actor("bell\a and \u001b[2J, \u009b31m", Scene.Park);

    // Managed code in the past, purely native now: a Thread object and no Frame.
    [Scenario("once_managed")]
    private static void OnceManaged()
    {
        Scene.Expect(2);
        for (int i = 0; i < 2; i++)
        {
            Native.StartCallbackThread((delegate* unmanaged[Cdecl]<nint, int>)Native.Symbol("scen_return_then_block"), (nint)(delegate* unmanaged[Cdecl]<nint, int>)&Visit);
        }
        Scene.Actor("neighbour", Scene.Park);
    }

    [UnmanagedCallersOnly(CallConvs = [typeof(CallConvCdecl)])]
    private static int Visit(nint argument) => (int)argument;

    [Scenario("pool")]
    private static void Pool()
    {
        Scene.Expect(3);
        ThreadPool.QueueUserWorkItem(_ => Scene.Park());
        s_timer = new Timer(_ => Scene.Park(), null, 10, Timeout.Infinite);
        Task.Factory.StartNew(Scene.Park, TaskCreationOptions.LongRunning);
    }

    private static Timer? s_timer;
}
