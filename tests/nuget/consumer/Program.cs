// A program of somebody's that uses the package: `wait` is looked at, the others look.
using System;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Threading;
using Mixstack;

return args switch
{
    ["wait"] => Consumer.Wait(),
    ["text", var pid] => Consumer.Try(() => MixStack.Dump(int.Parse(pid)).Text),
    ["json", var pid] => Consumer.Try(() => MixStack.Dump(int.Parse(pid)).Json),
    ["frames", var pid] => Consumer.Try(() => Consumer.Frames(MixStack.Dump(int.Parse(pid)))),
    ["thread", var pid] => Consumer.Try(() => Consumer.Frames(
        MixStack.Dump(int.Parse(pid), new DumpOptions { Threads = [uint.Parse(pid)], MaxFrames = 3 }))),
    ["core", var path] => Consumer.Try(() => Consumer.Frames(MixStack.DumpCore(path))),
    ["record", var pid] => Consumer.Try(() => Consumer.Record(int.Parse(pid))),
    ["cancel", var pid] => Consumer.Try(() => Consumer.Cancelled(int.Parse(pid))),
    ["self"] => Consumer.Self(),
    ["version"] => Consumer.Try(() => MixStack.Version.ToString()),
    ["many", var pid] => Consumer.Many(int.Parse(pid)),
    _ => 64,
};

static class Consumer
{
    public static int Try(Func<string> what)
    {
        try
        {
            Console.WriteLine(what());
            return 0;
        }
        catch (MixStackException error)
        {
            Console.WriteLine($"{error.Code} {error.OperatingSystemError}\n{error.Message}");
            return 1;
        }
    }

    public static int Wait()
    {
        Thread worker = new(() => OuterMethod(4711)) { Name = "worker of mine" };
        worker.Start();
        worker.Join();
        return 0;
    }

    public static string Frames(ProcessDump dump)
    {
        using (dump)
        {
            return string.Join('\n', dump.Threads.SelectMany(thread => thread.Frames.Select(frame =>
                $"{thread.Id}\t{thread.ManagedId}\t{thread.Name}\t{thread.StopReason}\t{frame.Kind}\t{frame.Trust}\t{frame.Name}\t{frame}")));
        }
    }

    /// <summary>Two seconds of wall time: reports of progress, samples, the first bytes of a file, then functions.</summary>
    public static string Record(int pid)
    {
        int reports = 0;
        using ProcessRecording recording = MixStack.Record(pid, TimeSpan.FromSeconds(2), new RecordOptions { Progress = (_, _) => reports++ });
        string file = System.Text.Encoding.UTF8.GetString(recording.File("speedscope"));
        return $"{reports}\t{recording.Samples}\t{file.Contains("speedscope.app/file-format-schema.json")}\n" +
            string.Join('\n', recording.Functions.Select(function => $"{function.Self.TotalMilliseconds}\t{function.Name}"));
    }

    /// <summary>An hour, which the caller ends after some samples.</summary>
    public static string Cancelled(int pid)
    {
        using CancellationTokenSource source = new();
        RecordOptions options = new() { Progress = (_, samples) => { if (samples > 10) source.Cancel(); } };
        using ProcessRecording recording = MixStack.Record(pid, TimeSpan.FromHours(1), options, source.Token);
        return $"{recording.Samples}";
    }

    /// <summary>All threads of this very program, while one of them waits.</summary>
    public static int Self()
    {
        Thread worker = new(() => OuterMethod(1)) { Name = "worker of mine", IsBackground = true };
        worker.Start();
        while ((worker.ThreadState & ThreadState.WaitSleepJoin) == 0) Thread.Sleep(1);
        return Try(() => LooksAtItself());
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static string LooksAtItself()
    {
        string text = MixStack.DumpSelf().Text;
        return text + "--";
    }

    /// <summary>From several threads at once, without leaving anything behind: handles go with the collector.</summary>
    public static int Many(int pid)
    {
        for (int round = 0; round < 40; round++)
        {
            using ProcessDump dump = MixStack.Dump(pid);
            string[] texts = new string[4];
            Thread[] readers = Enumerable.Range(0, 4).Select(i => new Thread(() => texts[i] = dump.Text)).ToArray();
            foreach (Thread reader in readers) reader.Start();
            foreach (Thread reader in readers) reader.Join();
            if (texts.Distinct().Count() != 1 || !texts[0].Contains("InnerMethod")) return 2;
            _ = MixStack.Dump(pid);
        }
        GC.Collect();
        GC.WaitForPendingFinalizers();
        ProcessDump gone = MixStack.Dump(pid);
        gone.Dispose();
        try
        {
            _ = gone.Text;
            return 3;
        }
        catch (ObjectDisposedException)
        {
            return 0;
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void OuterMethod(int number)
    {
        InnerMethod(number.ToString());
        GC.KeepAlive(number);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void InnerMethod(string text)
    {
        Console.WriteLine($"READY {text}");
        Thread.Sleep(600_000);
        GC.KeepAlive(text);
    }
}
