namespace Values;

/// <summary>Async methods that never end, with parameters and locals of every kind.</summary>
internal sealed class AsyncValues
{
    private readonly TaskCompletionSource _never = new();
    private readonly string _name;

    private AsyncValues(string name) => _name = name;

    private async Task<int> GetOrder(int order, string customer, Color color, double price, string? nothing)
    {
        int[] items = [order, 2, 3];
        DateTime at = new(2026, 1, 2);
        await Load(new string('k', 300), new Point { X = order, Y = 6 });
        return items.Length + customer.Length + (int)color + (int)price + at.Day + (nothing ?? _name).Length;
    }

    private async Task Load(string key, Point point)
    {
        for (int attempt = 3; attempt < 4; attempt++)
        {
            List<string> seen = ["one", key];
            await _never.Task;
            Keep.Objects(seen, key);
            Keep.Numbers(point.X, attempt);
        }
    }

    private static async Task<T> Generic<T>(T value, Task on)
    {
        await on;
        return value;
    }

    public static void Run()
    {
        Truth.Expect(2);
        AsyncValues values = new("the service");
        Thread waiter = new(() =>
        {
            Task<int> order = values.GetOrder(4711, "Mr. \"Q\"\n", Color.Green, 12.5, null);
            Interlocked.MemoryBarrier();
            Truth.InPlace();
            order.Wait();
        }) { IsBackground = true, Name = "waiter" };
        Thread generic = new(() =>
        {
            Task<string> text = Generic("a value", values._never.Task);
            Truth.InPlace();
            text.Wait();
        }) { IsBackground = true, Name = "generic" };
        waiter.Start();
        generic.Start();
        Truth.AwaitAll();
    }
}
