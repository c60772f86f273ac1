namespace System.Runtime.CompilerServices;

/// <summary>The runtime honours an attribute of this name: emitted code may call what is internal here.</summary>
[AttributeUsage(AttributeTargets.Assembly, AllowMultiple = true)]
public sealed class IgnoresAccessChecksToAttribute(string assemblyName) : Attribute
{
    public string AssemblyName { get; } = assemblyName;
}
