// What outside readers say of names: System.Reflection.Metadata of a file, ClrMD (the DAC) of a process.
//   oracle_metadata file DLL...     one line per row that mixstack prints too (see FileDump.cs)
//   oracle_metadata process PID [N] F, M and T lines: see ProcessDump.cs; N: at most so many methods per type
using System.Globalization;
using System.Text;

CultureInfo.CurrentCulture = CultureInfo.InvariantCulture;
using StreamWriter output = new(Console.OpenStandardOutput(), new UTF8Encoding(false), 1 << 16) { NewLine = "\n" };
switch (args)
{
    case ["file", .. var files]:
        foreach (string file in files)
        {
            FileDump.Write(output, file);
        }
        return 0;
    case ["process", var pid, ..]:
        ProcessDump.Write(output, int.Parse(pid), args.Length > 2 ? int.Parse(args[2]) : int.MaxValue);
        return 0;
    default:
        Console.Error.WriteLine("usage: oracle_metadata (file DLL... | process PID [METHODS-PER-TYPE])");
        return 2;
}
