namespace Shop;

/// <summary>A thread holds a lock and waits for a method that wants the lock.</summary>
internal static class Deadlock
{
    private static readonly object s_gate = new();

    private static async Task<int> NeedsGate()
    {
        await Task.Delay(200);
        lock (s_gate)
        {
            return 1;
        }
    }

    public static void Begin()
    {
        Thread holder = new(() =>
        {
            lock (s_gate)
            {
                NeedsGate().Wait();
            }
        }) { IsBackground = true, Name = "holder" };
        holder.Start();
        Thread.Sleep(800);
    }
}
