using System.Collections.Concurrent;
using System.Runtime.CompilerServices;

namespace Scenarios;

// What `mixstack why` must tell. Each thread that waits is named after how; a line TRUTH says for whom: the waiter's
// name, a word for the wait, the object's type, the name of who holds it or "-".
internal static partial class Waits
{
    private static void Truth(string waiter, string wait, string type, string owner) =>
        Console.WriteLine($"TRUTH {waiter} {wait} {type} {owner}");

    private static void Park()
    {
        Scene.InPlace();
        Thread.Sleep(Timeout.Infinite);
    }

    private static void Waiter(string name, string wait, string type, string owner, Action body)
    {
        Truth(name, wait, type, owner);
        Scene.Actor(name, () => { Scene.InPlace(); body(); });
    }

    internal sealed class Account
    {
        public int Balance;
    }

    // A cycle of threads, each of which holds one lock and wants the next.
    private static void Ring<T>(int count, string wait, Func<T> make, Action<T, Action> inside, string name = "ring") where T : class
    {
        T[] locks = new T[count];
        CountdownEvent held = new(count);
        for (int i = 0; i < count; i++)
        {
            locks[i] = make();
        }
        for (int i = 0; i < count; i++)
        {
            int me = i, next = (i + 1) % count;
            Truth($"{name}{me}", wait, typeof(T).FullName, $"{name}{next}");
            Scene.Actor($"{name}{me}", () => inside(locks[me], () =>
            {
                held.Signal();
                held.Wait();
                Scene.InPlace();
                inside(locks[next], () => { });
            }), 256 * 1024);
        }
        held.Wait();
        Thread.Sleep(200);
        GC.KeepAlive(locks);
    }

    private static void InMonitor(Account account, Action body)
    {
        lock (account)
        {
            body();
        }
    }

    [Scenario("deadlock")]
    private static void Deadlock() => Ring(2, "monitor", () => new Account(), InMonitor);

    [Scenario("deadlock_ring")]
    private static void DeadlockRing() => Ring(500, "monitor", () => new Account(), InMonitor);

#if NET9_0_OR_GREATER
    [Scenario("deadlock_lock")]
    private static void DeadlockLock() => Ring(3, "lock", () => new Lock(), (gate, body) =>
    {
        lock (gate)
        {
            body();
        }
    });
#endif

    // A thread holds a lock and waits for a task that wants the lock.
    [Scenario("deadlock_task")]
    private static void DeadlockTask()
    {
        Account account = new();
        Truth("holder", "task", "System.Threading.Tasks.Task", "task");
        Truth("task", "monitor", "Scenarios.Waits.Account", "holder");
        Scene.Actor("holder", () =>
        {
            lock (account)
            {
                Task work = new(() =>
                {
                    Thread.CurrentThread.Name = "task";
                    InMonitor(account, () => { });
                }, TaskCreationOptions.LongRunning);
                work.Start();
                Scene.InPlace();
                work.Wait();
            }
        });
        Thread.Sleep(300);
    }

    // One joins another that wants what the first holds.
    [Scenario("deadlock_join")]
    private static void DeadlockJoin()
    {
        Account account = new();
        Truth("joiner", "thread_join", "System.Threading.Thread", "joined");
        Truth("joined", "monitor", "Scenarios.Waits.Account", "joiner");
        Scene.Actor("joiner", () =>
        {
            lock (account)
            {
                Thread other = Scene.Extra("joined", () => InMonitor(account, () => { }));
                Scene.InPlace();
                other.Join();
                GC.KeepAlive(other);
            }
        });
        Thread.Sleep(300);
    }

    // Many wait for a lock whose holder sleeps.
    [Scenario("convoy")]
    private static void Convoy()
    {
        Account account = new();
        Scene.Actor("owner", () => InMonitor(account, Park));
        Thread.Sleep(100);
        for (int i = 0; i < 12; i++)
        {
            Waiter($"waiter{i}", "monitor", "Scenarios.Waits.Account", "owner", () => InMonitor(account, () => { }));
        }
        Thread.Sleep(200);
    }

