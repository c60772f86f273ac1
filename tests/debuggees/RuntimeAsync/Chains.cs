using System.Runtime.CompilerServices;

namespace Shop;

internal static class OrderApi
{
    public static async Task<int> GetOrder(int order, Task<int> row) => await PriceService.Load("eur", row).ConfigureAwait(false) + order;
}

internal static class PriceService
{
    public static async ValueTask<int> Load(string key, Task<int> row)
    {
        await Task.CompletedTask;
        int value = await Db.ReadRow(row);
        return value + key.Length;
    }
}

internal static class Db
{
    public static async Task<int> ReadRow(Task<int> row) => await row + 1;
}

internal sealed class Store<T>(T nothing)
{
    public async Task<T> Fetch(Task<T> item) => await item ?? nothing;
}

/// <summary>Methods that await each other, and what is not the program's. Each does something when what it awaits has ended:
/// of a method that does not, optimized code keeps nothing.</summary>
internal static class Chains
{
    private static int s_ended;

    public static async Task Delayed()
    {
        await Slowly(2);
        s_ended++;
    }

    private static async Task Slowly(int hours)
    {
        await Slower(TimeSpan.FromHours(hours));
        s_ended++;
    }

    private static async Task Slower(TimeSpan time)
    {
        await Task.Delay(time);
        s_ended++;
    }

    public static async Task Entered(SemaphoreSlim semaphore)
    {
        await semaphore.WaitAsync();
        s_ended++;
    }

    public static async Task Both(Task<int> one, Task<int> other)
    {
        await Task.WhenAll(Db.ReadRow(one), Db.ReadRow(other));
        s_ended++;
    }

    public static async Task Yielded(Task<int> row)
    {
        await Task.Yield();
        s_ended += await Db.ReadRow(row);
    }

    /// <summary>A task that is kept, and awaited later by another.</summary>
    public static async Task<int> Kept(Task<int> task) => await task + 1;

    public static async Task<object> Fetched(Task<object> item) => await new Store<object>(new()).Fetch(item) ?? item;

    public static async Task Running(ManualResetEventSlim ready)
    {
        await Task.Yield();
        ready.Set();
        Thread.Sleep(Timeout.Infinite);
    }

    /// <summary>Loops, handlers, locals.</summary>
    public static async Task<int> Locals(Task<int> row)
    {
        int sum = 0;
        for (int i = 0; i < 3; i++)
        {
            try
            {
                sum += await Db.ReadRow(row);
            }
            finally
            {
                sum++;
            }
        }
        return sum;
    }
}
