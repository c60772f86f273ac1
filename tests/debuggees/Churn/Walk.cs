namespace Churn;

/// <summary>What one thread has to do: its word says which methods call each other, its leaf what happens then.</summary>
internal sealed class Walk(int number, string word, bool steady)
{
    private static int s_numbers;
    private static int s_serial;
    private static long s_leaves;
    private static int s_settled;
    private bool _settled = !steady;

    public int Number { get; } = number;
    public string Word { get; } = word;
    public bool Steady { get; } = steady;
    public Random Random { get; } = new(number);
    public int Salt = 1;
    public object? Kept;

    /// <summary>Leaf slices worked off by all threads.</summary>
    public static long Progress => Volatile.Read(ref s_leaves);

    /// <summary>Steady threads that have reached their leaf.</summary>
    public static int Settled => Volatile.Read(ref s_settled);

    /// <summary>15 characters at most: the kernel's name of the thread is the same.</summary>
    public string Name => $"{(Steady ? 's' : 'c')}{Number:x}-{Word}";

    public static Walk New(Random random, bool steady)
    {
        char[] word = new char[random.Next(2, 9)];
        for (int i = 0; i < word.Length - 1; i++)
        {
            word[i] = Links.Letters[random.Next(Links.Letters.Length)];
        }
        word[^1] = Leaves.Letters[random.Next(Leaves.Letters.Length)];
        return new Walk(Interlocked.Increment(ref s_numbers), new string(word), steady);
    }

    public static int NextSerial() => Interlocked.Increment(ref s_serial);

    public void Count()
    {
        Interlocked.Increment(ref s_leaves);
        if (!_settled)
        {
            _settled = true;
            Interlocked.Increment(ref s_settled);
        }
    }

    /// <summary>All threads rest until the next common tick, so that most of them work, and wait for a processor, at the
    /// same time: many are stopped in the middle of something though little is done.</summary>
    public void Rest() => Thread.Sleep((int)(Program.Tick - (Environment.TickCount64 % Program.Tick)));
}
