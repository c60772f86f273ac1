using System.Runtime.CompilerServices;

namespace Scenarios;

// Async methods, the thread pool and timers for `mixstack why`.
internal static partial class AsyncWaits
{
    internal static class OrderApi
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static async Task<int> GetOrder(Func<Task<int>> read)
        {
            int price = await PriceService.Load(read).ConfigureAwait(false);
            return price + 1;
        }
    }

    internal static class PriceService
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static async ValueTask<int> Load(Func<Task<int>> read)
        {
            try
            {
                return await Db.ReadRow(read);
            }
            finally
            {
                Lines.Keep();
            }
        }
    }

    internal static class Db
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static async Task<int> ReadRow(Func<Task<int>> read) => await read();
    }

    private static async Task<int> Delayed()
    {
        await Task.Delay(TimeSpan.FromHours(1));
        return 1;
    }

    private static async Task<int> Yielded()
    {
        await Task.Yield();
        return 1;
    }

    internal static async Task<int> Short()
    {
        await Task.Delay(20);
        return 1;
    }

    private static void Waiter(string name, Func<Task<int>> begin) => Scene.Actor(name, () =>
    {
        Task<int> task = begin();
        Scene.InPlace();
        task.Wait();
    });

    private static readonly List<object> s_kept = [];

    private static T Keep<T>(T what) where T : class
    {
        s_kept.Add(what);
        return what;
    }

    // Code that two async services run on the pool, each awaited through three methods: 3 parts of the time, and 1.
    private static class Orders
    {
        public static async Task Serve(int parts)
        {
            while (true)
            {
                await Handle(parts);
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static async Task<int> Handle(int parts) => await Price(parts) + 1;

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static async Task<int> Price(int parts)
        {
            await Task.Delay(1);
            return Compute(parts);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static int Compute(int parts)
        {
            long end = Environment.TickCount64 + 10 * parts;
            int rounds = 0;
            while (Environment.TickCount64 < end)
            {
                rounds++;
            }
            return rounds;
        }
    }

    [Scenario("async_services")]
    private static void Services()
    {
        Keep(Orders.Serve(2));
        Scene.Actor("waits", () =>
        {
            Scene.InPlace();
            Thread.Sleep(Timeout.Infinite);
        });
    }

    // Threads wait for chains of async methods with different ends; many chains have no thread.
    [Scenario("async_chains")]
    private static void Chains()
    {
        TaskCompletionSource<int> source = Keep(new TaskCompletionSource<int>());
        SemaphoreSlim semaphore = Keep(new SemaphoreSlim(0));
        Waiter("delay", () => OrderApi.GetOrder(Delayed));
        Waiter("promise", () => OrderApi.GetOrder(() => source.Task));
        Waiter("all", () => OrderApi.GetOrder(async () => { await Task.WhenAll(source.Task, Keep(new TaskCompletionSource()).Task); return 1; }));
        Waiter("semaphore", () => OrderApi.GetOrder(async () => { await semaphore.WaitAsync(); return 1; }));
        Waiter("work", () => OrderApi.GetOrder(() => Task.Factory.StartNew(() => { Thread.CurrentThread.Name = "worker"; Thread.Sleep(Timeout.Infinite); return 1; }, TaskCreationOptions.LongRunning)));
        for (int i = 0; i < 20; i++)
        {
            Keep(OrderApi.GetOrder(Delayed));
        }
        Keep(new CancellationTokenSource(TimeSpan.FromMinutes(30)));
        Thread.Sleep(300);
    }

    // A thread holds a lock and waits, in ways in which it is not plain who runs what it waits for.
    private static void HoldAndWait(Action<object> wait) => Scene.Actor("holder", () =>
    {
        object account = new();
        lock (account)
        {
            Scene.InPlace();
            wait(account);
        }
    });

    private static void Want(object account)
    {
        lock (account)
        {
            Lines.Keep();
        }
    }

    // The method that goes on is written in the one that waits for it.
    [Scenario("deadlock_local")]
    private static void LocalFunction() => HoldAndWait(account =>
    {
        async Task Work()
        {
            await Task.Delay(20);
            Thread.CurrentThread.Name = "resumed";
            lock (account)
            {
                Lines.Keep();
            }
        }
        Work().Wait();
    });

    // The task's thread runs another one in it.
    [Scenario("deadlock_inline")]
    private static void Inline() => HoldAndWait(account => Task.Factory.StartNew(() =>
    {
        Thread.CurrentThread.Name = "resumed";
        new Task(() => Want(account)).RunSynchronously();
    }, TaskCreationOptions.LongRunning).Wait());

    // The task's own work is done: it waits for its child.
    [Scenario("deadlock_child")]
    private static void Child() => HoldAndWait(account => Task.Factory.StartNew(() =>
    {
        Task.Factory.StartNew(() =>
        {
            Thread.CurrentThread.Name = "resumed";
            Want(account);
        }, TaskCreationOptions.AttachedToParent);
    }).Wait());

    // Healthy: the host's threads wait for the end of what it is there for.
    [Scenario("hosts")]
    private static void Hosts()
    {
        Task service = Task.Factory.StartNew(() => Thread.Sleep(Timeout.Infinite), TaskCreationOptions.LongRunning);
        for (int i = 0; i < 4; i++)
        {
            Scene.Actor("host-" + i, () =>
            {
                Scene.InPlace();
                service.Wait();
            });
        }
    }

    // A writer waits for the one that reads, and others that want to read wait behind it.
    [Scenario("readers_behind_a_writer")]
    private static void ReadersBehindAWriter()
    {
        ReaderWriterLockSlim book = Keep(new ReaderWriterLockSlim());
        ManualResetEventSlim isRead = new();
        Scene.Actor("reads", () =>
        {
            book.EnterReadLock();
            isRead.Set();
            Scene.InPlace();
            Thread.Sleep(Timeout.Infinite);
        });
        isRead.Wait();
        Scene.Actor("writer", () =>
        {
            Scene.InPlace();
            book.EnterWriteLock();
        });
        Thread.Sleep(300);
        for (int i = 0; i < 4; i++)
        {
            Scene.Actor("reader-" + i, () =>
            {
                Scene.InPlace();
                book.EnterReadLock();
            });
        }
    }

    // Async methods each of which awaits what the next has been asked for, and the last the first.
    private sealed class Cycle
    {
        private readonly TaskCompletionSource _go = Keep(new TaskCompletionSource());
        private Task _orders = Task.CompletedTask, _prices = Task.CompletedTask, _stock = Task.CompletedTask;

        public async Task Orders() { await _go.Task; await _prices; Lines.Keep(); }
        public async Task Prices() { await _go.Task; await _stock; Lines.Keep(); }
        public async Task Stock() { await _go.Task; await _orders; Lines.Keep(); }
        private async Task StockAndMore() { await _go.Task; await Task.WhenAll(_orders, _go.Task); Lines.Keep(); }
        private async Task StockOrTime() { await _go.Task; await Task.WhenAny(_orders, Task.Delay(TimeSpan.FromHours(1))); Lines.Keep(); }
        private async Task StockForATime() { await _go.Task; await _orders.WaitAsync(TimeSpan.FromHours(1)); Lines.Keep(); }
        private async Task Itself() { await _go.Task; await _orders; Lines.Keep(); }
        private async Task Outside() { await _orders; Lines.Keep(); }

        public Task Begin(string kind)
        {
            _orders = kind == "itself" ? Itself() : kind == "run" ? Task.Run(Orders) : Orders();
            _prices = kind == "run" ? Task.Run(Prices) : Prices();
            _stock = kind switch { "all" => StockAndMore(), "any" => StockOrTime(), "time" => StockForATime(), _ => Stock() };
            Task outside = Keep(new[] { Outside() })[0];
            _go.SetResult();
            return outside;
        }
    }

    [Scenario("await_cycle")]
    private static void AwaitCycle() => Scene.Actor("waiter", () =>
    {
        Task outside = new Cycle().Begin("");
        Scene.InPlace();
        outside.Wait();
    });

    [Scenario("await_cycle_all")]
    private static void AwaitCycleThroughAll() => AwaitCycleOf("all");

    [Scenario("await_cycle_run")]
    private static void AwaitCycleThroughRun() => AwaitCycleOf("run");

    [Scenario("await_cycle_time")]
    private static void AwaitCycleForATime() => AwaitCycleOf("time");

    [Scenario("await_cycle_itself")]
    private static void AwaitCycleOfOne() => AwaitCycleOf("itself");

    // None of these waits for ever: one of two is enough.
    [Scenario("await_any_cycle")]
    private static void AwaitAny() => AwaitCycleOf("any");

    // No thread waits for them.
    private static void AwaitCycleOf(string kind)
    {
        Keep(new Cycle().Begin(kind));
        Thread.Sleep(300);
    }

    private static void Starve(Func<Task<int>> read)
    {
        ThreadPool.SetMinThreads(3, 3);
        ThreadPool.SetMaxThreads(3, 3);
        Scene.Expect(3);
        for (int i = 0; i < 10; i++)
        {
            Task.Run(() =>
            {
                Task<int> order = OrderApi.GetOrder(read);
                Scene.InPlace();
                return order.Result;
            });
        }
    }

    // Every worker of the pool waits for a method whose rest is queued behind the other work.
    [Scenario("pool_starved")]
    private static void Starved() => Starve(Yielded);

    // The same, but the timers that must go off are what is queued.
    [Scenario("pool_starved_timers")]
    private static void StarvedTimers() => Starve(Short);

    // All workers sleep in work that takes its time, and more is queued.
    [Scenario("pool_blocked")]
    private static void Blocked()
    {
        ThreadPool.SetMinThreads(2, 2);
        ThreadPool.SetMaxThreads(2, 2);
        Scene.Expect(2);
        for (int i = 0; i < 6; i++)
        {
            ThreadPool.QueueUserWorkItem(_ => Scene.Park());
        }
    }

    // Sync over async, blocking and computing, with workers enough: busy and healthy. (With fewer it starves at times.)
    [Scenario("pool_busy")]
    private static void Busy()
    {
        ThreadPool.SetMinThreads(32, 32);
        for (int i = 0; i < 24; i++)
        {
            ThreadPool.QueueUserWorkItem(Work);
        }

        static void Work(object? _)
        {
            OrderApi.GetOrder(Yielded).Wait();
            Thread.SpinWait(20_000);
            Thread.Sleep(2);
            ThreadPool.QueueUserWorkItem(Work);
        }
    }

    // A thread holds a lock and waits for a method that wants the lock, or for what stands for it.
    private static void Hold(Func<Waits.Account, Task, Task> begin)
    {
        Waits.Account gate = Keep(new Waits.Account());
        TaskCompletionSource held = Keep(new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously));
        Scene.Actor("holder", () =>
        {
            lock (gate)
            {
                Task task = begin(gate, held.Task);
                held.SetResult();
                Scene.InPlace();
                task.Wait();
            }
        });
        Thread.Sleep(300);
    }

    private static async Task<int> Locked(Waits.Account gate, Task held)
    {
        await held;
        await Task.Yield();
        Thread.CurrentThread.Name = "resumed";
        lock (gate)
        {
            return 1;
        }
    }

    [Scenario("deadlock_async")]
    private static void Deadlock() => Hold((gate, held) => OrderApi.GetOrder(() => Locked(gate, held)));

    // Nothing leads from the task that is waited for to the method: the method leads to it.
    [Scenario("deadlock_unwrap")]
    private static void Unwrap() => Hold((gate, held) => Task.Run(async () => await OrderApi.GetOrder(() => Locked(gate, held))));

    [Scenario("deadlock_when_all")]
    private static void WhenAll() => Hold((gate, held) =>
        Task.WhenAll(Keep(new TaskCompletionSource<int>()).Task, OrderApi.GetOrder(() => Locked(gate, held))));

    // It goes on when the time has come.
    [Scenario("deadlock_wait_async")]
    private static void WaitAsync() => Hold((gate, held) => OrderApi.GetOrder(() => Locked(gate, held)).WaitAsync(TimeSpan.FromHours(1)));

    [Scenario("deadlock_wait_async_inside")]
    private static void WaitAsyncInside() => Hold((gate, held) => OrderApi.GetOrder(() => Locked(gate, held).WaitAsync(TimeSpan.FromHours(1))));

    // One of several is enough.
    [Scenario("when_any_of_locked")]
    private static void WhenAny() => Hold((gate, held) => Task.Run(() =>
        Task.WhenAny(OrderApi.GetOrder(() => Locked(gate, held)), Keep(new TaskCompletionSource<int>()).Task)));

    // A task that waits for itself.
    [Scenario("deadlock_own_task")]
    private static void OwnTask() => Scene.Actor("own", () =>
    {
        Task? self = null;
        self = new Task(() => { Scene.InPlace(); self!.Wait(); });
        self.RunSynchronously();
    });

    // An async method that waits for itself, through the task of Task.Run.
    [Scenario("deadlock_own_method")]
    private static void OwnMethod()
    {
        TaskCompletionSource<Task> own = Keep(new TaskCompletionSource<Task>(TaskCreationOptions.RunContinuationsAsynchronously));
        Scene.Expect(1);
        own.SetResult(Keep(Task.Run(async () => await WaitsFor(own.Task))));
    }

    private static async Task<int> WaitsFor(Task<Task> own)
    {
        Task self = await own;
        await Task.Yield();
        Thread.CurrentThread.Name = "own";
        Scene.InPlace();
        self.Wait();
        return 1;
    }

    // Methods that wait for other calls of themselves, and get on.
    [Scenario("recursive_waits")]
    private static void Recursive()
    {
        ThreadPool.SetMinThreads(32, 32);
        for (int i = 0; i < 4; i++)
        {
            Thread thread = new(() => { while (true) Nested(6).Wait(); }) { IsBackground = true };
            thread.Start();
        }

        static async Task<int> Nested(int depth)
        {
            await Task.Yield();
            Thread.SpinWait(2000);
            if (depth != 0)
            {
                Nested(depth - 1).Wait();
            }
            return depth;
        }
    }

    // Threads wait for methods whose end nothing but the heap knows, through promises that do not name them.
    [Scenario("async_joins")]
    private static void Joins()
    {
        TaskCompletionSource<int> source = Keep(new TaskCompletionSource<int>());
        Waiter("run", () => Task.Run(() => OrderApi.GetOrder(() => source.Task)));
        Waiter("all", async () => (await Task.WhenAll(OrderApi.GetOrder(() => source.Task), source.Task))[0]);
        Thread.Sleep(500);
    }

    private sealed class OneThread : SynchronizationContext
    {
        private readonly System.Collections.Concurrent.BlockingCollection<(SendOrPostCallback, object?)> _posted = [];

        public override void Post(SendOrPostCallback callback, object? state) => _posted.Add((callback, state));
    }

    // A thread of its own synchronization context waits for a method whose rest only it could run.
    [Scenario("deadlock_context")]
    private static void Context() => Scene.Actor("context", () =>
    {
        SynchronizationContext.SetSynchronizationContext(new OneThread());
        Task<int> row = Db.ReadRow(Short);
        Scene.InPlace();
        row.Wait();
    });
}
