namespace Shop;

/// <summary>A pool of two workers, both of which wait for methods whose rest is in its queue.</summary>
internal static class Starved
{
    private static readonly Barrier Both = new(2);
    private static int s_begun;

    private static async Task<int> Get(int order)
    {
        await Task.Yield();
        return await Load(order) + 1;
    }

    private static async Task<int> Load(int order)
    {
        await Task.Delay(1);
        return order;
    }

    public static void Begin()
    {
        ThreadPool.SetMinThreads(2, 1);
        ThreadPool.SetMaxThreads(2, 1);
        for (int i = 0; i < 6; i++)
        {
            ThreadPool.UnsafeQueueUserWorkItem(
                _ =>
                {
                    if (Interlocked.Increment(ref s_begun) <= 2)
                    {
                        Both.SignalAndWait(); // or the one would run what the other waits for
                    }
                    Get(i).Wait();
                },
                null);
        }
        Thread.Sleep(500);
    }
}
