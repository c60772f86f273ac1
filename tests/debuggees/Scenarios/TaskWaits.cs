// Threads that wait for many tasks, for the first of several, and for tasks that only stand for a source of a value.
using System.IO.Pipelines;
using System.Runtime.CompilerServices;
using System.Threading.Channels;

namespace Scenarios;

internal static partial class AsyncWaits
{
    private static void WaiterFor(string name, Action wait) => Scene.Actor(name, () =>
    {
        Scene.InPlace();
        wait();
    });

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static async Task Reads(Func<Task> read)
    {
        await read();
        Lines.Keep();
    }

    [Scenario("many_tasks")]
    private static void ManyTasks()
    {
        TaskCompletionSource<int> source = Keep(new TaskCompletionSource<int>());
        Task[] many = [.. Enumerable.Range(0, 300).Select(_ => OrderApi.GetOrder(() => source.Task))];
        Task[] some = [OrderApi.GetOrder(() => source.Task), Task.Delay(3_600_000)];
        Keep(Enumerable.Range(0, 7).Select(_ => OrderApi.GetOrder(() => source.Task)).ToArray());
        WaiterFor("all", () => Task.WaitAll(many));
        WaiterFor("any", () => Task.WaitAny(some));
        WaiterFor("when-any", () => Task.WhenAny(OrderApi.GetOrder(() => source.Task), source.Task, some[1]).Wait());
        WaiterFor("when-any-of-two", () => Task.WhenAny(some[1], OrderApi.GetOrder(() => source.Task)).Wait());
        Thread.Sleep(500);
    }

    [Scenario("value_tasks")]
    private static void ValueTasks()
    {
        Channel<int> channel = Keep(Channel.CreateUnbounded<int>()), full = Keep(Channel.CreateBounded<int>(1));
        full.Writer.TryWrite(1);
        Pipe pipe = Keep(new Pipe());
        PeriodicTimer timer = Keep(new PeriodicTimer(TimeSpan.FromHours(1)));
        WaiterFor("item", () => Reads(() => channel.Reader.ReadAsync().AsTask()).Wait());
        WaiterFor("room", () => Reads(() => full.Writer.WriteAsync(2).AsTask()).Wait());
        WaiterFor("bytes", () => Reads(() => pipe.Reader.ReadAsync().AsTask()).Wait());
        WaiterFor("tick", () => Reads(() => timer.WaitForNextTickAsync().AsTask()).Wait());
        WaiterFor("alone", () => Keep(Channel.CreateUnbounded<int>()).Reader.ReadAsync().AsTask().Wait());
        Thread.Sleep(500);
    }
}
