namespace Shop;

/// <summary>A pool of two workers, both of which wait for methods whose rest is in its queue.</summary>
internal static class Starved
{
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
            ThreadPool.UnsafeQueueUserWorkItem(_ => Get(i).Wait(), null);
        }
        Thread.Sleep(500);
    }
}
