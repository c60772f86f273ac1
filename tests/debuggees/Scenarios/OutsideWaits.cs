using System.Diagnostics;
using System.Net;
using System.Net.Sockets;

namespace Scenarios;

// Waits whose cause lies outside of locks: see Waits.cs for the lines they print.
internal static partial class Waits
{
    private sealed class Stubborn(Account account)
    {
        ~Stubborn() => InMonitor(account, () => { });
    }

    [System.Runtime.CompilerServices.MethodImpl(System.Runtime.CompilerServices.MethodImplOptions.NoInlining)]
    private static void Drop(Account account) => _ = new Stubborn(account);

    // A finalizer that wants a lock whose holder sleeps.
    [Scenario("blocked_finalizer")]
    private static void BlockedFinalizer()
    {
        Account account = new();
        Scene.Actor("owner", () => InMonitor(account, Park));
        Thread.Sleep(100);
        Drop(account);
        GC.Collect();
        Thread.Sleep(300);
    }

    // A client whose server never answers, a server that nobody calls, a pipe that nobody writes.
    [Scenario("silent_server")]
    private static void SilentServer()
    {
        Socket listening = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        listening.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        listening.Listen();
        IPEndPoint at = (IPEndPoint)listening.LocalEndPoint!;
        Socket client = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        client.Connect(at);
        Socket accepted = listening.Accept();
        Console.WriteLine($"TRUTH client socket {client.LocalEndPoint}->{client.RemoteEndPoint} -");
        Scene.Actor("client", () => { Scene.InPlace(); _ = client.Receive(new byte[16]); });
        Console.WriteLine($"TRUTH server socket {at} -");
        Scene.Actor("server", () => { Scene.InPlace(); _ = listening.Accept(); });
        Console.WriteLine("TRUTH sleeper sleep - -");
        Scene.Actor("sleeper", Park);
        Thread.Sleep(300);
        GC.KeepAlive(accepted);
    }

    private sealed class Slow
    {
        ~Slow() => Thread.Sleep(150);
    }

    // One finalizer after the other, each of which waits for a moment: they get on.
    [Scenario("slow_finalizers")]
    private static void SlowFinalizers()
    {
        Scene.Extra("trash", () =>
        {
            while (true)
            {
                for (int i = 0; i < 3; i++)
                {
                    Drop();
                }
                GC.Collect();
                Thread.Sleep(200);
            }
        });
        Thread.Sleep(1000);

        [System.Runtime.CompilerServices.MethodImpl(System.Runtime.CompilerServices.MethodImplOptions.NoInlining)]
        static void Drop() => _ = new Slow();
    }

    // Threads that wait, again and again, for one of them that fills a cache.
    [Scenario("cache_fill")]
    private static void CacheFill()
    {
        const int requests = 5;
        Lazy<int> cache = null;
        Barrier round = new(requests, _ => cache = new Lazy<int>(Fill));
        for (int i = 0; i < requests; i++)
        {
            Scene.Extra($"request{i}", () =>
            {
                while (true)
                {
                    round.SignalAndWait();
                    _ = cache.Value;
                }
            });
        }
        Thread.Sleep(300);

        static int Fill()
        {
            Thread.Sleep(400);
            return 1;
        }
    }

    // Threads that get a lock one after the other, each for a while.
    [Scenario("lock_by_turns")]
    private static void LockByTurns()
    {
        Account account = new();
        for (int i = 0; i < 5; i++)
        {
            Scene.Extra($"turn{i}", () =>
            {
                while (true)
                {
                    InMonitor(account, () => Thread.Sleep(250));
                }
            });
        }
        Thread.Sleep(300);
    }

    // Two that each hold a mutex and want the other's.
    [Scenario("deadlock_mutex")]
    private static void DeadlockMutex()
    {
        Mutex[] mutexes = { new(), new() };
        CountdownEvent held = new(2);
        for (int i = 0; i < 2; i++)
        {
            int me = i, other = 1 - i;
            Truth($"mutex{me}", "wait_handle", "System.Threading.Mutex", $"mutex{other}");
            Scene.Actor($"mutex{me}", () =>
            {
                mutexes[me].WaitOne();
                held.Signal();
                held.Wait();
                Scene.InPlace();
                if (me == 0)
                {
                    mutexes[other].WaitOne();
                }
                else
                {
                    WaitHandle.WaitAll([mutexes[other]]);
                }
            });
        }
        held.Wait();
        Thread.Sleep(200);
        GC.KeepAlive(mutexes);
    }

    // A child process that does not end before its parent does.
    [Scenario("child_process")]
    private static void ChildProcess()
    {
        Process child = Process.Start(new ProcessStartInfo("cat") { RedirectStandardInput = true })!;
        Console.WriteLine($"TRUTH parent child_process {child.Id} -");
        Scene.Actor("parent", () => { Scene.InPlace(); child.WaitForExit(); });
        Thread.Sleep(300);
    }

