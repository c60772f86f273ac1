// Edits a library while it runs, as Hot Reload does (dotnet watch, an IDE): compiles it, loads it, and applies what
// another text of it adds and changes. A thread then stands in what was added. Needs DOTNET_MODIFIABLE_ASSEMBLIES=debug.
using System.Collections.Immutable;
using System.Reflection;
using System.Reflection.Metadata;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.Emit;

const string Before = """
    public class Old {
      public static void Step() { System.GC.KeepAlive(null); }
      public static void Last() { Step(); }
    }
    public class Other { public static void Unchanged() { Old.Last(); } }
    """;
const string After = """
    public class Old {
      public static void Step() { Added(3); }
      public static void Last() { Step(); }
      public static void Added(int depth) { if (depth == 0) new Later<string>.Inner().Stays("x", 1); else Added(depth - 1); }
    }
    public class Other { public static void Unchanged() { Old.Last(); } }
    public class Later<T> {
      public class Inner { public void Stays<U>(T first, U second) { System.Threading.Thread.Sleep(-1); } }
    }
    """;

string folder = Directory.CreateTempSubdirectory("mixstack-hot-reload").FullName;
try
{
    string framework = Path.GetDirectoryName(typeof(object).Assembly.Location)!;
    var references = new[] { "System.Private.CoreLib", "System.Runtime", "System.Threading.Thread" }
        .Select(n => MetadataReference.CreateFromFile(Path.Combine(framework, n + ".dll")));
    var before = CSharpCompilation.Create("Edited", [CSharpSyntaxTree.ParseText(Before)], references,
        new CSharpCompilationOptions(OutputKind.DynamicallyLinkedLibrary, optimizationLevel: OptimizationLevel.Debug));
    string path = Path.Combine(folder, "Edited.dll");
    EmitResult built;
    using (FileStream library = File.Create(path), lines = File.Create(Path.ChangeExtension(path, ".pdb")))
        built = before.Emit(library, lines, options: new EmitOptions(debugInformationFormat: DebugInformationFormat.PortablePdb));
    if (!built.Success) throw new InvalidOperationException(string.Join("\n", built.Diagnostics));
    Assembly assembly = Assembly.LoadFrom(path);

    var after = before.ReplaceSyntaxTree(before.SyntaxTrees[0], CSharpSyntaxTree.ParseText(After));
    var old = before.GetTypeByMetadataName("Old")!;
    var now = after.GetTypeByMetadataName("Old")!;
    SemanticEdit[] edits = [
        new(SemanticEditKind.Update, old.GetMembers("Step").Single(), now.GetMembers("Step").Single()),
        new(SemanticEditKind.Insert, null, now.GetMembers("Added").Single()),
        new(SemanticEditKind.Insert, null, after.GetTypeByMetadataName("Later`1")),
    ];
    EmitBaseline baseline = EmitBaseline.CreateInitialBaseline(before, ModuleMetadata.CreateFromFile(path),
        _ => default, _ => default, hasPortableDebugInformation: true);
    using MemoryStream metadata = new(), il = new(), pdb = new();
    EmitDifferenceResult difference = after.EmitDifference(baseline, edits, _ => false, metadata, il, pdb);
    if (!difference.Success) throw new InvalidOperationException(string.Join("\n", difference.Diagnostics));

    MethodInfo unchanged = assembly.GetType("Other")!.GetMethod("Unchanged")!;
    unchanged.Invoke(null, null);
    MetadataUpdater.ApplyUpdate(assembly, metadata.ToArray(), il.ToArray(), pdb.ToArray());
    Thread stands = new(() => unchanged.CreateDelegate<Action>()()) { IsBackground = true, Name = "edited" };
    stands.Start();
    while ((stands.ThreadState & ThreadState.WaitSleepJoin) == 0) Thread.Sleep(10);
    Console.WriteLine($"READY {Environment.ProcessId}");
    Console.ReadLine();
}
finally
{
    Directory.Delete(folder, true);
}
