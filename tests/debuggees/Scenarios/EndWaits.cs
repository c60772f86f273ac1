namespace Scenarios;

// Threads that wait until finalizers, a CancellationToken's callback or those of a timer have ended, and what these need
// meanwhile. Lines TRUTH are those of Waits.cs.
internal static partial class Waits
{
    private sealed class Locking(object gate)
    {
        ~Locking()
        {
            lock (gate) { }
        }
    }

    [System.Runtime.CompilerServices.MethodImpl(System.Runtime.CompilerServices.MethodImplOptions.NoInlining)]
    private static void LeaveOne(object gate) => _ = new Locking(gate);

    [Scenario("deadlock_finalizers")]
    private static void DeadlockFinalizers()
    {
        Account account = new();
        Scene.Actor("holder", () => InMonitor(account, () =>
        {
            Scene.InPlace();
            LeaveOne(account);
            GC.Collect();
            GC.WaitForPendingFinalizers();
        }));
        Thread.Sleep(300);
    }

    // Finalizers come and go, and all of them are waited for.
    [Scenario("finalizers_waited_for")]
    private static void FinalizersWaitedFor()
    {
        for (int i = 0; i < 3; i++)
        {
            Scene.Actor($"collects{i}", () =>
            {
                Scene.InPlace();
                for (;;)
                {
                    LeaveOne(new object());
                    GC.Collect();
                    GC.WaitForPendingFinalizers();
                }
            });
        }
        Thread.Sleep(300);
    }

    // A registration is ended by who holds the lock that its callback wants.
    private static void DeadlockRegistration(Action<CancellationTokenRegistration> end)
    {
        Account account = new();
        CancellationTokenSource source = new();
        ManualResetEventSlim inside = new();
        CancellationTokenRegistration registration = source.Token.Register(() =>
        {
            inside.Set();
            InMonitor(account, () => { });
        });
        Truth("canceller", "monitor", "Scenarios.Waits.Account", "holder");
        Scene.Actor("holder", () => InMonitor(account, () =>
        {
            Scene.Extra("canceller", source.Cancel);
            inside.Wait();
            Scene.InPlace();
            end(registration);
        }));
        Thread.Sleep(300);
    }

    [Scenario("deadlock_registration")]
    private static void EndAtOnce()
    {
        Truth("holder", "callback", "System.Threading.CancellationTokenSource", "canceller");
        DeadlockRegistration(registration => registration.Dispose());
    }

    [Scenario("deadlock_registration_await")]
    private static void EndByAwait() => DeadlockRegistration(registration => End(registration).Wait());

    private static async Task End(CancellationTokenRegistration registration)
    {
        await registration.DisposeAsync();
    }

    // A timer is closed by who holds the lock that its callback wants.
    private static void DeadlockTimer(string wait, string type, Action<Timer> close)
    {
        Account account = new();
        ManualResetEventSlim inside = new();
        Timer timer = new(_ =>
        {
            Thread.CurrentThread.Name = "timer";
            inside.Set();
            InMonitor(account, () => { });
        });
        Truth("timer", "monitor", "Scenarios.Waits.Account", "holder");
        Waiter("holder", wait, type, "timer", () => InMonitor(account, () =>
        {
            timer.Change(0, Timeout.Infinite);
            inside.Wait();
            Thread.Sleep(50);
            close(timer);
        }));
        Thread.Sleep(400);
    }

    [Scenario("deadlock_timer")]
    private static void DeadlockTimerHandle() => DeadlockTimer("wait_handle", "System.Threading.ManualResetEvent", timer =>
    {
        ManualResetEvent ended = new(false);
        timer.Dispose(ended);
        ended.WaitOne();
    });

    [Scenario("timer_closed_for_some_time")]
    private static void TimerClosedForSomeTime() => DeadlockTimer("wait_handle", "System.Threading.ManualResetEvent", timer =>
    {
        ManualResetEvent ended = new(false);
        timer.Dispose(ended);
        ended.WaitOne(3_600_000);
    });

    [Scenario("signal_and_wait")]
    private static void SignalAndWait()
    {
        AutoResetEvent signalled = new(false);
        ManualResetEvent waited = new(false);
        Scene.Actor("waiter", () =>
        {
            Scene.InPlace();
            WaitHandle.SignalAndWait(signalled, waited);
        });
        Thread.Sleep(200);
        GC.KeepAlive(signalled);
    }

    [Scenario("deadlock_timer_task")]
    private static void DeadlockTimerTask() =>
        DeadlockTimer("task", "System.Threading.Tasks.Task", timer => timer.DisposeAsync().AsTask().Wait());

    [Scenario("deadlock_timer_await")]
    private static void DeadlockTimerAwait() =>
        DeadlockTimer("task", "-", timer => Close(timer).Wait());

    private static async Task Close(Timer timer)
    {
        await using (timer)
        {
            await Task.Yield();
        }
    }

    // The callback waits for its own end.
    [Scenario("deadlock_timer_itself")]
    private static void DeadlockTimerItself()
    {
        Timer timer = null;
        Truth("timer", "wait_handle", "System.Threading.AutoResetEvent", "timer");
        timer = new(_ =>
        {
            Thread.CurrentThread.Name = "timer";
            AutoResetEvent ended = new(false);
            timer.Dispose(ended);
            ended.WaitOne();
        }, null, 50, Timeout.Infinite);
        Thread.Sleep(400);
        GC.KeepAlive(timer);
    }

    // The worker of a call waits for the lock of who has called it.
    private static void DeadlockForEach(bool yields)
    {
        Account account = new();
        Scene.Actor("holder", () => InMonitor(account, () =>
        {
            Scene.InPlace();
            Parallel.ForEachAsync(Enumerable.Range(0, 2), new ParallelOptions { MaxDegreeOfParallelism = 1 }, async (_, _) =>
            {
                if (yields)
                {
                    await Task.Yield();
                }
                Thread.CurrentThread.Name = "worker";
                InMonitor(account, () => { });
            }).Wait();
        }));
        Thread.Sleep(400);
    }

    [Scenario("deadlock_for_each")]
    private static void ForEachYields() => DeadlockForEach(true);

    // Before its first await the worker is no object yet.
    [Scenario("deadlock_for_each_at_once")]
    private static void ForEachAtOnce() => DeadlockForEach(false);
}
