// Faults of the processor: hot methods of the program, of libraries and of native code, and memory that the kernel hands out.
using System.IO.Compression;
using System.IO.MemoryMappedFiles;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Security.Cryptography;
using System.Text.RegularExpressions;

namespace Depot;

/// <summary>One method takes all of a processor.</summary>
internal static class Routes
{
    private static readonly string s_from = new('x', 700), s_to = string.Concat(Enumerable.Repeat("xyx", 230));
    private static long s_sum;

    public static void Start() => Stage.Loop("planner", Plan);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Plan()
    {
        s_sum += Distance(s_from, s_to);
        Tally.Turns.Add();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Distance(string from, string to)
    {
        Span<int> row = stackalloc int[to.Length + 1];
        for (int i = 0; i < row.Length; i++)
        {
            row[i] = i;
        }
        for (int i = 1; i <= from.Length; i++)
        {
            int diagonal = row[0];
            row[0] = i;
            for (int k = 1; k < row.Length; k++)
            {
                int above = row[k];
                int cost = from[i - 1] == to[k - 1] ? 0 : 1;
                row[k] = Math.Min(Math.Min(above, row[k - 1]) + 1, diagonal + cost);
                diagonal = above;
            }
        }
        return row[^1];
    }
}

/// <summary>The same by a method that calls itself.</summary>
internal static class Crates
{
    private static readonly int[] s_sizes = [.. Enumerable.Range(0, 22).Select(i => 1009 + (i * 37))];
    private static long s_fits;

    public static void Start() => Stage.Loop("loader", () =>
    {
        s_fits += Fit(0, 9000);
        Tally.Turns.Add();
    });

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Fit(int next, int room) =>
        room < 0 ? 0 : next == s_sizes.Length ? 1 : Fit(next + 1, room - s_sizes[next]) + Fit(next + 1, room);
}

/// <summary>The time goes into a library, for one method of the program.</summary>
internal static class Search
{
    private static readonly Regex s_pattern = new("^(a|aa)+$");
    private static readonly string s_text = new string('a', 25) + '!';
    private static int s_found;

    public static void Start() => Stage.Loop("finder", Match);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Match()
    {
        s_found += s_pattern.IsMatch(s_text) ? 1 : 0;
        Tally.Turns.Add();
    }
}

/// <summary>The work is in small methods that are compiled into their caller.</summary>
internal static class Tariffs
{
    private static long s_sum;

    public static void Start() => Stage.Loop("teller", () =>
    {
        s_sum += Price(40_000);
        Tally.Turns.Add();
    });

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static long Price(int weights)
    {
        long sum = 0;
        for (int weight = 1; weight < weights; weight++)
        {
            sum += Tax(Round(weight));
        }
        return sum;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static int Round(int weight)
    {
        int rest = weight;
        for (int i = 2; i < 14; i++)
        {
            rest = (rest / i) + (weight % (rest + i));
        }
        return rest;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static int Tax(int weight)
    {
        uint mixed = (uint)weight;
        for (int i = 0; i < 24; i++)
        {
            mixed ^= mixed << 13;
            mixed ^= mixed >> 17;
            mixed ^= mixed << 5;
        }
        return (int)(mixed & 0xff);
    }
}

/// <summary>A library of the system takes the processor.</summary>
internal static class Seals
{
    private static readonly byte[] s_salt = new byte[16];

    public static void Start() => Stage.Loop("verifier", () => Verify("a word that nobody knows"u8.ToArray()));

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Verify(byte[] word)
    {
        _ = Rfc2898DeriveBytes.Pbkdf2(word, s_salt, 50_000, HashAlgorithmName.SHA256, 32);
        Tally.Turns.Add();
    }
}

/// <summary>The same for native code that .NET itself brings.</summary>
internal static class Archive
{
    public static void Start()
    {
        byte[] text = new byte[1 << 20];
        Random random = new(7);
        for (int i = 0; i < text.Length; i++)
        {
            text[i] = (byte)('a' + (random.Next(8) * random.Next(3)));
        }
        Stage.Loop("archivist", () => Shrink(text));
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Shrink(byte[] text)
    {
        using DeflateStream deflate = new(Stream.Null, CompressionLevel.SmallestSize);
        deflate.Write(text);
        Tally.Turns.Add();
    }
}

/// <summary>Memory is taken from the system and given back all the time: each page is zeroed by the kernel.</summary>
internal static unsafe class Frames
{
    private const int Page = 4096;
    private const nuint Size = 48 << 20;  // more than malloc keeps

    public static void Start() => Stage.Loop("packer", Pack);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Pack()
    {
        byte* frames = (byte*)NativeMemory.Alloc(Size);
        for (nuint at = 0; at < Size; at += Page)
        {
            frames[at] = 1;
        }
        NativeMemory.Free(frames);
        Tally.Pages.Add((long)Size / Page);
    }
}

/// <summary>A file is mapped anew for each look into it.</summary>
internal static class Charts
{
    private const int Size = 16 << 20;

    public static void Start()
    {
        string path = Path.GetFullPath("charts.dat");
        File.WriteAllBytes(path, new byte[Size]);
        Stage.Loop("pilot", () => Consult(path));
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static unsafe void Consult(string path)
    {
        using MemoryMappedFile file = MemoryMappedFile.CreateFromFile(path, FileMode.Open, null, 0, MemoryMappedFileAccess.ReadWrite);
        using MemoryMappedViewAccessor view = file.CreateViewAccessor(0, Size, MemoryMappedFileAccess.CopyOnWrite);
        byte* bytes = null;
        view.SafeMemoryMappedViewHandle.AcquirePointer(ref bytes);
        for (int at = 0; at < Size; at += 4096)
        {
            bytes[at]++;
        }
        view.SafeMemoryMappedViewHandle.ReleasePointer();
        Tally.Pages.Add(Size / 4096);
    }
}

/// <summary>Two causes: one thread computes, and others stand before a lock that has nothing to do with it.</summary>
internal static class Maps
{
    private static double s_shade;

    public static void Start()
    {
        Stage.Loop("painter", Render);
        for (int i = 0; i < 5; i++)
        {
            Stage.Loop($"scribe-{i}", () => Journal.Enter(9));
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Render()
    {
        double shade = 0;
        for (int i = 1; i < 20_000; i++)
        {
            shade += Math.Sqrt(i) / (1 + (shade * shade));
        }
        s_shade += shade;
        Tally.Turns.Add();
    }
}

internal static class Journal
{
    private static readonly object s_page = new();

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Enter(int milliseconds)
    {
        long begin = Waits.Begin();
        lock (s_page)
        {
            Waits.End(begin);
            Thread.Sleep(milliseconds);
        }
    }
}
