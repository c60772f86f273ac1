namespace Moments;

internal static class Texts
{
    private static readonly List<object> s_kept = [];

    private static void Truth(string name, long value) => Console.WriteLine($"TRUTH {name} {value}");

    /// <summary>As the runtime counts it: 22 bytes and two for each unit, rounded up to eight.</summary>
    private static long Size(int length) => (22 + 2L * length + 7) & ~7L;

    public static void Make(int count)
    {
        string[] texts = ["status=shipped; carrier=fast", "EUR", new string('x', 300)];
        var copies = new List<string>(texts.Length * count);
        foreach (string text in texts)
        {
            for (int i = 0; i < count; i++)
            {
                copies.Add(new string(text.AsSpan()));
            }
            Truth($"copies of {text.Length}", count);
            Truth($"bytes of {text.Length}", count * Size(text.Length));
        }
        var own = new List<string>(count);
        for (int i = 0; i < count; i++)
        {
            own.Add(i.ToString("x20"));
        }
        var empty = new List<int[]>(count);
        var half = new List<byte[]>(count);
        var lists = new List<List<long>>(count);
        for (int i = 0; i < count; i++)
        {
            empty.Add(new int[0]);
            byte[] bytes = new byte[1000];
            bytes.AsSpan(0, 400).Fill(7);
            half.Add(bytes);
            lists.Add([]);
        }
        s_kept.AddRange([copies, own, empty, half, lists]);
        Truth("empty arrays", count);
        Truth("half empty arrays", count);
        Truth("zeros", 600L * count);
        Truth("empty lists", count);
        Truth("large texts", 1);
        s_kept.Add(new string('y', 100_000));
        GC.Collect(GC.MaxGeneration, GCCollectionMode.Forced, blocking: true, compacting: true);
    }
}
