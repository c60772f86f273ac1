namespace Heaps;

// Chains that end all the time, each followed by a new one in its place, while a thread makes the GC compact.
internal static class Churn
{
    private static TaskCompletionSource<int>[] s_sources = [];
    private static long s_replaced;
    private static object? s_garbage;

    public static long Replaced => Interlocked.Read(ref s_replaced);

    private static async Task<int> Upper(Task<int> row) => await Lower(row) + 1;

    private static async Task<int> Lower(Task<int> row) => await row;

    private static void Begin(out TaskCompletionSource<int> place)
    {
        TaskCompletionSource<int> source = new();
        _ = Upper(source.Task);
        place = source;
    }

    public static void Begin(int count)
    {
        s_sources = new TaskCompletionSource<int>[count];
        for (int i = 0; i < count; i++)
        {
            Begin(out s_sources[i]);
        }
        new Thread(Replace) { IsBackground = true, Name = "replaces" }.Start();
        new Thread(Collect) { IsBackground = true, Name = "collects" }.Start();
        Thread.Sleep(200);
    }

    private static void Replace()
    {
        for (int i = 0; ; i = (i + 1) % s_sources.Length)
        {
            s_sources[i].SetResult(i);
            Begin(out s_sources[i]);
            s_garbage = new byte[i % 3000];
            Interlocked.Increment(ref s_replaced);
        }
    }

    private static void Collect()
    {
        while (true)
        {
            GC.Collect(GC.MaxGeneration, GCCollectionMode.Forced, blocking: true, compacting: true);
            Thread.Sleep(1);
        }
    }
}
