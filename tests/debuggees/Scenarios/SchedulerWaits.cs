using System.Collections.Concurrent;

namespace Scenarios;

// Threads that run tasks of a scheduler of the program's own, and wait for what that scheduler alone would run.
internal static partial class Waits
{
    // Threads of its own run its tasks, one after the other; none is run by who waits for it.
    private sealed class OwnThreads : TaskScheduler
    {
        private readonly BlockingCollection<Task> _tasks = [];

        public OwnThreads(string name, int threads)
        {
            for (int i = 0; i < threads; i++)
            {
                Scene.Extra(threads == 1 ? name : $"{name}{i}", () =>
                {
                    foreach (Task task in _tasks.GetConsumingEnumerable()) TryExecuteTask(task);
                });
            }
        }

        protected override void QueueTask(Task task) => _tasks.Add(task);

        protected override bool TryExecuteTaskInline(Task task, bool wasQueued) => false;

        protected override IEnumerable<Task> GetScheduledTasks() => _tasks;

        public Task Run(Action action) =>
            Task.Factory.StartNew(action, CancellationToken.None, TaskCreationOptions.None, this);
    }

    private static async Task<int> SlowRow()
    {
        await Task.Delay(100);
        return 1;
    }

    // A task waits for another one of its scheduler, which has one thread.
    [Scenario("deadlock_scheduler_task")]
    private static void SchedulerTask()
    {
        Scene.Expect(1);
        OwnThreads scheduler = new("grain", 1);
        scheduler.Run(() =>
        {
            Scene.InPlace();
            scheduler.Run(() => { }).Wait();
        });
        Thread.Sleep(300);
    }

    // The rest of an async method goes where it was called.
    [Scenario("deadlock_scheduler_method")]
    private static void SchedulerMethod()
    {
        Scene.Expect(1);
        OwnThreads scheduler = new("grain", 1);
        scheduler.Run(() =>
        {
            Scene.InPlace();
            SlowRow().Wait();
        });
        Thread.Sleep(300);
    }

    [Scenario("deadlock_scheduler_exclusive")]
    private static void SchedulerExclusive()
    {
        Scene.Expect(1);
        ConcurrentExclusiveSchedulerPair pair = new();
        Task.Factory.StartNew(
            () =>
            {
                Thread.CurrentThread.Name = "exclusive";
                Scene.InPlace();
                SlowRow().Wait();
            },
            CancellationToken.None, TaskCreationOptions.None, pair.ExclusiveScheduler);
        Thread.Sleep(300);
    }

    // Both threads of a scheduler wait for more of it.
    [Scenario("deadlock_scheduler_two")]
    private static void SchedulerOfTwo()
    {
        OwnThreads scheduler = new("grain", 2);
        CountdownEvent both = new(2);
        Scene.Expect(2);
        for (int i = 0; i < 2; i++)
        {
            scheduler.Run(() =>
            {
                both.Signal();
                both.Wait();
                Scene.InPlace();
                scheduler.Run(() => { }).Wait();
            });
        }
        Thread.Sleep(300);
    }

    // Tasks of a scheduler with two threads wait for others of it and for methods that go on there, which the other one
    // runs; it works for a while on some.
    [Scenario("schedulers")]
    private static void Schedulers()
    {
        OwnThreads scheduler = new("grain", 2), other = new("other", 1);
        Scheduled(scheduler);
        other.Run(() =>
        {
            while (true) Task.Run(() => Thread.Sleep(300)).Wait();
        });
        Thread.Sleep(300);
    }

    private static void Scheduled(OwnThreads scheduler)
    {
        scheduler.Run(() =>
        {
            Task work = scheduler.Run(() =>
            {
                long end = Environment.TickCount64 + 400;
                while (Environment.TickCount64 < end) Thread.Sleep(1);
            });
            Task more = scheduler.Run(() => { });
            more.Wait();
            work.Wait();
            SlowRow().Wait();
            Scheduled(scheduler);
        });
    }
}
