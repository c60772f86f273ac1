// oracle PID...                 one JSON line per process: its managed stacks as ClrMD reads them
// oracle --serve                reads pids from standard input, one per line, answers each with one JSON line
// oracle --bench N PID...       N rounds of fresh attach + walk + names, prints milliseconds of each
// Options before the pids: --no-suspend (attach without ptrace), --max-frames N.
using System.Diagnostics;
using System.Globalization;
using System.Text;
using System.Text.Json;
using Oracle;

CultureInfo.CurrentCulture = CultureInfo.InvariantCulture;
List<int> pids = [];
bool serve = false, suspend = true;
int bench = 0, maxFrames = StackReader.MaxFrames;
for (int i = 0; i < args.Length; i++)
{
    switch (args[i])
    {
        case "--serve": serve = true; break;
        case "--no-suspend": suspend = false; break;
        case "--bench": bench = int.Parse(args[++i]); break;
        case "--max-frames": maxFrames = int.Parse(args[++i]); break;
        default: pids.Add(int.Parse(args[i])); break;
    }
}
if (serve)
{
    while (Console.ReadLine() is { } line)
    {
        Answer(int.Parse(line));
    }
    return 0;
}
if (pids.Count == 0)
{
    Console.Error.WriteLine("usage: oracle [--no-suspend] [--max-frames N] (PID... | --serve | --bench N PID...)");
    return 2;
}
bool failed = false;
foreach (int pid in pids)
{
    failed |= bench > 0 ? !Bench(pid) : !Answer(pid);
}
return failed ? 1 : 0;

bool Answer(int pid)
{
    using MemoryStream buffer = new();
    bool ok = true;
    using (Utf8JsonWriter json = new(buffer))
    {
        try
        {
            StackReader.Write(json, pid, suspend, maxFrames);
        }
        catch (Exception error)
        {
            ok = false;
            Console.Error.WriteLine($"oracle: {pid}: {error.Message}");
            buffer.SetLength(0);
            json.Reset();
            json.WriteStartObject();
            json.WriteNumber("pid", pid);
            json.WriteString("error", error.Message);
            json.WriteEndObject();
        }
    }
    Console.WriteLine(Encoding.UTF8.GetString(buffer.ToArray()));
    return ok;
}

bool Bench(int pid)
{
    for (int round = 0; round < bench; round++)
    {
        long start = Stopwatch.GetTimestamp();
        (int threads, int frames) = StackReader.Walk(pid, suspend);
        double ms = Stopwatch.GetElapsedTime(start).TotalMilliseconds;
        Console.WriteLine($"pid {pid} round {round} ms {ms:F2} threads {threads} frames {frames}");
    }
    return true;
}