    // Sockets that .NET has made non-blocking, as it does for the first async call: a silent peer, a full one.
    [Scenario("sync_over_socket")]
    private static void SyncOverSocket()
    {
        TcpListener listening = new(IPAddress.Loopback, 0);
        listening.Start();
        List<TcpClient> kept = new();
        foreach (string name in new[] { "reader", "writer" })
        {
            TcpClient client = new();
            client.ConnectAsync((IPEndPoint)listening.LocalEndpoint).Wait();
            kept.Add(client);
            kept.Add(listening.AcceptTcpClient());
            Console.WriteLine($"TRUTH {name} socket {client.Client.LocalEndPoint}->{client.Client.RemoteEndPoint} -");
            Scene.Actor(name, () =>
            {
                Scene.InPlace();
                byte[] bytes = new byte[1 << 20];
                if (name == "reader")
                {
                    _ = client.GetStream().Read(bytes, 0, 16);
                }
                while (name == "writer")
                {
                    client.GetStream().Write(bytes, 0, bytes.Length);
                }
            });
        }
        Thread.Sleep(1000);
        GC.KeepAlive(kept);
    }

    // A monitor whose owner has ended.
    [Scenario("orphaned_monitor")]
    private static void OrphanedMonitor()
    {
        Account account = new();
        Scene.Extra("owner", () => Monitor.Enter(account)).Join();
        Thread.Sleep(100);
        Waiter("one", "monitor", "Scenarios.Waits.Account", "-", () => InMonitor(account, () => { }));
        Waiter("other", "monitor", "Scenarios.Waits.Account", "-", () => InMonitor(account, () => { }));
        Thread.Sleep(300);
    }

    // The same of a lock that keeps its writer's managed id.
    [Scenario("orphaned_rwlock")]
    private static void OrphanedReaderWriterLock()
    {
        ReaderWriterLockSlim book = new();
        Scene.Extra("owner", book.EnterWriteLock).Join();
        Thread.Sleep(100);
        Waiter("reader", "reader_writer_lock", "System.Threading.ReaderWriterLockSlim", "-", book.EnterReadLock);
        Waiter("writer", "reader_writer_lock", "System.Threading.ReaderWriterLockSlim", "-", book.EnterWriteLock);
        Thread.Sleep(300);
    }

    // The older class: one lock whose writer has ended, one whose writer sleeps, and one that is only read.
    [Scenario("older_rwlocks")]
    private static void OlderReaderWriterLocks()
    {
        ReaderWriterLock left = new(), held = new(), read = new();
        Scene.Extra("gone", () => left.AcquireWriterLock(Timeout.Infinite)).Join();
        Scene.Extra("owner", () => { held.AcquireWriterLock(Timeout.Infinite); Thread.Sleep(Timeout.Infinite); });
        Scene.Extra("reads", () => { read.AcquireReaderLock(Timeout.Infinite); Thread.Sleep(Timeout.Infinite); });
        Thread.Sleep(100);
        foreach ((string name, ReaderWriterLock book, string owner) in new[] { ("left", left, "-"), ("held", held, "owner") })
        {
            Waiter(name + "-reader", "reader_writer_lock", "System.Threading.ReaderWriterLock", owner, () => book.AcquireReaderLock(Timeout.Infinite));
            Waiter(name + "-writer", "reader_writer_lock", "System.Threading.ReaderWriterLock", owner, () => book.AcquireWriterLock(Timeout.Infinite));
        }
        Waiter("read-writer", "reader_writer_lock", "System.Threading.ReaderWriterLock", "-", () => read.AcquireWriterLock(Timeout.Infinite));
        Thread.Sleep(300);
    }

    // Each has what the other wants, and one of the two things has no owner.
    [Scenario("monitor_and_semaphore")]
    private static void MonitorAndSemaphore()
    {
        Account account = new();
        SemaphoreSlim places = new(1, 1);
        places.Wait();
        Waiter("holder", "semaphore_slim", "System.Threading.SemaphoreSlim", "-", () => InMonitor(account, places.Wait));
        Thread.Sleep(200);
        Waiter("behind", "monitor", "Scenarios.Waits.Account", "holder", () => InMonitor(account, () => places.Release()));
        Thread.Sleep(300);
    }

    // What .NET has that is inlined into the program's own method.
    [Scenario("lazy_waits")]
    private static void LazyWaits()
    {
        Lazy<int> lazy = new(() => { Park(); return 1; });
        Scene.Actor("maker", () => _ = lazy.Value);
        Thread.Sleep(200);
        Waiter("lazy", "monitor", "System.LazyHelper", "maker", () => ValueOf(lazy));
        Thread.Sleep(300);

        [System.Runtime.CompilerServices.MethodImpl(System.Runtime.CompilerServices.MethodImplOptions.NoInlining)]
        static int ValueOf(Lazy<int> lazy) => lazy.Value + 1;
    }
}