    // Every kind of wait that is not a cycle.
    [Scenario("waits")]
    private static void All()
    {
        Account account = new();
        SemaphoreSlim semaphore = new(0);
        ManualResetEventSlim slim = new(false);
        ManualResetEvent handle = new(false);
        CountdownEvent countdown = new(3);
        Barrier barrier = new(2);
        BlockingCollection<int> collection = new();
        ReaderWriterLockSlim readers = new();
        TaskCompletionSource<int> source = new();
        Task[] several = { new TaskCompletionSource().Task, new TaskCompletionSource().Task };
        Scene.Actor("owner", () => InMonitor(account, Park));
        Scene.Actor("type-owner", () => { lock (typeof(Account)) { Park(); } });
        Scene.Actor("reader", () => { readers.EnterReadLock(); Park(); });
        Thread.Sleep(100);
        Waiter("monitor", "monitor", "Scenarios.Waits.Account", "owner", () => InMonitor(account, () => { }));
        Waiter("pulse", "monitor_wait", "System.Object", "-", () => { object own = new(); lock (own) { Monitor.Wait(own); } });
        Waiter("semaphore", "semaphore_slim", "System.Threading.SemaphoreSlim", "-", semaphore.Wait);
        Waiter("slim", "reset_event_slim", "System.Threading.ManualResetEventSlim", "-", slim.Wait);
        Waiter("handle", "wait_handle", "System.Threading.ManualResetEvent", "-", () => handle.WaitOne());
        Waiter("countdown", "countdown", "System.Threading.CountdownEvent", "-", countdown.Wait);
        Waiter("barrier", "barrier", "System.Threading.Barrier", "-", barrier.SignalAndWait);
        Waiter("collection", "blocking_collection", "System.Collections.Concurrent.BlockingCollection<int>", "-", () => collection.Take());
        Waiter("writer", "reader_writer_lock", "System.Threading.ReaderWriterLockSlim", "reader", readers.EnterWriteLock);
        Waiter("task", "task", "System.Threading.Tasks.Task<int>", "-", () => source.Task.Wait());
        Waiter("result", "task", "System.Threading.Tasks.Task<int>", "-", () => source.Task.GetAwaiter().GetResult());
        Waiter("all", "all_tasks", "System.Threading.Tasks.Task", "-", () => Task.WaitAll(several));
        Waiter("type", "monitor", "typeof(Scenarios.Waits.Account)", "type-owner", () => { lock (typeof(Account)) { } });
        Thread.Sleep(300);
        GC.KeepAlive(several);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static bool WaitFor(WaitHandle handle, int ms) => handle.WaitOne(ms);
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int WaitForAny(WaitHandle[] handles, int ms) => WaitHandle.WaitAny(handles, ms);
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Join(Thread thread) => thread.Join();
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Rest(int ms) => Thread.Sleep(ms);

    // Methods that have been called so often that what they call is compiled into them: no frame of a wait is left.
    [Scenario("hot_waits")]
    private static void Hot()
    {
        using ManualResetEvent set = new(true), other = new(true);
        WaitHandle[] both = { set, other };
        Thread ended = new(() => { });
        ended.Start();
        ended.Join();
        for (int round = 0; round < 4; round++)
        {
            for (int i = 0; i < 20_000; i++)
            {
                WaitFor(set, -1);
                WaitForAny(both, -1);
                Join(ended);
                Rest(0);
            }
            Thread.Sleep(250);  // until it is compiled anew
        }
        ManualResetEvent never = new(false);
        Mutex mutex = new(false);
        AutoResetEvent[] several = { new(false), new(false) };
        Thread sleeper = Scene.Actor("hot-sleeper", () => { Scene.InPlace(); Rest(Timeout.Infinite); });
        Scene.Actor("hot-owner", () => { WaitFor(mutex, -1); Scene.InPlace(); Rest(Timeout.Infinite); });
        Thread.Sleep(200);
        Waiter("hot-handle", "wait_handle", "System.Threading.ManualResetEvent", "-", () => WaitFor(never, -1));
        Waiter("hot-mutex", "wait_handle", "System.Threading.Mutex", "hot-owner", () => WaitFor(mutex, -1));
        Waiter("hot-any", "wait_handles", "System.Threading.AutoResetEvent", "-", () => WaitForAny(several, -1));
        Waiter("hot-join", "thread_join", "System.Threading.Thread", "hot-sleeper", () => Join(sleeper));
        Thread.Sleep(300);
        GC.KeepAlive(several);
    }
}
