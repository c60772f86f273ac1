using System.Collections.Immutable;
using System.Reflection.Metadata;
using System.Reflection.PortableExecutable;

/// <summary>
/// Rows of a module as System.Reflection.Metadata reads them, tab separated; names printed by `metadata_dump` of
/// mixstack in the same form:
/// method RID, owner RID, owner name, method name, signature;  nested RID ENCLOSING;  counts TABLE ROWS.
/// </summary>
internal static class FileDump
{
    public static void Write(TextWriter output, string file)
    {
        using FileStream stream = File.OpenRead(file);
        using PEReader pe = new(stream);
        MetadataReader reader = pe.GetMetadataReader();
        output.WriteLine($"module\t{reader.GetString(reader.GetModuleDefinition().Name)}\t{Convert.ToHexString(reader.GetGuid(reader.GetModuleDefinition().Mvid).ToByteArray())}");
        for (int table = 0; table < 0x2d; table++)
        {
            int rows = System.Reflection.Metadata.Ecma335.MetadataReaderExtensions.GetTableRowCount(reader, (System.Reflection.Metadata.Ecma335.TableIndex)table);
            output.WriteLine($"rows\t{table}\t{rows}");
        }
        SignatureText text = new();
        foreach (TypeDefinitionHandle handle in reader.TypeDefinitions)
        {
            TypeDefinition type = reader.GetTypeDefinition(handle);
            int rid = Rid(handle);
            int enclosing = type.GetDeclaringType().IsNil ? 0 : Rid(type.GetDeclaringType());
            output.WriteLine($"type\t{rid}\t{enclosing}\t{(uint)type.Attributes:x}\t{reader.GetString(type.Namespace)}\t{reader.GetString(type.Name)}\t{string.Join(',', type.GetGenericParameters().Select(p => reader.GetString(reader.GetGenericParameter(p).Name)))}\t{type.GetInterfaceImplementations().Count}\t{type.GetCustomAttributes().Count}");
        }
        foreach (MethodDefinitionHandle handle in reader.MethodDefinitions)
        {
            MethodDefinition method = reader.GetMethodDefinition(handle);
            MethodSignature<string> signature = method.DecodeSignature(text, reader);
            string parameters = string.Join(", ", signature.ParameterTypes);
            if (signature.Header.CallingConvention == SignatureCallingConvention.VarArgs)
            {
                parameters += parameters.Length == 0 ? "..." : ", ...";
            }
            output.WriteLine($"method\t{Rid(handle)}\t{Rid(method.GetDeclaringType())}\t{(uint)method.Attributes:x}\t{(uint)method.ImplAttributes:x}\t{method.RelativeVirtualAddress}\t{reader.GetString(method.Name)}\t{signature.ReturnType} ({parameters})\t{string.Join(',', method.GetParameters().Select(p => reader.GetParameter(p)).Select(p => $"{p.SequenceNumber}:{(int)p.Attributes}:{reader.GetString(p.Name)}"))}\t{method.GetCustomAttributes().Count}");
        }
        foreach (MemberReferenceHandle handle in reader.MemberReferences)
        {
            MemberReference member = reader.GetMemberReference(handle);
            output.WriteLine($"memberref\t{Rid(handle)}\t{System.Reflection.Metadata.Ecma335.MetadataTokens.GetToken(member.Parent):x}\t{reader.GetString(member.Name)}");
        }
        for (int rid = 1; rid <= System.Reflection.Metadata.Ecma335.MetadataReaderExtensions.GetTableRowCount(reader, System.Reflection.Metadata.Ecma335.TableIndex.TypeSpec); rid++)
        {
            TypeSpecification type = reader.GetTypeSpecification(System.Reflection.Metadata.Ecma335.MetadataTokens.TypeSpecificationHandle(rid));
            output.WriteLine($"typespec\t{rid}\t{type.DecodeSignature(text, reader)}");
        }
    }

    private static int Rid(EntityHandle handle) => System.Reflection.Metadata.Ecma335.MetadataTokens.GetRowNumber(handle);
}

/// <summary>Types in the DAC's text, written against System.Reflection.Metadata only.</summary>
internal sealed class SignatureText : ISignatureTypeProvider<string, MetadataReader>
{
    public string GetPrimitiveType(PrimitiveTypeCode code) => code switch
    {
        PrimitiveTypeCode.String => "System.String",
        PrimitiveTypeCode.Object => "System.Object",
        _ => code.ToString(),
    };

    private static string Join(string space, string name) => space.Length == 0 ? name : space + "." + name;

    public string GetTypeFromDefinition(MetadataReader reader, TypeDefinitionHandle handle, byte kind) =>
        Join(reader.GetString(reader.GetTypeDefinition(handle).Namespace), reader.GetString(reader.GetTypeDefinition(handle).Name));

    public string GetTypeFromReference(MetadataReader reader, TypeReferenceHandle handle, byte kind) =>
        Join(reader.GetString(reader.GetTypeReference(handle).Namespace), reader.GetString(reader.GetTypeReference(handle).Name));

    public string GetTypeFromSpecification(MetadataReader reader, MetadataReader context, TypeSpecificationHandle handle, byte kind) =>
        reader.GetTypeSpecification(handle).DecodeSignature(this, context);

    public string GetGenericInstantiation(string type, ImmutableArray<string> arguments) => $"{type}<{string.Join(',', arguments)}>";
    public string GetGenericTypeParameter(MetadataReader context, int index) => $"!{index}";
    public string GetGenericMethodParameter(MetadataReader context, int index) => $"!!{index}";
    public string GetSZArrayType(string element) => element + "[]";
    public string GetArrayType(string element, ArrayShape shape) => $"{element}[{new string(',', shape.Rank - 1)}]";
    public string GetPointerType(string element) => element + "*";
    public string GetByReferenceType(string element) => element + " ByRef";
    public string GetPinnedType(string element) => element;
    public string GetModifiedType(string modifier, string type, bool required) => type;

    public string GetFunctionPointerType(MethodSignature<string> signature)
    {
        string parameters = string.Join(", ", signature.ParameterTypes);
        if (signature.Header.CallingConvention == SignatureCallingConvention.VarArgs)
        {
            parameters += parameters.Length == 0 ? "..." : ", ...";
        }
        return $"{signature.ReturnType} ({parameters})";
    }
}
