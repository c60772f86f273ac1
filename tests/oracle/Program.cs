// oracle PID...                 one JSON line per process: its managed stacks as ClrMD reads them
// oracle core FILE...           the same of the process a core is of
// oracle --boxes PID...         the boxes of async methods in its heap that are suspended, in place of its stacks
// oracle --roots PID...         the references that its threads' stacks hold, in place of its stacks; also of core FILE
// oracle --types PID...         the objects of its heap by type and generation, in place of its stacks; also of core FILE
// oracle --references PID...    all references of its heap as sums, its handles and roots by kind; also of core FILE
// oracle --serve                reads "PID" or "core FILE" from standard input, answers each line with one JSON line
// oracle --bench N PID...       N rounds of fresh attach + walk + names, prints milliseconds of each; also of core FILE
// Options before the pids: --no-suspend (attach without ptrace), --max-frames N.
using System.Diagnostics;
using System.Globalization;
using System.Text;
using System.Text.Json;
using Oracle;

CultureInfo.CurrentCulture = CultureInfo.InvariantCulture;
List<string> sources = [];
bool serve = false, suspend = true, boxes = false, roots = false, types = false, references = false;
int bench = 0, maxFrames = StackReader.MaxFrames;
for (int i = 0; i < args.Length; i++)
{
    switch (args[i])
    {
        case "--serve": serve = true; break;
        case "--boxes": boxes = true; break;
        case "--roots": roots = true; break;
        case "--types": types = true; break;
        case "--references": references = true; break;
        case "--no-suspend": suspend = false; break;
        case "--bench": bench = int.Parse(args[++i]); break;
        case "--max-frames": maxFrames = int.Parse(args[++i]); break;
        case "core": sources.Add(StackReader.CorePrefix + args[++i]); break;
        default: sources.Add(args[i]); break;
    }
}
if (serve)
{
    while (Console.ReadLine() is { } line)
    {
        Answer(line);
    }
    return 0;
}
if (sources.Count == 0)
{
    Console.Error.WriteLine("usage: oracle [--no-suspend] [--max-frames N] (PID... | core FILE | --serve | --bench N (PID | core FILE))");
    return 2;
}
bool failed = false;
foreach (string source in sources)
{
    failed |= bench > 0 ? !Bench(source) : !Answer(source);
}
return failed ? 1 : 0;

bool Answer(string source)
{
    using MemoryStream buffer = new();
    bool ok = true;
    using (Utf8JsonWriter json = new(buffer))
    {
        try
        {
            if (boxes)
            {
                BoxReader.Write(json, source, suspend);
            }
            else if (roots)
            {
                RootReader.Write(json, source, suspend);
            }
            else if (types)
            {
                HistogramReader.Write(json, source, suspend);
            }
            else if (references)
            {
                ReferenceReader.Write(json, source, suspend);
            }
            else
            {
                StackReader.Write(json, source, suspend, maxFrames);
            }
        }
        catch (Exception error)
        {
            ok = false;
            Console.Error.WriteLine($"oracle: {source}: {error.Message}");
            buffer.SetLength(0);
            json.Reset();
            json.WriteStartObject();
            json.WriteString("source", source);
            json.WriteString("error", error.Message);
            json.WriteEndObject();
        }
    }
    Console.WriteLine(Encoding.UTF8.GetString(buffer.ToArray()));
    return ok;
}

bool Bench(string source)
{
    for (int round = 0; round < bench; round++)
    {
        long start = Stopwatch.GetTimestamp();
        (int threads, int frames) = StackReader.Walk(source, suspend);
        double ms = Stopwatch.GetElapsedTime(start).TotalMilliseconds;
        Console.WriteLine($"{source} round {round} ms {ms:F2} threads {threads} frames {frames}");
    }
    return true;
}
